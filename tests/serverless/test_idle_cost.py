"""What containers do with their time, and what their waiting costs."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from engine_cases import function, one_application, run, trace
from hypothesis import given
from reference_cases import PLAIN, plain_options, systems
from sizes import examples
from test_platform_invariants import QUIET, RUN

from nona.scenario.file import load_scenario, scenario_from_mapping, scenario_to_mapping
from nona.scenario.serverless import ContainersSpec, PricesSpec
from nona.serverless.checks import run_checks
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.held import container_time
from nona.serverless.records import ServerlessRecords
from nona.serverless.system import HOUR_S, ServerlessSystem
from nona.sources.samples import scenario_path
from nona.study.serverless.run import report_of, simulate_serverless_scenario

A_SECOND = PricesSpec(vcpu_hour=HOUR_S, vgpu_hour=2 * HOUR_S)  # 3 US dollars for the smallest configuration


def same_calls_and_batches(one: ServerlessRecords, other: ServerlessRecords) -> bool:
    return all(
        np.array_equal(getattr(a, key), getattr(b, key), equal_nan=True)
        for a, b in ((one.calls, other.calls), (one.batches, other.batches))
        for key in vars(a)
    )


@given(system=systems(), options=plain_options())
@examples(60, **QUIET)
def test_paying_for_waits_changes_nothing_but_the_cost(system: ServerlessSystem, options: dict) -> None:
    free = simulate_serverless(system, PLAIN, options, RUN)
    paid = simulate_serverless(replace(system, idle_cost=0.5), PLAIN, options, RUN)
    assert same_calls_and_batches(free, paid)
    assert free.containers is None
    assert paid.containers is not None


@given(system=systems(paid_waits=True), options=plain_options())
@examples(60, **QUIET)
def test_busy_idle_and_starting_are_the_lives_of_containers(system: ServerlessSystem, options: dict) -> None:
    """Σ busy + Σ idle + Σ starting = Σ lifetimes; of each container too, without gap or overlap."""
    records = simulate_serverless(system, PLAIN, options, RUN)
    of, lives, end_s = records.batches, records.containers, records.stopped_s
    assert lives is not None

    def until(time_s: float) -> float:
        return end_s if math.isnan(time_s) else time_s

    spent: dict[int, list[tuple[float, float]]] = {c: [] for c in range(len(lives.born_s))}
    for container, begin, end in zip(lives.of_batch, of.dispatched_s, of.ended_s, strict=True):
        spent[container].append((begin, until(end)))
    for container, begin, end in zip(lives.idle, lives.idle_from_s, lives.idle_until_s, strict=True):
        spent[container].append((begin, until(end)))
    for container, pieces in spent.items():
        born_s, gone_s = lives.born_s[container], until(lives.gone_s[container])
        pieces.sort()
        begin = pieces[0][0] if pieces else gone_s
        cold_s = system.functions[lives.function[container]].cold_start_s
        assert begin == pytest.approx(born_s) or begin - born_s == pytest.approx(cold_s) or not pieces
        assert all(a[1] == b[0] for a, b in pairwise(pieces))
        total = sum(b - a for a, b in pieces) + (begin - born_s)
        assert total == pytest.approx(gone_s - born_s, abs=1e-9)
    on = lives.invoker[lives.of_batch], lives.function[lives.of_batch]
    assert on[0].tolist() == of.invoker.tolist()
    assert all(check.ok for check in run_checks(system, records))


@given(system=systems(paid_waits=True), options=plain_options())
@examples(60, **QUIET)
def test_all_time_in_the_window_is_one_of_the_three(system: ServerlessSystem, options: dict) -> None:
    records = simulate_serverless(system, PLAIN, options, RUN)
    lives, sums = records.containers, records.sums
    assert lives is not None
    found = container_time(system, records, lives)
    gone_s = np.where(np.isnan(lives.gone_s), records.stopped_s, lives.gone_s)
    inside_s = np.minimum(gone_s, sums.end_s) - np.maximum(lives.born_s, sums.start_s)
    assert found.life_s == pytest.approx(float(np.maximum(inside_s, 0).sum()), abs=1e-6)
    assert min(found.busy_s, found.idle_s, found.starting_s) >= -1e-9


def test_a_wait_between_two_calls_by_hand() -> None:
    """Calls at 0, 10 and 20 s of 1 s each, one container: in the window, 20 s, it waits 9 s twice."""
    system = one_application(
        [function("a", 1.0)],
        arrivals=trace(0.0, 10.0, 20.0),
        containers=ContainersSpec(warm=1, prewarm="none"),
        prices=A_SECOND,
        idle_cost=0.25,
    )
    records = run(system, 3)
    assert records.containers is not None
    found = container_time(system, records, records.containers)
    assert (found.busy_s, found.idle_s, found.starting_s) == pytest.approx((2.0, 18.0, 0.0))
    assert found.idle_usd == pytest.approx(0.25 * 3 * 18)


def test_a_cold_start_is_neither_busy_nor_idle_and_what_is_removed_pays_no_more() -> None:
    """A cold start of 5 s, a batch of 1 s, kept for 2 s; the next call at 20 s starts cold again."""
    system = one_application(
        [function("a", 1.0, cold_s=5.0)],
        arrivals=trace(0.0, 20.0),
        containers=ContainersSpec(warm=0, prewarm="none", keep_alive=2.0),
        prices=A_SECOND,
        idle_cost=1.0,
    )
    records = run(system, 2)
    assert records.containers is not None
    found = container_time(system, records, records.containers)
    assert (found.busy_s, found.idle_s, found.starting_s) == pytest.approx((1.0, 2.0, 5.0))
    assert found.idle_usd == pytest.approx(6.0)


def test_the_result_names_both_costs() -> None:
    data = scenario_to_mapping(load_scenario(scenario_path("strict_light")))
    data["serverless"]["idle_cost"] = "2 %"
    how = {"policies": ["fixed", "esg"], "calls": 200, "replications": 2}
    paid = report_of(simulate_serverless_scenario(scenario_from_mapping(data), **how))
    free = report_of(simulate_serverless_scenario(load_scenario(scenario_path("strict_light")), **how))
    assert all(paid.checks.values())
    for name, outcome in paid.policies.items():
        of, without = outcome.containers, free.policies[name]
        assert of is not None
        assert without.containers is None
        assert of.executing_per_call_usd == without.cost_per_call_usd
        assert of.idle_per_call_usd.mean > 0
        assert outcome.cost_per_call_usd.mean == pytest.approx(
            of.executing_per_call_usd.mean + of.idle_per_call_usd.mean
        )
        assert of.busy + of.idle + of.starting == pytest.approx(1)
        of_cost = ("containers", "cost_per_call_usd", "cost_per_hit_usd")
        others = [{k: v for k, v in o.to_json().items() if k not in of_cost} for o in (outcome, without)]
        assert others[0] == others[1]
