"""Placement over several links: brute force on a diamond, bounds below every point, gradients, stability."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from placement_helpers import query, random_system, system
from sizes import examples

from nona.errors import PlacementError
from nona.placement.enumeration import candidates
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.link_waits import Role
from nona.placement.model import Model, build_model, gradient, objective_s, value_at
from nona.placement.solve import solve
from nona.placement.solver.inner_program import TwoRows, solve_two_rows
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import Problem, build_problem, groups_of
from nona.system import Stream, System
from nona.topology import make_topology

DIAMOND = [(0, 1, 3.0), (0, 2, 1.0), (1, 3, 3.0), (2, 3, 1.0)]


def loaded(
    s: System, core: float, card: float, uplink: float, background: float = 0.2, size: float = 0.05
) -> System:
    """``s`` with links that its traffic loads by these shares when everything is spread out.

    Racks of four; the background's messages are ``size`` times the mean of a query's.
    """
    probe = replace(s, topology=make_topology(s.servers, s.capacity, nic=1.0, rack_size=4, uplink=1.0))
    model = model_of(probe)
    away = [[np.eye(1, len(c), len(c) - 1)[0] for c in row] for row in model.candidates]
    sent = model.traffic(away).load * s.capacity
    speed = {r.kind: r.each * sent / want for r, want in zip(model.roles, (card, uplink, core), strict=False)}
    topology = make_topology(
        s.servers, speed["core"], nic=speed["server out"], rack_size=4, uplink=speed["rack up"]
    )
    mean = size * sent / max(sum(q.rate for q in s.queries), 1e-9)
    stream = Stream(background * speed["core"] / mean, mean, 1.0)
    return replace(s, capacity=speed["core"], topology=topology, background_network=stream)


def model_of(s: System) -> Model:
    return build_model(s, lambda shape, link: candidates(shape, link, s.servers, 6))


def problem_of(s: System) -> Problem:
    model = model_of(s)
    idle = model.server_wait_s([[np.zeros(len(c)) for c in row] for row in model.candidates])
    return build_problem(model, groups_of(model), idle)


def wait_by_hand(p: Problem, s: System, roles: Sequence[Role], x: np.ndarray) -> float:
    """The mean wait from the model's roles, one M/G/1 queue after the other: a second implementation."""
    assert p.network is not None
    load, bundle, pairs = (float(row @ x) for row in (p.network.load, p.network.bundle, p.network.pairs))
    total = 0.0
    for r in roles:
        slower = s.capacity / r.capacity
        rho = r.background_utilization + r.each * slower * load
        if rho >= 1:
            return np.inf
        together = r.both * max(0.0, 1 - r.spacing * (1 - rho))
        moment = r.background_moment_s + slower**2 * (r.each * bundle + together * pairs)
        total += r.share * moment / (2 * (1 - rho))
    return total


def test_a_diamond_agrees_with_a_grid_over_its_configurations() -> None:
    """Cards, uplinks and core at once, on one diamond: every mixture of two configurations, finely."""
    q = query([0.002, 0.010, 0.009, 0.002], DIAMOND, 200.0)
    s = loaded(system(q, servers=8), core=0.7, card=0.35, uplink=0.6, background=0.3)
    p = problem_of(s)
    n, best, roles = len(p.a0), np.inf, model_of(s).roles
    for a, b in itertools.combinations(range(n), 2):
        for share in np.linspace(0, 1, 201):
            x = np.zeros(n)
            x[a], x[b] = 1 - share, share
            wait = wait_by_hand(p, s, roles, x)
            if np.isfinite(wait):
                best = min(best, p.constant + float(p.lines(wait) @ x))
    found = solve_parametric(p, gap=1e-6, max_cells=20_000)
    assert found.complete
    assert 0 < np.count_nonzero(found.x) <= 3
    assert found.lower_bound_s <= best * (1 + 1e-12)
    assert found.value_s <= best * (1 + 1e-9)
    assert found.value_s >= best * (1 - 1e-4)  # the grid is that fine


@given(
    seed=st.integers(0, 10_000),
    loads=st.tuples(st.floats(0.1, 3), st.floats(0.05, 0.8), st.floats(0.1, 3)),
    background=st.floats(0.0, 0.85),
    size=st.sampled_from([0.01, 0.3]),
)
@examples(25)
def test_no_point_lies_below_the_certified_bound(
    seed: int, loads: tuple[float, float, float], background: float, size: float
) -> None:
    rng = np.random.default_rng(seed)
    s = random_system(seed, queries=2, load=float(rng.uniform(0.1, 0.6)))
    s = loaded(s, *loads, background=background, size=size)
    p = problem_of(s)
    found = solve_parametric(p, gap=1e-4)
    assert found.complete
    assert found.gap <= 1e-4 * (1 + 1e-9)
    assert p.value(found.x) == found.value_s
    roles = model_of(s).roles
    for _ in range(300):
        draw = rng.exponential(size=len(p.a0)) ** float(rng.choice([1.0, 6.0, 30.0]))
        x = draw / np.bincount(p.group, weights=draw)[p.group]
        stay = np.zeros(len(x))
        stay[p.start[:-1]] = 1.0
        x = x + float(rng.uniform(0, 1)) * (stay - x)
        value = p.value(x)
        assert value >= found.lower_bound_s * (1 - 1e-9)
        if np.isfinite(value):
            wait = wait_by_hand(p, s, roles, x)
            assert value == pytest.approx(p.constant + float(p.lines(wait) @ x), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_closes_where_core_and_cards_are_both_at_eighty_percent(seed: int) -> None:
    """Small background messages, so that it pays to fill links that others use to three quarters."""
    s = random_system(seed, queries=3, load=0.3, servers=24)
    s = loaded(s, core=0.3, card=0.2, uplink=0.3, background=0.77, size=1e-5)
    p = problem_of(s)
    found = solve_parametric(p, gap=1e-4)
    assert found.complete
    assert p.network is not None
    load = float(p.network.load @ found.x)
    busy = {r.kind: r.utilization(load) for r in model_of(s).roles}
    assert min(busy.values()) > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_two_rows_agree_with_a_linear_program(seed: int) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    groups, width = 4, 5
    n = groups * width
    start = np.arange(0, n + 1, width)
    group = np.repeat(np.arange(groups), width)
    cost, a, d = rng.uniform(1, 5, n), rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    for row in (a, d):
        row[start[:-1]] = 0.0
    cost[start[:-1]] = 6.0
    alpha, delta = rng.uniform(0.2, 3, 2)
    sums = (group[None, :] == np.arange(groups)[:, None]).astype(float)
    exact = linprog(cost, np.stack([a, d]), [alpha, delta], sums, np.ones(groups), method="highs")
    found = solve_two_rows(TwoRows(start, group, cost, a, alpha, d, delta))
    assert found.bound == pytest.approx(exact.fun, rel=1e-9)
    again = solve_two_rows(TwoRows(start, group, cost, a, alpha, d, delta), guess=7.0)
    assert again.bound == pytest.approx(exact.fun, rel=1e-9)
    assert solve_two_rows(TwoRows(start, group, cost, a, -1.0, d, delta)).bound == np.inf


@pytest.mark.parametrize("fixed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_agrees_with_finite_differences(seed: int, fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    s = loaded(random_system(seed), core=0.5, card=0.3, uplink=0.5)
    model = model_of(s)
    x = [[rng.dirichlet(np.ones(len(c))) for c in row] for row in model.candidates]
    held = model.server_wait_s(x) if fixed else None
    slope = gradient(model, value_at(model, x, held, every=True), x, server_wait_fixed=fixed)
    step = 1e-6
    for j, row in enumerate(x):
        for k, p in enumerate(row):
            to = rng.dirichlet(np.ones(len(p)))
            ends = []
            for sign in (1, -1):
                moved = [list(r) for r in x]
                moved[j][k] = p + sign * step * (to - p)
                ends.append(objective_s(model, value_at(model, moved, held)))
            assert slope[j][k] @ (to - p) == pytest.approx(
                (ends[0] - ends[1]) / (2 * step), rel=1e-4, abs=1e-9
            )


@pytest.mark.parametrize("seed", range(3))
def test_solvers_agree_and_beat_the_fixed_placements(seed: int) -> None:
    s = loaded(random_system(seed, queries=1), core=0.5, card=0.25, uplink=0.5, size=0.02)
    found = solve(s)
    every = solve(s, solver="exhaustive")
    assert found.gap <= 2e-5
    assert found.objective_s <= every.objective_s * (1 + 2e-5)
    assert found.lower_bound_s <= every.objective_s
    assert solve(s, solver="slsqp").objective_s >= found.lower_bound_s
    for other in (local_placement(s), spread_placement(s)):
        assert found.objective_s <= other.objective_s * (1 + 1e-12)
    assert not any("core alone" in note for note in found.notes)


def test_a_slow_card_keeps_home_what_a_fast_core_would_send_away() -> None:
    q = query([0.002, 0.010, 0.009, 0.002], DIAMOND, 20.0)
    s = replace(system(q, servers=8), capacity=1e5)
    fast = solve(replace(s, topology=make_topology(8, 1e5, nic=1e5)))
    slow = solve(replace(s, topology=make_topology(8, 1e5, nic=200.0)))
    assert not fast.queries[0][0].configurations[0].is_local
    assert slow.queries[0][0].configurations[0].is_local
    assert fast.objective_s < slow.objective_s


def test_overloaded_cards_are_told_and_an_overloaded_background_is_refused() -> None:
    q = query([0.002, 0.010, 0.009, 0.002], DIAMOND, 300.0)
    s = replace(system(q, servers=8), capacity=1e6, topology=make_topology(8, 1e6, nic=100.0))
    p = spread_placement(s).prediction
    assert p.network_wait_s == p.jct_s == np.inf
    assert p.network_utilization == max(link.utilization for link in p.links) > 1
    assert solve(s).prediction.network_utilization < 1
    full = replace(s, background_network=Stream(1e6 / 8, 10.0, 1.0))
    with pytest.raises(PlacementError, match="it must be below 1"):
        solve(full)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_for_configurations_that_are_not_listed(seed: int) -> None:
    """Interiors of up to four, listed in part, against the optimum over all their configurations."""
    s = random_system(seed, queries=1, width=4, load=0.4)
    s = loaded(s, core=0.4, card=0.15, uplink=0.4, size=0.02)
    whole, part = solve(s, gap=1e-3), solve(s, gap=1e-3, enumerated=2, time_s=0.5)
    assert part.global_bound_s <= min(whole.objective_s, part.objective_s)
    few = build_model(s, lambda shape, link: candidates(shape, link, s.servers, 2))
    idle = few.server_wait_s([[np.zeros(len(c)) for c in row] for row in few.candidates])
    relaxed = solve_parametric(build_problem(few, groups_of(few), idle, relaxed=True), gap=1e-4)
    assert relaxed.lower_bound_s <= solve_parametric(problem_of(s), gap=1e-4).value_s
