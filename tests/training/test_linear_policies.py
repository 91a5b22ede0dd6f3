"""Policies that solve linear programs, and the programs: definitions, duals, a dense solver, hard cases."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from allocation_cases import pairs, problem
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sizes import examples

from nona.allocation.centre import LAST_MU, centre, solve
from nona.allocation.equal_shares import isolated_shares
from nona.allocation.polytope import polytope, worthwhile_pairs
from nona.allocation.program import InfeasibleError, Prices, certified, linear, max_min, solve_highs
from nona.allocation.registry import get_policy
from nona.core.errors import SimulationError

LINEAR = (
    *("max-min-fairness", "max-min-fairness-agnostic", "makespan", "finish-time-fairness"),
    *("finish-time-fairness-agnostic", "cost", "cost-slo", "sum-of-throughputs"),
)
SHARING = tuple(n for n in LINEAR if get_policy(n).space_sharing)


def ask(name, asked, **options):
    policy = get_policy(name)
    return policy.prepare({**policy.defaults, **options})(asked)


def drawn(seed, jobs=9):
    rng = np.random.default_rng(seed)
    m, kinds = int(rng.integers(2, jobs)), int(rng.integers(1, 4))
    rates = rng.lognormal(size=(m, kinds))
    rates[:, 1:] *= rng.random((m, kinds - 1)) > 0.2
    both = [(a, b) for a in range(m) for b in range(a + 1, m)]
    factors = rng.uniform(0.3, 1.0, (len(both), kinds, 2))
    beside = [(a, b, f * np.stack([rates[a], rates[b]], 1)) for (a, b), f in zip(both, factors, strict=True)]
    return problem(
        rates.tolist(),
        rng.integers(1, 6, kinds).tolist(),
        weights=rng.choice([1.0, 2.0, 5.0], m),
        remaining=rng.lognormal(8, 1.5, m),
        elapsed_s=rng.exponential(3000, m),
        isolated_s=rng.exponential(2000, m),
        slo_s=np.where(rng.random(m) < 0.5, rng.exponential(50_000, m), np.nan),
        prices=rng.uniform(0.3, 3.0, kinds),
        **pairs(*beside),
    )


def throughputs(asked, found):
    beside = {tuple(p): r for p, r in zip(asked.pairs.tolist(), asked.pair_rates, strict=True)}
    total = np.zeros(asked.jobs)
    for row, x in zip(found.rows, found.shares, strict=True):
        if len(row) == 1:
            total[row[0]] += asked.rates[row[0]] @ x
        else:
            total[list(row)] += x @ beside[row]
    return total


def objective(name, asked, found):
    """What the policy says it optimises, from shares and the definition."""
    thr = throughputs(asked, found)
    if name == "max-min-fairness":
        prop = asked.rates @ asked.gpus / asked.gpus.sum()
        return float((asked.workers * thr / (asked.weights * prop)).min())
    if name == "makespan":
        return float((asked.remaining / thr).max())
    if name == "finish-time-fairness":
        iso = (asked.rates * isolated_shares(asked)).sum(1)
        rho = (asked.elapsed_s + asked.remaining / thr) / (asked.isolated_s + asked.remaining / iso)
        return float(rho.max())
    if name == "sum-of-throughputs":
        return float(thr.sum())
    priced = replace(
        asked, rates=asked.rates / asked.prices, pair_rates=asked.pair_rates / asked.prices[:, None]
    )
    return float(throughputs(priced, found).sum())


def check_possible(asked, found):
    workers = np.array([asked.workers[row[0]] for row in found.rows])
    assert (found.shares >= 0).all()
    assert (workers @ found.shares <= asked.gpus * (1 + 1e-9)).all()
    for i in range(asked.jobs):
        assert sum(found.shares[k].sum() for k, row in enumerate(found.rows) if i in row) <= 1 + 1e-9


def test_makespan_g13():
    """The exact optimum; the public code's bisection ends at 19629.297."""
    rates = [[1, 4, 8], [2, 3, 6], [1.5, 6, 10], [2, 3, 4]]
    found = ask("makespan", problem(rates, [1, 1, 1], remaining=[40e3, 90e3, 30e3, 60e3]))
    assert found.objective == pytest.approx(370_000 / 19, rel=1e-7)
    assert round(found.objective, 3) == 19473.684


@examples(8)
@given(seed=st.integers(0, 10_000), pack=st.booleans())
@pytest.mark.parametrize("name", SHARING)
def test_answers_are_possible_and_proved_optimal(name, seed, pack):
    asked = drawn(seed)
    found = ask(name, asked, space_sharing=pack)
    check_possible(asked, found)
    assert found.objective == pytest.approx(objective(name, asked, found), rel=1e-9)
    assert found.gap < 2e-6


@examples(8)
@given(st.integers(0, 10_000))
def test_no_feasible_allocation_has_a_better_rho(seed):
    """Against allocations drawn at random and mixed with the answer, and against the bound."""
    asked = drawn(seed)
    best = ask("finish-time-fairness", asked)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        shares = rng.dirichlet(np.ones(len(asked.types) + 1), asked.jobs)[:, :-1]
        shares /= max(1.0, float((asked.workers @ shares / asked.gpus).max()))
        mixed = replace(best, shares=0.05 * shares + 0.95 * best.shares)
        for tried in (replace(best, shares=shares), mixed):
            if (throughputs(asked, tried) > 0).all():
                assert objective("finish-time-fairness", asked, tried) >= best.bound * (1 - 1e-9)


@pytest.mark.parametrize("name", LINEAR)
def test_a_job_that_can_run_nowhere_is_left_out(name):
    asked = problem([[1, 2], [0, 0], [3, 1]], [1, 1], prices=[1, 2], slo_s=[np.nan, 5.0, np.nan])
    found = ask(name, asked)
    without = ask(name, problem([[1, 2], [3, 1]], [1, 1], prices=[1, 2]))
    assert found.shares[1].tolist() == [0, 0]
    assert any("'job1'" in w and "no type" in w for w in found.warnings)
    if not name.startswith("finish"):  # ρ compares with a share among all three
        assert found.objective == pytest.approx(without.objective, rel=1e-6)
    nobody = ask(name, problem([[0, 0]], [1, 1], prices=[1, 2]))
    assert not nobody.shares.any()
    assert np.isnan(nobody.objective)


@pytest.mark.parametrize(
    ("name", "late", "shares", "worth"),
    [("cost", {}, [1, 0], 2), ("cost-slo", {"slo_s": [1000]}, [0.5, 0.5], 1.5)],
)
def test_types_are_chosen_by_steps_per_dollar_unless_a_deadline_needs_the_dear_one(name, late, shares, worth):
    """One job: 4 steps/s at 4 dollars against 2 at 1 dollar."""
    found = ask(name, problem([[2, 4]], [1, 1], prices=[1, 4], remaining=[3000], **late))
    assert found.shares == pytest.approx(np.array([shares]), abs=1e-6)
    assert found.objective == pytest.approx(worth, rel=1e-6)
    assert found.warnings == ()


def test_the_tightest_deadlines_are_dropped_one_by_one():
    """Three jobs on one GPU need .9, .5 and .3 of it: without the first, .8 is enough."""
    asked = problem([[1.0]] * 3, [1], prices=[1], remaining=[500, 900, 300], slo_s=[1000] * 3)
    found = ask("cost-slo", asked)
    (warning,) = found.warnings
    assert "'job1'" in warning
    assert (throughputs(asked, found)[[0, 2]] >= np.array([0.5, 0.3]) * (1 - 1e-6)).all()
    for slo_s, dropped in (([1000.0, -5.0, 1000.0], 1), ([1.0, 2.0, 3.0], 3)):
        assert len(ask("cost-slo", replace(asked, slo_s=np.array(slo_s))).warnings) == dropped
    just = problem([[1.0]] * 2, [1], prices=[1], remaining=[600, 400], slo_s=[1000] * 2)
    kept = ask("cost-slo", just)
    assert kept.warnings == ()
    assert throughputs(just, kept) == pytest.approx([0.6, 0.4], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("makespan", {"space_sharing": "yes"}, "space_sharing='yes' must be true or false"),
        ("gandiva", {"x": 1}, "option 'x' is not known"),
        ("max-min-fairness-agnostic", {"space_sharing": True}, "takes no options"),
    ],
)
def test_options_are_checked(name, options, why):
    with pytest.raises(SimulationError, match=why):
        get_policy(name).prepare(options)


def drawn_program(seed, zeros=True):
    """(rates, workers, gpus); some jobs are equal, some rates 0, and every job can run on the first type."""
    rng = np.random.default_rng(seed)
    m, kinds = int(rng.integers(1, 12)), int(rng.integers(1, 5))
    rates = rng.lognormal(size=(m, kinds))
    rates[:, 1:] *= rng.random((m, kinds - 1)) > (0.2 if zeros else 0)
    kind = rng.integers(0, m, m)
    workers = rng.choice([1.0, 1.0, 2.0, 4.0], m)
    return rates[kind], workers[kind], rng.integers(1, 9, kinds).astype(float)


def with_pairs(seed):
    rates, workers, gpus = drawn_program(seed)
    rng = np.random.default_rng([seed, 1])
    both = np.array(list(combinations(range(len(rates)), 2)), np.int64).reshape(-1, 2)
    beside = rng.uniform(0.2, 1.0, (len(both), len(gpus), 2)) * np.moveaxis(rates[both], 1, 2)
    kept, kept_rates = worthwhile_pairs(rates, workers, both, beside)
    return polytope(gpus, workers, rates, kept, kept_rates)


def dense_optimum(program):
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


def check_feasible(space, x):
    assert (x >= -1e-9).all()
    assert (space.limit_matrix() @ x <= space.limits * (1 + 1e-9)).all()
    assert space.throughput_matrix() @ x == pytest.approx(space.throughputs(x), rel=1e-12, abs=1e-12)


@examples(45)
@given(st.integers(0, 10_000), st.booleans())
def test_max_min_is_feasible_and_optimal(seed, paired):
    rates, workers, gpus = drawn_program(seed)
    space = with_pairs(seed) if paired else polytope(gpus, workers, rates)
    program = max_min(space, np.ones(space.jobs) if paired else rates @ gpus / gpus.sum() / workers)
    for found in (solve(program),) if paired else (centre(program), solve_highs(program)):
        check_feasible(space, found.x)
        assert found.objective == pytest.approx(dense_optimum(program), rel=1e-6)
        assert found.objective <= found.bound * (1 + 1e-9)
        assert found.bound == pytest.approx(found.objective, rel=1e-6)


@examples(20)
@given(st.integers(0, 10_000), st.floats(0, 0.9))
def test_linear_programs_with_floors(seed, part):
    """Floors are a part of what max-min gives to everybody, so they can be kept."""
    rates, workers, gpus = drawn_program(seed)
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
    two = polytope(np.ones(1), np.ones(2), np.ones((2, 1)))
    with pytest.raises(InfeasibleError, match="no shares of time"):
        solve(linear(two, np.ones(2), np.array([0.7, 0.7])))


@examples(20)
@given(st.integers(0, 10_000), st.integers(0, 10_000))
def test_any_prices_give_a_bound(seed, prices):
    """Weak duality: whatever the prices, no allocation beats the bound that they certify."""
    space = with_pairs(seed)
    rng = np.random.default_rng(prices)
    program = max_min(space, rng.lognormal(size=space.jobs))
    drawn_prices = Prices(*(rng.lognormal(size=k) for k in (space.jobs, len(space.gpus), space.jobs)))
    assert certified(program, drawn_prices)[0] >= dense_optimum(program) * (1 - 1e-9)


@examples(25)
@given(st.integers(0, 10_000))
def test_equal_jobs_get_equal_shares(seed):
    rates, workers, gpus = drawn_program(seed)
    space = polytope(gpus, workers, rates)
    shares = space.shares(centre(max_min(space, rates @ gpus / workers)).x)
    for a, b in combinations(range(len(rates)), 2):
        if (rates[a] == rates[b]).all() and workers[a] == workers[b]:
            assert shares[a] == pytest.approx(shares[b], abs=1e-9)


def test_the_centre_of_a_face():
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


def test_pairs_that_gain_nothing_cost_nothing():
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


def test_each_job_proposes_its_best_partners():
    m = 12
    both = np.array(list(combinations(range(m), 2)))
    beside = np.random.default_rng(0).uniform(0.6, 1.0, (len(both), 1, 2))
    kept, _ = worthwhile_pairs(np.ones((m, 1)), np.ones(m), both, beside, partners=2)
    gain = {tuple(p): g for p, g in zip(both.tolist(), beside.sum((1, 2)), strict=True)}
    by_gain = sorted(gain, key=lambda p: -gain[p])
    best = {p for i in range(m) for p in [p for p in by_gain if i in p][:2]}
    assert {tuple(p) for p in kept.tolist()} == best
