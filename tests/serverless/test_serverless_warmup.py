"""The warm-up of serverless runs covers the cold starts at the beginning."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nona.scenario.file import load_scenario
from nona.scenario.schema import Scenario
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.metrics import hits, slo_ratios
from nona.serverless.policies.registry import get_policy
from nona.simulation.sizes import auto_warmup
from nona.sources.samples import scenario_path
from nona.study.serverless.preparation import prepare_serverless
from nona.study.serverless.run import (
    calls_per_s,
    may_start_cold,
    mser_calls,
    simulate_serverless_scenario,
    warmup_calls,
)
from nona.study.sweep_numbers import with_value

CALLS = 1000


def with_containers(warm: int) -> Scenario:
    scenario = load_scenario(scenario_path("moderate_normal"))
    return with_value(scenario, "serverless.containers.warm", warm)


def test_after_the_warm_up_a_run_that_began_with_one_container_is_as_it_stays() -> None:
    system = prepare_serverless(with_containers(1))
    warmup = warmup_calls(with_containers(1), system, CALLS)
    assert warmup > auto_warmup(CALLS)
    run = simulate_serverless(
        system, get_policy("fast-gshare"), {}, RunOptions(calls=warmup + CALLS, warmup=0)
    )
    cold = np.searchsorted(run.calls.arrival_s, run.batches.dispatched_s[run.batches.cold])
    assert len(cold) > 10
    assert np.mean(cold >= warmup) < 0.02
    kept = hits(system, run)[: warmup + CALLS]
    usual = auto_warmup(CALLS)
    assert kept[warmup:].mean() > 0.99
    assert kept[usual : usual + CALLS].mean() < kept[warmup:].mean()  # the usual share is not enough


def test_enough_containers_start_nothing_cold_and_need_no_more() -> None:
    scenario = with_containers(7)
    system = prepare_serverless(scenario)
    assert not may_start_cold(system)
    assert may_start_cold(prepare_serverless(with_containers(6)))
    assert warmup_calls(scenario, system, CALLS) == auto_warmup(CALLS)
    run = simulate_serverless(system, get_policy("fixed"), {}, RunOptions(calls=300, warmup=0))
    assert not run.batches.cold.any()


def test_a_stated_warm_up_is_taken_and_pilots_are_asked_where_wanted() -> None:
    scenario = with_value(with_containers(7), "simulation.warmup", 30)
    assert warmup_calls(scenario, prepare_serverless(scenario), CALLS) == 30
    piloted = with_value(scenario, "simulation.warmup", "mser")
    system = prepare_serverless(piloted)
    found = simulate_serverless_scenario(piloted, policies=("fixed",), calls=60, replications=1, oracle=False)
    usual = warmup_calls(piloted, system, 60)
    assert found.setting.warmup == mser_calls(system, [(get_policy("fixed"), {})], usual + 60)


@pytest.mark.parametrize("name", ["infless", "fast-gshare"])
def test_after_the_warm_up_instances_are_as_they_stay(name: str) -> None:
    """Four later stretches of calls are equally late, and the first calls are later."""
    scenario, options = with_containers(7), {"standing": True}
    system = prepare_serverless(scenario)
    warmup = warmup_calls(scenario, system, CALLS, [(name, options), ("esg", {})])
    looks_s = {"infless": 1.0, "fast-gshare": 10.0}[name]
    assert warmup == max(auto_warmup(CALLS), math.ceil(30 * looks_s * calls_per_s(system)))
    assert warmup_calls(scenario, system, CALLS, [(name, {})]) == auto_warmup(CALLS)
    run = simulate_serverless(
        system, get_policy(name), options, RunOptions(calls=warmup + 4 * CALLS, warmup=0)
    )
    late = slo_ratios(system, run)
    begin = late[: auto_warmup(CALLS) // 2].mean()
    later = late[warmup:].reshape(4, CALLS).mean(axis=1)
    assert begin > later.max()
    assert later.max() < 1.3 * later.min()
