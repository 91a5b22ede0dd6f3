"""An overloaded scheduler that prediction knows is stopped early; nobody else's numbers change."""

from __future__ import annotations

from typing import Any

import pytest

from nona import study
from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.simulation.summary import hit_rate_difference, jct_difference
from nona.sources.samples import scenario_path
from nona.study import simulation as bounded
from nona.study.outcome import simulation_outcome
from nona.study.preparation import Study
from nona.study.simulation import SimulationResult


def prepared(jobs: int, rate: str = "90/s", **simulation: Any) -> Study:
    """The slides' example with a load under which spreading overloads the link, but one server does not."""
    data = scenario_to_mapping(load_scenario(scenario_path("slides_example")))
    row = data["workload"][0] | {"rate": rate, "arrivals": {"process": "poisson"}, "slo": "60 ms"}
    data |= {"workload": [row], "schedulers": ["local", "spread", "least-loaded"]}
    data["simulation"] = {"jobs": jobs, "replications": 2, **simulation}
    return study.prepare(scenario_from_mapping(data))


def simulated(of: Study) -> SimulationResult:
    return study.simulate(of, engine="compiled")


def test_it_stops_says_why_and_leaves_all_others_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    of = prepared(6000)
    found = simulated(of)
    with monkeypatch.context() as patched:
        patched.setattr("nona.study.simulation.SHORT_JOBS", 10**9)  # nothing is known ahead
        whole = simulated(of)
    stopped = found.records["spread"]
    assert [r.jobs for r in stopped] == [bounded.SHORT_JOBS] * 2
    assert found.summaries["spread"].state == whole.summaries["spread"].state == "overloaded"
    assert "Stopped after 4,000 of 6,000 jobs" in found.summaries["spread"].state_reason
    assert list(found.records) == ["local", "spread", "least-loaded"]
    for name in ("local", "least-loaded"):
        assert found.summaries[name].jct == whole.summaries[name].jct
        pairs = zip(found.records[name], whole.records[name], strict=True)
        assert all((a.completion_s == b.completion_s).all() for a, b in pairs)
    assert jct_difference(stopped, found.records["local"]).difference.n == 0
    assert hit_rate_difference(stopped, found.records["local"], [0.06]).difference.n == 0
    outcome = simulation_outcome(of, found, "now")
    assert outcome.differences["local"]["spread"].verdict == "overloaded"


def test_a_precision_counts_it_among_the_overloaded() -> None:
    found = simulated(prepared(6000, precision="20 %", max_replications=10))
    assert found.precision is not None
    assert "spread" in found.precision.overloaded
    assert found.precision.not_reached == ()
    assert len(found.records["local"]) > len(found.records["spread"])


def test_where_every_scheduler_is_overloaded_all_stop() -> None:
    found = simulated(prepared(6000, rate="100000/s"))
    assert {s.state for s in found.summaries.values()} == {"overloaded"}
    assert all(r.jobs == bounded.SHORT_JOBS for runs in found.records.values() for r in runs)


def test_a_prediction_that_is_wrong_costs_a_short_run_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of = prepared(6000)
    whole = simulated(of)
    monkeypatch.setattr("nona.study.simulation.predictions", lambda *a: dict.fromkeys(("local", "spread")))
    found = simulated(of)
    assert [r.jobs for r in found.records["local"]] == [6000, 6000]
    assert found.summaries["local"].jct == whole.summaries["local"].jct
