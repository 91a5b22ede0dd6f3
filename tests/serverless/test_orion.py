"""Orion: its percentile, its goal by exhaustive search, its cut-off, its plan carried along."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.serverless.functions import grid
from nona.serverless.policies.base import Ask
from nona.serverless.policies.orion import POLICY, Found, Limits, Model, OrionPlanner, search, steps_up
from nona.serverless.system import ServerlessSystem
from tests.serverless.policy_cases import CHAIN, DIAMOND, SPACE, table_system, workflow_system

TINY = grid([1, 2], [1, 2], [1, 2])
NO_CUTOFF = Limits(cutoff_s=1e9)


def _search(system: ServerlessSystem, limits: Limits = NO_CUTOFF) -> tuple[Model, Found]:
    model = Model(system, system.applications[0])
    return model, search(system, model, limits)


def _every(system: ServerlessSystem) -> list[tuple[int, ...]]:
    return list(product(range(len(system.space)), repeat=system.applications[0].stages))


@examples(40)
@given(
    st.sampled_from([(2, ((0, 1),)), (3, ((0, 1), (0, 2)))]),
    st.lists(st.floats(0.05, 0.5), min_size=3, max_size=3),
    st.floats(0.2, 1.5),
    st.sampled_from([0.0, 0.1]),
)
def test_by_cost_the_plan_is_the_cheapest_of_all_where_steps_up_only_raise_cost(
    shape: tuple[int, tuple[tuple[int, int], ...]], times: list[float], slo_s: float, noise: float
) -> None:
    """A fixed batch and this law: larger sizes never cost less, so best first by cost is exact."""
    n, edges = shape
    space = grid([1], [1, 2], [1, 2, 7])
    system = workflow_system(times[:n], edges, slo_s=slo_s, space=space, noise=noise)
    model, found = _search(system, Limits(cutoff_s=1e9, priority="cost"))
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
def test_by_latency_a_plan_is_found_exactly_where_there_is_one(times: list[float], slo_s: float) -> None:
    system = workflow_system(times, [(0, 1)], slo_s=slo_s, space=TINY)
    model, found = _search(system)
    least = min(model.latency_s(s) for s in _every(system))
    assert (found.latency_s <= slo_s) == (least <= slo_s)
    assert (found.latency_s, found.cost) == (model.latency_s(found.state), model.cost(found.state))
    if least > slo_s:
        assert found.latency_s == pytest.approx(least)
        assert found.steps == len(_every(system)) - 1


def test_the_smallest_sizes_are_the_plan_where_they_keep_the_slo() -> None:
    _, found = _search(workflow_system([0.1, 0.1, 0.1], CHAIN, slo_s=0.3 + 1e-9))
    assert found.state == (SPACE.smallest,) * 3
    assert found.steps == 0


def test_the_cutoff_bounds_the_neighbours_and_gives_the_best_so_far() -> None:
    system = workflow_system([0.4, 0.3, 0.3], CHAIN, slo_s=0.45)
    model = Model(system, system.applications[0])
    latest = np.inf
    for steps in (0, 1, 5, 12, 40, 400):
        found = search(system, model, Limits(cutoff_s=steps * 0.5, step_s=0.5))
        assert found.steps <= steps
        assert found.latency_s <= latest
        latest = found.latency_s
    assert latest <= 0.45
    assert search(system, model, Limits(cutoff_s=1e9, rounds=1)).steps == 9


def test_a_step_passes_over_what_the_table_lacks() -> None:
    """A function without times on 2 vGPUs steps from 1 to 7."""
    space = grid([1], [1], [1, 2, 7])
    system = table_system([1.0, np.inf, 0.2], slo_s=0.5, space=space)
    assert steps_up(system, 0) == {0: (2,), 2: ()}
    assert _search(system)[1].state == (2,)


def test_the_percentile_of_a_chain_is_that_of_simulated_calls() -> None:
    system = workflow_system([0.1, 0.3, 0.2], CHAIN, noise=0.1)
    z = np.random.default_rng(7).standard_normal((200_000, 3))
    times = system.time_s[[0, 1, 2], SPACE.smallest] * np.maximum(0.1, 1 + 0.1 * z)
    model = Model(system, system.applications[0])
    assert model.latency_s((0, 0, 0)) == pytest.approx(np.percentile(times.sum(axis=1), 95), rel=2e-3)


def test_without_noise_a_dags_latency_is_its_longest_path() -> None:
    system = workflow_system([0.1, 0.3, 0.2, 0.1], DIAMOND)
    state = (0, 3, 1, 2)
    longest = system.applications[0].longest_s(system.time_s[[0, 1, 2, 3], state])
    assert Model(system, system.applications[0]).latency_s(state) == pytest.approx(longest)


def test_the_search_is_charged_once_a_call_and_the_plan_carried() -> None:
    planner = POLICY.prepare(workflow_system([0.3, 0.3], [(0, 1)], slo_s=0.5), {"step_s": 0.002})
    assert isinstance(planner, OrionPlanner)
    first = planner.plan(Ask(0, 0, 1, 0.5))
    assert first.carry == planner.found[0].state
    assert first.search_s == pytest.approx(0.002 * planner.found[0].steps)
    assert first.search_s > 0
    later = planner.plan(Ask(0, 1, 1, 0.1, carried=first.carry))
    assert (later.search_s, later.ranked[0], later.missed) == (0.0, first.carry[1], False)
