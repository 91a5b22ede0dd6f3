"""Policies over one number: knees are where they are, points are what a plain run measures."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.errors import ScenarioError
from nona.report.serverless.figures import over_figure
from nona.report.serverless.over import knee_rows, knee_text, over_finding, over_numbers, over_rows
from nona.results.document import Verdict
from nona.results.serverless_study import OverReport, PolicyOver
from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.serverless.metrics import CallMeasures, RunMeasures, ServerlessSummary
from nona.sources.samples import scenario_path
from nona.study.serverless.knees import (
    LEAST_LOAD,
    MOST_LOAD,
    SWEPT,
    OverSettings,
    Points,
    Seen,
    knee_search,
    knees_of,
    over_number,
    point_search,
    policies_over,
)
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import calls_per_s, simulate_serverless_scenario
from nona.study.serverless.tasks import Done
from nona.study.sweep_numbers import LOAD, number_named, numbers_of

CALLS = 2000


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(scenario_path("strict_light"))


def seen(ratio: float, replications: int, state: str = "stable") -> Seen:
    """Runs in which every call takes ``ratio`` of its SLO."""
    known = {"calls": CALLS, "completed": CALLS, "hits": CALLS if ratio <= 1 else 0, "cost": 1.0}
    none = dict.fromkeys(CallMeasures.__dataclass_fields__, 0)
    calls = CallMeasures(**{**none, **known, "latency_s": (ratio,) * 7})  # type: ignore[arg-type]
    rest = dict.fromkeys(RunMeasures.__dataclass_fields__, 0.0)
    run = RunMeasures(**{**rest, "all": calls, "applications": (calls,), "search_s": (0.0,) * 7})  # type: ignore[arg-type]
    summary = ServerlessSummary.__new__(ServerlessSummary)
    ratios = (np.full(CALLS, ratio),) * replications
    done = Done(summary, (run,) * replications, ratios, (state,) * replications, (10.0,) * replications)
    return Seen((done,), 100)


def searched(asked: OverSettings, keeps: object) -> tuple[Points, list[float]]:
    """Drive one policy's searches with runs that keep the target exactly where ``keeps`` says."""
    found: Points = {}
    looked: list[float] = []
    for search in (
        *(point_search(asked, "fixed", v, found) for v in asked.values),
        knee_search(asked, "fixed", found),
    ):
        look = next(search, None)
        while look is not None:
            looked.append(look.value)
            answer = seen(0.5 if keeps(look.value) else 2.0, look.replications)  # type: ignore[operator]
            try:
                look = search.send(answer)
            except StopIteration:
                look = None
    return found, looked


@given(st.floats(LEAST_LOAD, MOST_LOAD - 1e-6))
@examples(60)
def test_the_knee_of_load_is_bracketed_wherever_it_is(edge: float) -> None:
    scenario = load_scenario(scenario_path("strict_light"))
    asked = OverSettings(over_number(scenario, LOAD), (0.5, 1.0, 4.0), ("fixed",), extend=True)
    found, looked = searched(asked, lambda load: load <= edge)
    (knee,) = knees_of(found)
    assert knee.kept is not None
    assert knee.missed is not None
    assert knee.kept <= edge < knee.missed
    near = max(asked.close * knee.missed, 0.002 * asked.span)
    assert knee.missed - knee.kept <= near * (1 + 1e-9)
    assert len(looked) == len(set(looked)) <= 20


@given(st.integers(1, 32), st.booleans())
@examples(40)
def test_a_knee_of_a_whole_number_is_exact_in_either_direction(edge: int, more_helps: bool) -> None:
    scenario = load_scenario(scenario_path("strict_light"))
    number = over_number(scenario, "cluster.servers[0].vcpus")
    asked = OverSettings(number, (1.0, 8.0, 33.0), ("fixed",), close=0.0)
    found, _ = searched(asked, lambda vcpus: (vcpus > edge) == more_helps)
    (knee,) = knees_of(found)
    wanted = (edge + 1, edge) if more_helps else (edge, edge + 1)
    assert (knee.kept, knee.missed) == wanted


def test_a_point_is_what_a_plain_run_measures_and_words_follow(scenario: Scenario) -> None:
    asked = OverSettings(
        over_number(scenario, LOAD), (1.0, 40.0), ("fixed", "fast-gshare"), calls=60, first=2, most=2
    )
    heard: list[float] = []
    report = policies_over(scenario, asked, on_progress=lambda progress: heard.append(progress.fraction))
    assert heard == sorted(heard)
    assert heard[-1] < 1
    assert len(set(heard)) > 2 * sum(len(p.points) for p in report.policies.values())  # also within runs
    assert OverReport.from_json(report.to_json()) == report
    loaded = number_named(scenario, LOAD).set(scenario, 40.0)
    plain = simulate_serverless_scenario(
        loaded, policies=("fast-gshare",), calls=60, replications=2, oracle=False
    )
    point = next(p for p in report.policies["fast-gshare"].points if p.value == 40.0)
    summary = plain.summaries["fast-gshare"]
    assert point.slo_hit_rate.mean == summary.slo_hit_rate.mean
    assert point.cost_per_call_usd.mean == summary.cost_per_call_usd.mean
    assert point.state == summary.state
    windows = [r.sums.end_s - r.sums.start_s for r in plain.records["fast-gshare"]]
    kept = np.mean([60 * summary.slo_hit_rate.mean / w for w in windows])
    assert point.goodput_per_s.mean == pytest.approx(kept, rel=0.02)
    for name, policy in report.policies.items():
        assert name in over_finding(report)
        assert len(policy.points) == len([r for r in over_numbers(report) if r["policy"] == name])
    assert len(over_rows(report)) == sum(len(p.points) for p in report.policies.values())
    assert [r["policy"] for r in knee_rows(report)] == list(report.policies)
    words = {v: said_of(report, v) for v in product(("keeps", "open", "misses"), repeat=2)}
    assert words["misses", "misses"] == "nowhere from × 1 to × 40"
    assert words["open", "misses"] == "nowhere from × 1 to × 40 (not decided at × 1)"
    assert words["open", "open"] == "not decided from × 1 to × 40"
    assert words["keeps", "misses"] == "until × 1 (missed at × 40)"
    assert words["keeps", "open"] == "until × 1 (open beyond)"
    assert len(set(words.values())) > 5
    assert [trace.name for trace in over_figure(report, "goodput").data] == list(report.policies)


def said_of(report: OverReport, verdicts: tuple[Verdict, ...]) -> str:
    """What is said of a policy whose points have these verdicts."""
    points = report.policies["fixed"].points[: len(verdicts)]
    judged = {p.value: p.model_copy(update={"verdict": v}) for p, v in zip(points, verdicts, strict=True)}
    policy = PolicyOver(points=tuple(judged.values()), knees=knees_of(judged))
    return knee_text(report, policy, policy.knees[0])


@given(st.floats(0.1, 50.0))
@examples(20)
def test_load_multiplies_the_calls_per_second(factor: float) -> None:
    for name in ("strict_light", "esg_workflows"):
        scenario = load_scenario(scenario_path(name))
        if scenario.serverless is None:
            continue
        before = calls_per_s(prepare_serverless(scenario))
        after = calls_per_s(prepare_serverless(number_named(scenario, LOAD).set(scenario, factor)))
        assert math.isclose(after, factor * before, rel_tol=1e-9)


def test_numbers_without_effect_are_refused_and_all_others_can_be_set(scenario: Scenario) -> None:
    keys = {n.key for n in numbers_of(scenario)}
    for key in ("background.compute.utilization", "cluster.network.capacity", "workload[0].slo"):
        with pytest.raises(ScenarioError, match=r"does not depend|slo_factor"):
            over_number(scenario, key)
    more = ("serverless.transfer.remote_bandwidth", "serverless.containers.warm", "serverless.interval.most")
    for key in (*more, *(s.key for s in SWEPT), *(k for k in keys if k.endswith("count"))):
        number = over_number(scenario, key)
        assert number.set(scenario, number.of(scenario)) == scenario, key
    for swept in SWEPT:
        number = over_number(scenario, swept.key)
        for value in swept.values:
            assert number.set(scenario, value) is not None
