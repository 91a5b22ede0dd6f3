"""Calls that are late: kept, served as fast as possible, or dropped, by the scenario or by the policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_cases import function, one_application, run, trace

from nona.errors import SimulationError
from nona.scenario.serverless import LATE, DispatchSpec
from nona.serverless.checks import run_checks
from nona.serverless.engine.invokers import least_left_s
from nona.serverless.engine.options import RunOptions
from nona.serverless.engine.run import simulate_serverless
from nona.serverless.metrics import summarise
from nona.serverless.policies.registry import get_policy, policy_names
from tests.serverless.policy_cases import DIAMOND, workflow_system

DROP = DispatchSpec(late="drop")


def test_a_call_is_dropped_when_even_the_fastest_would_be_late() -> None:
    """One server, batches of one that take 1 s; the SLO of 2.5 s leaves room for one call before."""
    system = one_application(
        [function("a", 1.0)], arrivals=trace(0.0, 0.1, 0.2, 0.3, 5.0), slo_s=2.5, dispatch=DROP
    )
    system = replace(system, invokers=(replace(system.invokers[0], vcpus=1, gpus=1),))
    records = run(system, 5)
    assert records.calls.completion_s[[0, 1, 4]].tolist() == [1.0, 2.0, 6.0]
    assert records.calls.dropped_s[[2, 3]].tolist() == [2.0, 2.0]  # 2.5 − 1.8 and 2.5 − 1.7 are below 1
    kept = summarise(system, [records])
    assert (kept.completed, kept.dropped, kept.in_flight, kept.slo_hit_rate.mean) == (3, 2, 0, 0.6)
    assert all(check.ok for check in run_checks(system, records))


def test_the_least_time_left_is_that_of_the_longest_path() -> None:
    system = workflow_system([0.1, 0.3, 0.2, 0.4], DIAMOND)
    fastest = system.time_s.min(axis=1)
    expected = [
        fastest[0] + fastest[1] + fastest[3],
        fastest[1] + fastest[3],
        fastest[2] + fastest[3],
        fastest[3],
    ]
    assert least_left_s(system) == pytest.approx(expected)


@pytest.mark.parametrize("late", list(LATE))
def test_a_policy_s_own_rule_comes_before_the_scenario_s(late: str) -> None:
    """In overload, with branches: equal to the scenario that says so; every dropped call was hopeless."""
    system = replace(
        workflow_system(
            [0.1, 0.3, 0.2, 0.4], DIAMOND, slo_s=0.9, noise=0.2, dispatch=DispatchSpec(late="keep")
        ),
        seed=5,
    )
    busy = (replace(system.applications[0], rate=100.0),)
    system = replace(system, applications=busy)
    other = replace(system, dispatch=DispatchSpec(late=late))
    size = RunOptions(calls=150, warmup=20)
    policy = get_policy("esg")
    own = simulate_serverless(system, policy, {"late": late}, size)
    said = simulate_serverless(other, policy, {}, size)
    np.testing.assert_array_equal(own.calls.completion_s, said.calls.completion_s)
    dropped = ~np.isnan(own.calls.dropped_s)
    assert dropped.any() == (late == "drop")
    age_s = (own.calls.dropped_s - own.calls.arrival_s)[dropped]
    assert (age_s + max(least_left_s(system)) > 0.9).all()
    assert np.isnan(own.calls.completion_s[dropped]).all()
    assert all(check.ok for check in run_checks(other, own))


def test_refusals_and_the_former_name() -> None:
    assert DispatchSpec(late="cheapest").late == "keep"
    with pytest.raises(ValueError, match="'keep', 'fastest' or 'drop'"):
        DispatchSpec(late="never")
    for name in policy_names():
        with pytest.raises(SimulationError, match="late='never' must be one of keep, fastest, drop"):
            get_policy(name).prepare(workflow_system([0.3]), {"late": "never"})
