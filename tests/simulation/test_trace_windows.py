"""Traces at their own rate, windows of them, and rows that divide one trace."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nona.errors import ScenarioError, SimulationError
from nona.placement.response.sample_paths import instants
from nona.scenario.file import dump_scenario, parse_scenario, scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.simulation.arrivals import arrival_chunks, effective_rate
from nona.simulation.workload import Workload
from nona.sources.lookup import Sources
from nona.study.preparation import arrivals_of, prepare
from nona.study.sweep_numbers import number_named
from nona.system import Arrivals

RNG = np.random.default_rng(5)
TIMES = np.sort(RNG.random(3000)) * 600 + 100
NAMES = RNG.choice(["a", "b"], 3000, p=[0.7, 0.3])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("traces")
    rows = "".join(f"{t:.6f},{n}\n" for t, n in zip(TIMES, NAMES, strict=True))
    (place / "t.csv").write_text("time,model\n" + rows)
    return place


def scenario(*arrivals: dict[str, Any], scaled: bool = False) -> Scenario:
    usual = {"process": "trace", "trace": "t.csv", "scale_to_rate": scaled}
    names = "abcdef"
    rows = [
        {"model": "slides_example", "name": names[i], "rate": 1, "arrivals": usual | a}
        for i, a in enumerate(arrivals)
    ]
    return scenario_from_mapping({"version": 1, "cluster": {"servers": [{}]}, "workload": rows})


def test_a_file_without_the_new_keys_means_what_it_meant(folder: Path) -> None:
    first, second = (arrivals_of(scenario({}, {}, scaled=s), 1, Sources(folder)) for s in (True, False))
    relative = tuple((TIMES.round(6) - TIMES.round(6)[0]).tolist())
    assert first.times_s == pytest.approx(relative, abs=1e-9)
    assert (first.period_s, first.trace, second.period_s) == (0.0, "", 0.0)
    assert effective_rate(first, 7.0) == 7.0


def test_the_system_has_the_trace_s_own_rate(folder: Path) -> None:
    query = prepare(scenario({}), Sources(folder)).system.queries[0]
    assert query.rate == pytest.approx(5.0, rel=0.01), "placements saw the row's rate, which nothing had"


def test_a_window_is_replayed_again_and_again(folder: Path) -> None:
    made = arrivals_of(scenario({"start": "60 s", "length": "2 min"}), 0, Sources(folder))
    inside = TIMES[(TIMES[0] + 60 <= TIMES) & (TIMES[0] + 180 > TIMES)] - TIMES[0] - 60
    assert made.times_s == pytest.approx(inside.tolist(), abs=2e-6)
    assert made.period_s == 120
    rng = np.random.default_rng(0)
    found = np.concatenate(list(islice(arrival_chunks(made, 1.0, rng), 4)))
    assert found[: len(inside)] == pytest.approx(inside, abs=2e-6)
    assert found[len(inside)] == pytest.approx(inside[0] + 120, abs=2e-6)
    later = next(arrival_chunks(made, 1.0, rng, replication=1))
    assert (np.diff(later) >= 0).all()
    assert later[-1] < 2 * 120
    assert effective_rate(made, 1.0) == pytest.approx(len(inside) / 120)
    predicted = instants(made, 1.0, 240.0, rng)
    assert len(predicted) == pytest.approx(2 * len(inside), abs=1)


def test_a_factor_on_the_load_speeds_a_trace_up(folder: Path) -> None:
    keys: tuple[dict[str, Any], ...] = ({}, {"start": "60 s", "length": "2 min"})
    for part in keys:
        slow = scenario(part)
        fast = number_named(slow, "load").set(slow, 2.0)
        one, two = (arrivals_of(s, 0, Sources(folder)) for s in (slow, fast))
        assert effective_rate(two, 1.0) == pytest.approx(2 * effective_rate(one, 1.0))
        assert two.times_s == pytest.approx([t / 2 for t in one.times_s])


def test_shares_divide_a_trace_and_take_no_arrival_twice(folder: Path) -> None:
    shared = scenario({"share": "50 %"}, {"share": 0.3}, {"share": 0.2})
    parts = [arrivals_of(shared, i, Sources(folder)).times_s for i in range(3)]
    assert sorted(t for p in parts for t in p) == pytest.approx((TIMES - TIMES[0]).tolist(), abs=2e-6)
    assert [len(p) / 3000 for p in parts] == pytest.approx([0.5, 0.3, 0.2], abs=0.03)


def test_a_column_names_the_row(folder: Path) -> None:
    divided = scenario({"column": "model"}, {"column": "model", "value": "b"})
    for i, name in enumerate("ab"):
        made = arrivals_of(divided, i, Sources(folder))
        assert made.times_s == pytest.approx((TIMES[name == NAMES] - TIMES[0]).tolist(), abs=2e-6)


def test_rows_of_one_trace_stay_in_step_in_every_run(folder: Path) -> None:
    prepared = prepare(scenario({"column": "model"}, {"column": "model"}), Sources(folder))
    together = np.sort((TIMES - TIMES[0]).round(5))
    for replication in (0, 1):
        chunks = islice(Workload(prepared.system, replication).chunks(), 3)
        found = np.concatenate([c.arrival_s for c in chunks])[:1500]
        gaps = np.diff(found)
        every = np.diff(together)
        at = int(np.argmin([np.abs(every[k : k + 50] - gaps[:50]).sum() for k in range(2900)]))
        assert every[at : at + 50] == pytest.approx(gaps[:50], abs=1e-4), "gaps of the whole trace, in order"


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([{"share": 0.7}, {"share": 0.7}], "add up to 1.4"),
        ([{"share": 0.7, "column": "model"}], "give one of them"),
        ([{"value": "a"}], "give one of them"),
        ([{"process": "poisson", "trace": None, "length": "5 s"}], "give a trace"),
        ([{"share": 0}], "share"),
        ([{"length": "5 apples"}], "length"),
    ],
)
def test_impossible_parts_are_refused_with_their_place(keys: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(ScenarioError, match=why):
        scenario(*keys)


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({"start": "1 h"}, "start earlier"),
        ({"column": "modell"}, "choose one of its header: time, model"),
        ({"column": "model", "value": "c"}, "no arrival with 'c' in column 'model'"),
    ],
)
def test_parts_that_the_trace_does_not_have_are_named(folder: Path, keys: dict[str, Any], why: str) -> None:
    with pytest.raises(SimulationError, match=why):
        arrivals_of(scenario(keys), 0, Sources(folder))


def test_the_keys_are_written_and_read_back() -> None:
    made = scenario({"start": "60 s", "length": "2 min", "share": 0.25}, {"column": "model", "value": "b"})
    assert parse_scenario(dump_scenario(made)) == made
    assert Arrivals() == Arrivals(period_s=0.0, trace="")
