"""Aquatope: its plan by exhaustive search on small spaces, its processes, its acquisition, its stream."""

from itertools import product

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nona.random_streams import RandomStreams
from nona.serverless.functions import grid
from nona.serverless.policies.aquatope import (
    POLICY,
    AquatopePlanner,
    Cube,
    Effort,
    Observation,
    Platform,
    Process,
    Training,
    best_seen,
    improvement,
)
from nona.serverless.policies.base import Ask
from nona.serverless.policies.orion import Model
from nona.serverless.system import ServerlessSystem
from tests.serverless.policy_cases import CHAIN, DIAMOND, SPACE, table_system, workflow_system


def _trained(system: ServerlessSystem, effort: Effort, seed: int = 0) -> Training:
    draws = RandomStreams(seed).generator("tests")
    training = Training(system, system.applications[0], effort, draws)
    with threadpool_limits(limits=1):
        training.run()
    return training


@pytest.mark.parametrize("slo_s", [0.25, 0.4, 0.9, 0.01])
def test_on_a_tiny_space_the_plan_is_the_cheapest_that_keeps_the_slo(slo_s: float) -> None:
    """64 plans: all are tried before the rounds are over, and none twice."""
    system = workflow_system([0.2, 0.3], [(0, 1)], slo_s=slo_s, space=grid([1, 2], [1, 4], [1, 2]))
    training = _trained(system, Effort())
    model = Model(system, system.applications[0])
    every = [(s, model.latency_s(s), model.cost(s)) for s in product(range(8), repeat=2)]
    assert sorted(o.plan for o in training.seen) == sorted(s for s, _, _ in every)
    found = best_seen(training.seen, slo_s)
    kept = [cost for _, latency_s, cost in every if latency_s <= slo_s]
    if kept:
        assert found.cost == pytest.approx(min(kept))
        assert found.latency_s <= slo_s
    else:
        assert found.latency_s == pytest.approx(min(late for _, late, _ in every))


def test_on_a_larger_space_a_tenth_of_the_plans_leads_close_to_the_cheapest() -> None:
    """729 plans of which 70 are tried; random search of the same length does worse on the whole."""
    system = workflow_system([0.3, 0.4], [(0, 1)], slo_s=0.6)
    model = Model(system, system.applications[0])
    every = list(product(range(len(SPACE)), repeat=2))
    optimum = min(model.cost(s) for s in every if model.latency_s(s) <= 0.6)
    found, random = [], []
    for seed in range(3):
        seen = _trained(system, Effort(), seed).seen
        assert len(seen) == 70
        found.append(best_seen(seen, 0.6).cost / optimum)
        random.append(
            best_seen(_trained(system, Effort(initial=70, rounds=0), seed).seen, 0.6).cost / optimum
        )
    assert max(found) <= 1.05
    assert min(found) >= 1
    assert sum(found) < sum(random)


def test_a_process_follows_its_data_and_is_unsure_elsewhere() -> None:
    x = np.linspace(0, 0.5, 9)[:, None]
    y = 3 + np.sin(6 * x[:, 0])
    process = Process()
    process.fit(x, y)
    drawn = process.samples(np.vstack([x, [[1.0]]]), 400, np.random.default_rng(0))
    assert drawn[:, :-1].mean(axis=0) == pytest.approx(y, abs=0.02)
    assert drawn[:, -1].std() > 5 * drawn[:, :-1].std(axis=0).max()


def test_a_process_of_equal_values_is_that_value() -> None:
    process = Process()
    process.fit(np.array([[0.0], [0.5], [1.0]]), np.full(3, 2.0))
    assert process.samples(np.array([[0.5]]), 50, np.random.default_rng(0)).mean() == pytest.approx(
        2, abs=0.3
    )


def test_improvement_prefers_what_is_both_cheap_and_in_time() -> None:
    """Columns: one observed plan, then candidates: cheap but late, a little cheaper, much cheaper."""
    cost = np.array([[4.0, 0.5, 3.0, 1.0], [4.0, 0.5, 3.5, 5.0]])
    latency = np.array([[0.5, 2.0, 0.5, 0.5], [0.5, 2.0, 0.5, 0.5]])
    assert improvement(cost, latency, 1.0, observed=1, count=1) == [2]
    assert improvement(cost, latency, 1.0, observed=1, count=3)[:2] == [2, 1]
    nothing_in_time = np.array([[2.0, 2.0, 0.5, 2.0]] * 2)
    assert improvement(cost, nothing_in_time, 1.0, observed=1, count=1) == [1]


def test_the_best_seen_is_the_cheapest_in_time_else_the_fastest() -> None:
    seen = [Observation((0,), 2.0, 1.0), Observation((1,), 1.0, 3.0), Observation((2,), 0.9, 4.0)]
    assert [best_seen(seen, slo_s).plan for slo_s in (3.0, 1.0, 0.5)] == [(0,), (1,), (2,)]


def test_trials_measure_what_the_profile_says() -> None:
    """Without noise exactly; with it, the percentile and mean of many calls."""
    plan = (3, 1, 2, 5)
    quiet = workflow_system([0.1, 0.3, 0.2, 0.1], DIAMOND, input_bytes=1e6)
    loud = workflow_system([0.1, 0.3, 0.2, 0.1], (*CHAIN, (2, 3)), noise=0.1)
    for system, tolerance in ((quiet, 1e-9), (loud, 5e-3)):
        platform = Platform(system, system.applications[0], Effort(calls=20_000))
        seen = platform.observe(plan, np.random.default_rng(1))
        model = Model(system, system.applications[0])
        assert seen.latency_s == pytest.approx(model.latency_s(plan), rel=tolerance)
    assert seen.cost == pytest.approx(model.cost(plan), rel=5e-3)


def test_points_round_to_plans_and_unusable_ones_to_the_nearest() -> None:
    system = workflow_system([0.1, 0.2])
    cube = Cube(system, system.applications[0])
    for plan in product(range(len(SPACE)), repeat=2):
        assert cube.plan(cube.point(plan)) == plan
    gaps = table_system([1.0, np.inf, 0.5], slo_s=1.0, space=grid([1], [1], [1, 2, 7]))
    only = Cube(gaps, gaps.applications[0])
    assert {only.plan(np.array([0.5, 0.5, g])) for g in (0.0, 0.5, 1.0)} == {(0,), (2,)}


def test_the_seed_alone_decides_and_training_is_not_charged() -> None:
    system = workflow_system([0.2, 0.3], [(0, 1)], slo_s=0.5, noise=0.1, seed=3)
    again = workflow_system([0.2, 0.3], [(0, 1)], slo_s=0.5, noise=0.1, seed=3)
    few = {"rounds": 2}
    first, second = POLICY.prepare(system, few), POLICY.prepare(again, few)
    assert isinstance(first, AquatopePlanner)
    assert isinstance(second, AquatopePlanner)
    assert first.trained == second.trained
    answer = first.plan(Ask(0, 0, 1, 0.5))
    assert (answer.search_s, answer.carry) == (0.0, first.trained[0].plan)
