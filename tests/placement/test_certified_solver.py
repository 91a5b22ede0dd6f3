"""The certified solver on problems at constant server wait: bounds, optima, structure."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sizes import examples

from nona.placement.solver.inner_program import best_response, solve_knapsack
from nona.placement.solver.parametric import solve_parametric
from nona.placement.solver.problem import Problem
from nona.placement.spans import Envelope


def random_problem(
    seed: int, *, groups: int = 4, columns: int = 6, sharing: bool = False, background: float = 0.3
) -> Problem:
    """Groups whose first column is local and the others trade time against traffic."""
    rng = np.random.default_rng(seed)
    n, const, slope, start = groups * columns, [], [], [0]
    for c in range(n):
        local = c % columns == 0
        lines = 1 if local else int(rng.integers(1, 4))
        const += list(np.sort(rng.uniform(1, 4, lines))[::-1]) if not local else [6.0]
        slope += list(np.cumsum(rng.integers(0, 3, lines)) + 1.0) if not local else [0.0]
        start.append(len(const))
    load = rng.exponential(0.8 / groups, n)
    load[::columns] = 0.0
    square = load * rng.uniform(0.1, 3.0, n)
    return Problem(
        start=np.arange(0, n + 1, columns),
        lines=Envelope(np.array(start), np.array(const), np.array(slope)),
        a0=load if sharing else square,
        a1=load if sharing else 2 * load,
        b0=background if sharing else 0.4 * background,
        b1=(1 if sharing else 2) * (1 - background),
        constant=1.0,
        column=np.tile(np.arange(columns), groups),
    )


def random_points(p: Problem, seed: int, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    local = np.zeros(len(p.a0))
    local[p.start[:-1]] = 1.0
    points = []
    for _ in range(count):
        x = rng.exponential(size=len(p.a0)) ** rng.integers(1, 6)
        x /= np.bincount(p.group, weights=x)[p.group]
        share = rng.uniform()
        points.append(share * x + (1 - share) * local)
    return points


@pytest.mark.parametrize("seed", range(8))
def test_knapsack_equals_a_general_linear_program(seed: int) -> None:
    p = random_problem(seed)
    rng = np.random.default_rng(seed)
    cost, row = rng.uniform(0, 1, len(p.a0)), rng.exponential(1.0, len(p.a0))
    row[rng.random(len(row)) < 0.3] = 0.0
    least = np.minimum.reduceat(row, p.start[:-1]).sum()
    sums = (p.group == np.arange(p.groups)[:, None]).astype(float)
    for bound in (least, least + 0.3, least + 1.0, least + 50.0):
        found = solve_knapsack(p.start, p.group, cost, row, bound)
        exact = linprog(cost, A_ub=row[None], b_ub=[bound], A_eq=sums, b_eq=np.ones(p.groups))
        x = found.vector(len(cost))
        assert found.bound == pytest.approx(exact.fun, abs=1e-9)
        assert cost @ x == pytest.approx(exact.fun, abs=1e-9)
        assert row @ x <= bound + 1e-12
        assert (x > 0).sum() <= p.groups + 1


def test_knapsack_says_when_nothing_fits() -> None:
    start, group = np.array([0, 2]), np.array([0, 0])
    assert solve_knapsack(start, group, np.array([1.0, 2.0]), np.array([3.0, 2.0]), 1.0).bound == math.inf


@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans(), st.sampled_from([0.0, 1e-9, 0.3, 0.95]))
@examples(60)
def test_certificate(seed: int, groups: int, sharing: bool, background: float) -> None:
    p = random_problem(seed, groups=groups, sharing=sharing, background=background)
    found = solve_parametric(p, gap=1e-4)
    assert found.complete
    assert 0 <= found.gap <= 1e-4
    assert found.value_s == pytest.approx(p.value(found.x))
    assert np.bincount(p.group, weights=found.x) == pytest.approx(np.ones(groups))
    assert (found.x >= 0).all()
    columns = np.flatnonzero(found.x)
    assert math.isfinite(p.wait(columns, found.x[columns]))
    assert (np.bincount(p.group, weights=found.x > 0) > 1).sum() <= 1, "at most one group mixes"
    for x in random_points(p, seed, 20):
        assert found.lower_bound_s <= p.value(x) * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("sharing", [False, True])
def test_one_diamond_against_a_grid(seed: int, sharing: bool) -> None:
    p = random_problem(seed, groups=1, columns=3, sharing=sharing)
    found = solve_parametric(p, gap=1e-6)
    shares = np.linspace(0, 1, 201)
    best = min(
        p.value(np.array([1 - a - b, a, b]))
        for a in shares
        for b in shares[shares <= 1 - a + 1e-12]
        if a + b <= 1
    )
    assert found.value_s <= best * (1 + 1e-9)
    assert found.value_s >= best * (1 - 5e-3)
    assert found.lower_bound_s <= best


@pytest.mark.parametrize("seed", range(6))
def test_best_response_cannot_be_improved_by_one_group(seed: int) -> None:
    p = random_problem(seed)
    start = random_points(p, seed, 1)[0]
    x = best_response(p, start)
    value = p.value(x)
    for g in range(p.groups):
        for c in range(p.start[g], p.start[g + 1]):
            other = x.copy()
            other[p.start[g] : p.start[g + 1]] = 0.0
            other[c] = 1.0
            assert value <= p.value(other) * (1 + 1e-9)


def test_nothing_to_choose() -> None:
    empty = Problem(
        np.zeros(1, dtype=np.int64),
        Envelope(np.zeros(1, dtype=np.int64), np.zeros(0), np.zeros(0)),
        np.zeros(0),
        np.zeros(0),
        0.1,
        1.0,
        0.25,
        np.zeros(0, dtype=np.int64),
    )
    found = solve_parametric(empty)
    assert (found.value_s, found.lower_bound_s, found.complete) == (0.25, 0.25, True)


def test_a_limit_on_the_work_leaves_an_honest_bound() -> None:
    p = random_problem(3, groups=6)
    short, full = solve_parametric(p, gap=1e-9, max_cells=4), solve_parametric(p, gap=1e-7)
    assert not short.complete
    assert short.lower_bound_s <= full.lower_bound_s <= full.value_s <= short.value_s
