"""Orion and Aquatope, whose plans a call carries: searches against all plans, and what they are charged."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from serverless_cases import CHAIN, DIAMOND, SPACE, table_system, workflow_system
from sizes import examples
from threadpoolctl import threadpool_limits

from nona.core.random_streams import RandomStreams
from nona.serverless.functions import grid
from nona.serverless.policies.aquatope import POLICY as AQUATOPE
from nona.serverless.policies.aquatope import (
    PlanCube,
    Platform,
    Process,
    SearchEffort,
    Training,
    best_seen,
    improvement,
)
from nona.serverless.policies.base import WaitingQueue
from nona.serverless.policies.orion import POLICY, LatencyModel, SearchLimits, search, steps_up

TINY = grid([1, 2], [1, 2], [1, 2])
NO_CUTOFF = SearchLimits(cutoff_s=1e9)


def _search(system, limits=NO_CUTOFF):
    model = LatencyModel(system, system.applications[0])
    return model, search(system, model, limits)


def _every(system):
    return list(product(range(len(system.space)), repeat=system.applications[0].stages))


@examples(40)
@given(
    st.sampled_from([(2, ((0, 1),)), (3, ((0, 1), (0, 2)))]),
    st.lists(st.floats(0.05, 0.5), min_size=3, max_size=3),
    st.floats(0.2, 1.5),
    st.sampled_from([0.0, 0.1]),
)
def test_by_cost_the_plan_is_the_cheapest_of_all_where_steps_up_only_raise_cost(shape, times, slo_s, noise):
    """A fixed batch and this law: larger sizes never cost less, so best first by cost is exact."""
    n, edges = shape
    space = grid([1], [1, 2], [1, 2, 7])
    system = workflow_system(times[:n], edges, slo_s=slo_s, space=space, noise=noise)
    model, found = _search(system, SearchLimits(cutoff_s=1e9, priority="cost"))
    raises = all(
        system.job_cost[f, up] >= system.job_cost[f, k]
        for f in range(n)
        for k, ups in steps_up(system, f).items()
        for up in ups
    )
    kept = [s for s in _every(system) if model.latency_s(s) <= slo_s]
    if kept:
        assert found.latency_s <= slo_s
        if raises:
            assert found.cost == pytest.approx(min(model.cost(s) for s in kept))
    else:
        assert found.latency_s == pytest.approx(min(model.latency_s(s) for s in _every(system)))


@examples(40)
@given(st.lists(st.floats(0.05, 0.5), min_size=2, max_size=2), st.floats(0.1, 1.0))
def test_by_latency_a_plan_is_found_exactly_where_there_is_one(times, slo_s):
    system = workflow_system(times, [(0, 1)], slo_s=slo_s, space=TINY)
    model, found = _search(system)
    least = min(model.latency_s(s) for s in _every(system))
    assert (found.latency_s <= slo_s) == (least <= slo_s)
    assert (found.latency_s, found.cost) == (model.latency_s(found.state), model.cost(found.state))
    if least > slo_s:
        assert found.latency_s == pytest.approx(least)
        assert found.steps == len(_every(system)) - 1


def test_the_cutoff_bounds_the_neighbours_and_gives_the_best_so_far():
    system = workflow_system([0.4, 0.3, 0.3], CHAIN, slo_s=0.45)
    model = LatencyModel(system, system.applications[0])
    latest = np.inf
    for steps in (0, 1, 5, 12, 40, 400):
        found = search(system, model, SearchLimits(cutoff_s=steps * 0.5, step_s=0.5))
        assert found.steps <= steps
        assert found.latency_s <= latest
        latest = found.latency_s
    assert latest <= 0.45
    assert search(system, model, SearchLimits(cutoff_s=1e9, rounds=1)).steps == 9
    # a step passes over what the table lacks: without times on 2 vGPUs from 1 to 7
    system = table_system([1.0, np.inf, 0.2], slo_s=0.5, space=grid([1], [1], [1, 2, 7]))
    assert steps_up(system, 0) == {0: (2,), 2: ()}
    assert _search(system)[1].state == (2,)


def test_the_percentile_of_a_chain_is_that_of_simulated_calls():
    system = workflow_system([0.1, 0.3, 0.2], CHAIN, noise=0.1)
    z = np.random.default_rng(7).standard_normal((200_000, 3))
    times = system.time_s[[0, 1, 2], SPACE.smallest] * np.maximum(0.1, 1 + 0.1 * z)
    model = LatencyModel(system, system.applications[0])
    assert model.latency_s((0, 0, 0)) == pytest.approx(np.percentile(times.sum(axis=1), 95), rel=2e-3)


def test_the_search_is_charged_once_a_call_and_the_plan_carried():
    planner = POLICY.prepare(workflow_system([0.3, 0.3], [(0, 1)], slo_s=0.5), {"step_s": 0.002})
    first = planner.plan(WaitingQueue(0, 0, 1, 0.5))
    assert first.memory == planner.sized[0].state
    assert first.search_s == pytest.approx(0.002 * planner.sized[0].steps)
    assert first.search_s > 0
    later = planner.plan(WaitingQueue(0, 1, 1, 0.1, carried=first.memory))
    assert (later.search_s, later.ranked[0], later.missed) == (0.0, first.memory[1], False)


def _trained(system, effort, seed=0):
    draws = RandomStreams(seed).generator("tests")
    training = Training(system, system.applications[0], effort, draws)
    with threadpool_limits(limits=1):
        training.run()
    return training


@pytest.mark.parametrize("slo_s", [0.25, 0.4, 0.9, 0.01])
def test_on_a_tiny_space_the_plan_is_the_cheapest_that_keeps_the_slo(slo_s):
    """64 plans: all are tried before the rounds are over, and none twice."""
    system = workflow_system([0.2, 0.3], [(0, 1)], slo_s=slo_s, space=grid([1, 2], [1, 4], [1, 2]))
    training = _trained(system, SearchEffort())
    model = LatencyModel(system, system.applications[0])
    every = [(s, model.latency_s(s), model.cost(s)) for s in product(range(8), repeat=2)]
    assert sorted(o.plan for o in training.seen) == sorted(s for s, _, _ in every)
    found = best_seen(training.seen, slo_s)
    kept = [cost for _, latency_s, cost in every if latency_s <= slo_s]
    if kept:
        assert found.cost == pytest.approx(min(kept))
        assert found.latency_s <= slo_s
    else:
        assert found.latency_s == pytest.approx(min(late for _, late, _ in every))


def test_on_a_larger_space_a_tenth_of_the_plans_leads_close_to_the_cheapest():
    """729 plans of which 70 are tried; random search of the same length does worse on the whole."""
    system = workflow_system([0.3, 0.4], [(0, 1)], slo_s=0.6)
    model = LatencyModel(system, system.applications[0])
    every = list(product(range(len(SPACE)), repeat=2))
    optimum = min(model.cost(s) for s in every if model.latency_s(s) <= 0.6)
    found, random = [], []
    for seed in range(3):
        seen = _trained(system, SearchEffort(), seed).seen
        assert len(seen) == 70
        found.append(best_seen(seen, 0.6).cost / optimum)
        tried = _trained(system, SearchEffort(initial=70, rounds=0), seed).seen
        random.append(best_seen(tried, 0.6).cost / optimum)
    assert max(found) <= 1.05
    assert min(found) >= 1
    assert sum(found) < sum(random)


def test_a_process_follows_its_data_and_is_unsure_elsewhere():
    x = np.linspace(0, 0.5, 9)[:, None]
    y = 3 + np.sin(6 * x[:, 0])
    process = Process()
    process.fit(x, y)
    drawn = process.samples(np.vstack([x, [[1.0]]]), 400, np.random.default_rng(0))
    assert drawn[:, :-1].mean(axis=0) == pytest.approx(y, abs=0.02)
    assert drawn[:, -1].std() > 5 * drawn[:, :-1].std(axis=0).max()
    process.fit(np.array([[0.0], [0.5], [1.0]]), np.full(3, 2.0))  # equal values
    assert process.samples(np.array([[0.5]]), 50, np.random.default_rng(0)).mean() == pytest.approx(
        2, abs=0.3
    )


def test_improvement_prefers_what_is_both_cheap_and_in_time():
    """Columns: one observed plan, then candidates: cheap but late, a little cheaper, much cheaper."""
    cost = np.array([[4.0, 0.5, 3.0, 1.0], [4.0, 0.5, 3.5, 5.0]])
    latency = np.array([[0.5, 2.0, 0.5, 0.5], [0.5, 2.0, 0.5, 0.5]])
    assert improvement(cost, latency, 1.0, observed=1, count=1) == [2]
    assert improvement(cost, latency, 1.0, observed=1, count=3)[:2] == [2, 1]
    nothing_in_time = np.array([[2.0, 2.0, 0.5, 2.0]] * 2)
    assert improvement(cost, nothing_in_time, 1.0, observed=1, count=1) == [1]


def test_trials_measure_what_the_profile_says():
    """Without noise exactly; with it, the percentile and mean of many calls."""
    plan = (3, 1, 2, 5)
    quiet = workflow_system([0.1, 0.3, 0.2, 0.1], DIAMOND, input_bytes=1e6)
    loud = workflow_system([0.1, 0.3, 0.2, 0.1], (*CHAIN, (2, 3)), noise=0.1)
    for system, tolerance in ((quiet, 1e-9), (loud, 5e-3)):
        platform = Platform(system, system.applications[0], SearchEffort(calls=20_000))
        seen = platform.observe(plan, np.random.default_rng(1))
        model = LatencyModel(system, system.applications[0])
        assert seen.latency_s == pytest.approx(model.latency_s(plan), rel=tolerance)
    assert seen.cost == pytest.approx(model.cost(plan), rel=5e-3)


def test_points_round_to_plans_and_unusable_ones_to_the_nearest():
    system = workflow_system([0.1, 0.2])
    cube = PlanCube(system, system.applications[0])
    for plan in product(range(len(SPACE)), repeat=2):
        assert cube.plan(cube.point(plan)) == plan
    gaps = table_system([1.0, np.inf, 0.5], slo_s=1.0, space=grid([1], [1], [1, 2, 7]))
    only = PlanCube(gaps, gaps.applications[0])
    assert {only.plan(np.array([0.5, 0.5, g])) for g in (0.0, 0.5, 1.0)} == {(0,), (2,)}


def test_the_seed_alone_decides_and_training_is_not_charged():
    systems = [workflow_system([0.2, 0.3], [(0, 1)], slo_s=0.5, noise=0.1, seed=3) for _ in range(2)]
    first, second = (AQUATOPE.prepare(system, {"rounds": 2}) for system in systems)
    assert first.trained == second.trained
    answer = first.plan(WaitingQueue(0, 0, 1, 0.5))
    assert (answer.search_s, answer.memory) == (0.0, first.trained[0].plan)
