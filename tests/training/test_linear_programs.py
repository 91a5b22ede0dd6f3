"""Programs over allocations: feasible, optimal by their dual and by a dense solver, fair to equal jobs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sizes import examples

from nona.allocation.centre import LAST_MU, centre, solve
from nona.allocation.polytope import Floats, Polytope, polytope, worthwhile_pairs
from nona.allocation.program import InfeasibleError, Prices, Program, certified, linear, max_min, solve_highs


def drawn(seed: int, zeros: bool = True) -> tuple[Floats, Floats, Floats]:
    """(rates, workers, gpus); some jobs are equal, some rates 0, and every job can run on the first type."""
    rng = np.random.default_rng(seed)
    m, kinds = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    rates = rng.lognormal(size=(m, kinds))
    rates[:, 1:] *= rng.random((m, kinds - 1)) > (0.2 if zeros else 0)
    kind = rng.integers(0, m, m)
    workers = rng.choice([1.0, 1.0, 2.0, 4.0], m)
    return rates[kind], workers[kind], rng.integers(1, 9, kinds).astype(float)


def with_pairs(seed: int) -> Polytope:
    rates, workers, gpus = drawn(seed)
    rng = np.random.default_rng([seed, 1])
    both = np.array(list(combinations(range(len(rates)), 2)), np.int64).reshape(-1, 2)
    beside = rng.uniform(0.2, 1.0, (len(both), len(gpus), 2)) * np.moveaxis(rates[both], 1, 2)
    kept, kept_rates = worthwhile_pairs(rates, workers, both, beside)
    return polytope(gpus, workers, rates, kept, kept_rates)


def dense_optimum(program: Program) -> float:
    """The optimum by scipy on dense matrices that are written down here once more, row by row."""
    space = program.space
    n, m = space.variables, space.jobs
    upper, limits = [], []
    for j, count in enumerate(space.gpus):
        upper.append([*(space.workers * (space.column == j)), 0.0])
        limits.append(count)
    for i in range(m):
        own, other = space.first == i, space.second == i
        upper.append([*(own | other).astype(float), 0.0])
        limits.append(1.0)
        rate = np.where(own, space.rate, 0.0) + np.where(other, space.partner_rate, 0.0)
        upper.append([*-rate, program.steps[i]])
        limits.append(-program.floors[i])
    cost = [*-program.gains, -1.0 if program.levelled else 0.0]
    bounds = [(0, None)] * n + [(None, None)]
    done = linprog(cost, A_ub=np.array(upper), b_ub=limits, bounds=bounds, method="highs-ds")
    assert done.status == 0
    return float(-done.fun)


def check_feasible(space: Polytope, x: Floats) -> None:
    assert (x >= -1e-9).all()
    assert (space.limit_matrix() @ x <= space.limits * (1 + 1e-9)).all()
    assert space.throughput_matrix() @ x == pytest.approx(space.throughputs(x), rel=1e-12, abs=1e-12)


@examples(25)
@given(st.integers(0, 10_000))
def test_max_min_is_feasible_and_optimal(seed: int) -> None:
    rates, workers, gpus = drawn(seed)
    space = polytope(gpus, workers, rates)
    program = max_min(space, rates @ gpus / gpus.sum() / workers)
    for found in (centre(program), solve_highs(program)):
        check_feasible(space, found.x)
        assert found.objective == pytest.approx(dense_optimum(program), rel=1e-6)
        assert found.objective <= found.bound * (1 + 1e-9)
        assert found.bound == pytest.approx(found.objective, rel=1e-6)


@examples(20)
@given(st.integers(0, 10_000), st.floats(0, 0.9))
def test_linear_programs_with_floors(seed: int, part: float) -> None:
    """Floors are a part of what max-min gives to everybody, so they can be kept."""
    rates, workers, gpus = drawn(seed)
    space = polytope(gpus, workers, rates)
    rng = np.random.default_rng(seed)
    steps = rates @ gpus
    floors = part * steps * centre(max_min(space, steps)).objective
    program = linear(space, rng.lognormal(size=space.variables), floors)
    found = solve(program)
    check_feasible(space, found.x)
    assert (space.throughputs(found.x) >= floors * (1 - 1e-6)).all()
    assert found.objective == pytest.approx(dense_optimum(program), rel=1e-6)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)


@examples(20)
@given(st.integers(0, 10_000))
def test_programs_with_pairs(seed: int) -> None:
    space = with_pairs(seed)
    program = max_min(space, np.ones(space.jobs))
    found = solve(program)
    check_feasible(space, found.x)
    assert found.objective == pytest.approx(dense_optimum(program), rel=1e-6)
    assert found.bound == pytest.approx(found.objective, rel=1e-6)


@examples(20)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_any_prices_give_a_bound(seed: int, prices: int) -> None:
    """Weak duality: whatever the prices, no allocation beats the bound that they certify."""
    space = with_pairs(seed)
    rng = np.random.default_rng(prices)
    program = max_min(space, rng.lognormal(size=space.jobs))
    drawn_prices = Prices(*(rng.lognormal(size=k) for k in (space.jobs, len(space.gpus), space.jobs)))
    assert certified(program, drawn_prices)[0] >= dense_optimum(program) * (1 - 1e-9)


@examples(25)
@given(st.integers(0, 10_000))
def test_equal_jobs_get_equal_shares(seed: int) -> None:
    rates, workers, gpus = drawn(seed)
    space = polytope(gpus, workers, rates)
    shares = space.shares(centre(max_min(space, rates @ gpus / workers)).x)
    for a, b in combinations(range(len(rates)), 2):
        if (rates[a] == rates[b]).all() and workers[a] == workers[b]:
            assert shares[a] == pytest.approx(shares[b], abs=1e-9)


def test_the_centre_of_a_face() -> None:
    """One job of rate 1 on two types with 1 GPU each: x_1 + x_2 = 1 is optimal, and (½, ½) is its centre."""
    space = polytope(np.ones(2), np.ones(1), np.ones((1, 2)))
    assert centre(max_min(space, np.ones(1))).x == pytest.approx([0.5, 0.5], abs=1e-7)
    # capacities 1 and 2: the slacks x_1, x_2, 1 − x_1, 2 − x_2 on x_1 + x_2 = 1 are x, 1 − x, 1 − x, 1 + x
    # where x is x_1; log x + 2 log(1 − x) + log(1 + x) has its maximum at 1/x − 2/(1 − x) + 1/(1 + x) = 0
    wide = polytope(np.array([1.0, 2.0]), np.ones(1), np.ones((1, 2)))
    x = (np.sqrt(17) - 1) / 8
    # at the last μ = 10⁻¹¹ rounding counts, up to ε/μ = 2·10⁻⁵ on some processors; at 10⁻⁸ it does not
    for mu, near in ((1e-8, 1e-7), (LAST_MU, 2e-6)):
        assert centre(max_min(wide, np.ones(1)), mu).x == pytest.approx([x, 1 - x], abs=near)


def test_floors_that_nobody_can_keep() -> None:
    space = polytope(np.ones(1), np.ones(2), np.ones((2, 1)))
    with pytest.raises(InfeasibleError, match="no shares of time"):
        solve(linear(space, np.ones(2), np.array([0.7, 0.7])))


def test_pairs_that_gain_nothing_cost_nothing() -> None:
    """Leaving out pairs whose combined rate is at most 1 never lowers the optimum."""
    rates, gpus = np.array([[4.0, 2.0], [3.0, 1.0], [1.0, 1.0]]), np.ones(2)
    both = np.array([[0, 1], [0, 2], [1, 2]])
    factors = np.array([[[0.4, 0.5], [0.9, 0.8]], [[0.5, 0.5], [0.3, 0.2]], [[0.7, 0.7], [0.1, 0.9]]])
    beside = factors * np.moveaxis(rates[both], 1, 2)
    kept, kept_rates = worthwhile_pairs(rates, np.ones(3), both, beside)
    assert kept.tolist() == [[0, 1], [1, 2]]
    steps = np.array([2.0, 1.0, 1.0])
    few = solve(max_min(polytope(gpus, np.ones(3), rates, kept, kept_rates), steps)).objective
    every = solve(max_min(polytope(gpus, np.ones(3), rates, both, beside), steps)).objective
    assert few == pytest.approx(every, rel=1e-9)


def test_each_job_proposes_its_best_partners() -> None:
    m = 12
    both = np.array(list(combinations(range(m), 2)))
    beside = np.random.default_rng(0).uniform(0.6, 1.0, (len(both), 1, 2))
    kept, _ = worthwhile_pairs(np.ones((m, 1)), np.ones(m), both, beside, partners=2)
    gain = {tuple(p): g for p, g in zip(both.tolist(), beside.sum((1, 2)), strict=True)}
    best = set()
    for i in range(m):
        own = sorted((p for p in gain if i in p), key=lambda p: -gain[p])
        best |= set(own[:2])
    assert {tuple(p) for p in kept.tolist()} == best
