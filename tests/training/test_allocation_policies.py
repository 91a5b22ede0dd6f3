"""Policies of training clusters: equal parts, in order, by pairs, by teams, by auction."""

from itertools import permutations, product

import numpy as np
import pytest
from allocation_cases import pairs, problem
from scipy.optimize import linprog, minimize

from nona.allocation.auctions import bidders, finish_time_fairness
from nona.allocation.in_order import shortest_first
from nona.allocation.problem import EntityShare, PreviousAllocation
from nona.allocation.registry import get_policy
from nona.core.errors import SimulationError
from nona.training.records import run_checks
from nona.training.rounds import simulate_training
from nona.training.state import Rates
from nona.training.system import NodeGroup, TrainingCluster, TrainingJob, TrainingSystem
from nona.training.throughput_table import shipped_throughputs

TABLE = [[0.5, 1, 2], [1, 2, 3], [2, 3, 4]]  # columns k80, p100, v100


def answer(name, asked, **options):
    return get_policy(name).prepare(options)(asked)


@pytest.mark.parametrize(
    ("name", "rates", "more", "parts"),
    [
        ("isolated", TABLE, {"workers": [1, 2, 1]}, [3, 6, 3]),
        ("proportional", TABLE, {}, [3, 3, 3]),
        ("gandiva", TABLE[:2], pairs((0, 1, [[0.5, 1], [1, 2], [2, 3]])), [3, 3]),  # there are GPUs for all
    ],
)
def test_equal_parts_as_the_public_code(name, rates, more, parts):
    found = answer(name, problem(rates, [1, 1, 1], **more))
    assert found.rows == tuple((i,) for i in range(len(rates)))
    assert found.shares == pytest.approx(np.array([[1 / n] * 3 for n in parts]))


def _crowded(gain, carried=None, seed=0):
    both = [(a, b, [[gain / 2, gain / 2]]) for a in range(6) for b in range(a + 1, 6)]
    return problem([[1.0]] * 6, [2], **pairs(*both), carried=carried, seed=seed)


def test_gandiva_pairs_jobs_at_random_when_the_cluster_is_crowded():
    found = [answer("gandiva", _crowded(1.4, seed=s)) for s in range(5)]
    formed = {f.rows[6:] for f in found}
    assert len(formed) > 1
    for f in found:
        jobs = [i for row in f.rows[6:] for i in row]
        assert len(jobs) == len(set(jobs)) > 0
        assert f.shares.sum() == pytest.approx(2)
        assert np.unique(f.shares[f.shares > 0]) == pytest.approx([2 / (6 - len(f.rows[6:]))])
    assert answer("gandiva", _crowded(1.4)).rows == found[0].rows
    assert answer("gandiva", _crowded(1.4), space_sharing=False).rows == tuple((i,) for i in range(6))


def test_gandiva_keeps_pairs_that_pay_and_gives_up_the_others():
    rows = (*((i,) for i in range(6)), (0, 3), (1, 2))
    before = PreviousAllocation(rows, np.zeros((8, 1)))
    assert {(0, 3), (1, 2)} <= set(answer("gandiva", _crowded(1.2, before)).rows)
    for seed in range(8):
        assert not {(0, 3), (1, 2)} & set(answer("gandiva", _crowded(0.9, before, seed)).rows)


@pytest.mark.parametrize(
    ("rates", "workers", "shares"),
    [  # the fastest free type in order of arrival; of equal rates the first in alphabetical order
        ([[1, 2, 4], [1, 2, 4], [5, 2, 4], [9, 9, 9]], [1] * 4, [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0] * 3]),
        ([[3, 3, 3]], [1], [[1, 0, 0]]),
        # who runs on no free type is left out; where one does not fit, the last would fit, but waits
        ([[0, 0], [1, 0], [2, 2], [1, 1]], [1, 1, 2, 1], [[0, 0], [1, 0], [0, 0], [0, 0]]),
    ],
)
def test_fifo_by_hand(rates, workers, shares):
    assert answer("fifo", problem(rates, [1] * len(rates[0]), workers=workers)).shares.tolist() == shares


def test_fifo_packed_joins_the_partner_with_the_largest_gain_above_one_and_a_half():
    shared = pairs(
        (0, 2, [[0.8, 0.8]]),  # 1.6 of 2
        (1, 2, [[0.9, 0.9]]),  # 1.8
        (0, 3, [[0.7, 0.7]]),  # 1.4: too little
        (1, 3, [[1.0, 1.0]]),  # 1 is taken by then
    )
    found = answer("fifo", problem([[1]] * 4, [2], **shared), space_sharing=True)
    assert found.rows[4:] == ((1, 2),)
    assert found.shares[:, 0].tolist() == [1, 0, 0, 0, 1]


def test_agnostic_fifo_spreads_jobs_over_types_whatever_their_rates():
    few, many = problem([[1, 9]] * 3, [2, 1]), problem([[9, 1]] * 3, [2, 1])
    spread = answer("fifo-agnostic", few).shares
    assert spread.sum(axis=0).tolist() == [2, 1]
    assert np.array_equal(spread, answer("fifo-agnostic", many).shares)


def test_shortest_first_goes_by_time_left_on_the_best_type():
    jobs = problem([[1, 2], [0, 0], [10, 1], [2, 1]], [1, 1], remaining=[100, 1, 400, 100])
    assert shortest_first(jobs).tolist() == [2, 0, 3, 1]
    assert answer("sjf", jobs).shares.tolist() == [[0, 1], [0, 0], [1, 0], [0, 0]]


def _least_total(durations, gpus):
    """Least sum of completion times over every assignment to GPUs and every order."""
    kinds = [j for j, n in enumerate(gpus) for _ in range(n)]
    best = np.inf
    for where in product(range(len(kinds)), repeat=len(durations)):
        total = 0.0
        for gpu, kind in enumerate(kinds):
            mine = [durations[i, kind] for i, w in enumerate(where) if w == gpu]
            total += min(sum(np.cumsum(order)) for order in permutations(mine)) if mine else 0.0
        best = min(best, total)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_allox_finds_the_least_total_completion_time(seed):
    draw = np.random.default_rng(seed)
    gpus = [[1, 1], [2, 1], [1, 2]][seed % 3]
    jobs = problem(draw.uniform(0.5, 5, (5, 2)), gpus, remaining=draw.uniform(10, 100, 5))
    found = answer("allox", jobs)
    best = _least_total(jobs.remaining[:, None] / jobs.rates, gpus)
    assert found.objective == pytest.approx(best)
    assert found.bound == pytest.approx(best)
    assert found.shares.sum(axis=0).tolist() <= gpus
    assert found.shares.sum(axis=1).max() == 1


def test_allox_starts_the_shortest_and_leaves_a_job_on_its_gpu():
    """Jobs that start now are first on their GPUs in some best schedule: on one GPU the shortest."""
    found = answer("allox", problem([[1], [1], [1]], [1], remaining=[30, 10, 20]))
    assert (found.shares[:, 0].tolist(), found.objective) == ([0, 1, 0], 10 + 30 + 60)
    carried = PreviousAllocation(((0,), (1,)), np.array([[1.0], [0.0]]))
    asked = problem([[1], [1], [1]], [1], remaining=[1e6, 10, 20], carried=carried)
    assert answer("allox", asked).shares[:, 0].tolist() == [1, 0, 0]


def test_allox_bound_holds_at_size_and_jobs_with_several_gpus_are_refused():
    draw = np.random.default_rng(1)
    jobs = problem(draw.uniform(0.5, 5, (120, 3)), [9, 7, 5], remaining=draw.uniform(10, 1e5, 120))
    found = answer("allox", jobs)
    assert found.bound == pytest.approx(found.objective, rel=1e-9)
    assert found.shares.sum(axis=0).tolist() == [9, 7, 5]
    with pytest.raises(SimulationError, match=r"'job1' takes more than one GPU"):
        answer("allox", problem([[1], [1]], [4], workers=[1, 2]))


def levels(asked, found):
    """thr_i / prop_i of single rows."""
    units = asked.rates @ asked.gpus / asked.gpus.sum()
    return (found.shares[: asked.jobs] * asked.rates).sum(axis=1) / units


def _least(asked, weights, fixed, of):
    """max c with sf·y / w ≥ c for the jobs ``of``, where the ``fixed`` ones keep their values."""
    m, kinds = asked.rates.shape
    scale = asked.workers / weights / (asked.rates @ asked.gpus / asked.gpus.sum())
    rows, limits = [], []
    for i in range(m):
        worth = np.zeros(m * kinds + 1)
        worth[i * kinds : (i + 1) * kinds] = -asked.rates[i] * scale[i]
        if i in fixed:
            rows, limits = [*rows, worth], [*limits, -fixed[i] + 1e-9]
        elif i in of:
            worth[-1] = 1
            rows, limits = [*rows, worth], [*limits, 0.0]
        time = np.zeros(m * kinds + 1)
        time[i * kinds : (i + 1) * kinds] = 1
        rows, limits = [*rows, time], [*limits, 1.0]
    for j in range(kinds):
        used = np.zeros(m * kinds + 1)
        used[j : m * kinds : kinds] = asked.workers
        rows, limits = [*rows, used], [*limits, asked.gpus[j]]
    cost = np.zeros(m * kinds + 1)
    cost[-1] = -1
    done = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=[(0, None)] * (m * kinds) + [(None, None)])
    assert done.status == 0
    return float(-done.fun)


def _lexicographic(asked, weights):
    """Lexicographic max-min of sf·y / w, one job fixed at a time: those that no longer rise alone."""
    fixed = {}
    while len(fixed) < asked.jobs:
        rest = [i for i in range(asked.jobs) if i not in fixed]
        level = _least(asked, weights, fixed, rest)
        for i in rest:
            held = {**fixed, **{k: level for k in rest if k != i}}
            if _least(asked, weights, held, [i]) <= level + 1e-6:
                fixed[i] = level
    return np.array([fixed[i] for i in range(asked.jobs)]) * weights / asked.workers


@pytest.mark.parametrize("seed", range(8))
def test_one_fair_team_is_lexicographic_max_min(seed):
    draw = np.random.default_rng(seed)
    m = int(draw.integers(3, 7))
    rates = draw.uniform(0.2, 4, (m, 2)) * (draw.random((m, 2)) < 0.8)
    rates[rates.max(axis=1) == 0] = 1.0
    weights = draw.choice([0.3, 1, 2], m)
    asked = problem(rates, [2, 1], workers=draw.choice([1, 2], m), weights=weights)
    found = answer("hierarchical", asked)
    assert levels(asked, found) == pytest.approx(_lexicographic(asked, weights / weights.sum()), abs=2e-4)
    assert found.gap < 1e-6


def teams(*of, policies=("fairness", "fairness"), weights=(1.0, 1.0)):
    shares = tuple(EntityShare(n, w, p) for n, w, p in zip("ab", weights, policies, strict=True))
    return {"entities": shares, "entity": np.array(of)}


@pytest.mark.parametrize(
    ("gpus", "more", "shares"),
    [
        # job 0 can use one GPU only; with a tiny weight it is saturated last, and the rest is shared
        (2, {"weights": [10, 0.01, 0.01]}, [1, 0.5, 0.5]),
        # teams share by weight, and hand on what they cannot use
        (3, teams(0, 0, 0, 0, 1, 1, weights=(1.0, 2.0)), [0.25] * 4 + [1, 1]),
        (4, teams(0, 0, 0, 0, 0, 1, weights=(1.0, 2.0)), [0.6] * 5 + [1]),
        # a FIFO team serves its jobs in order
        (3, teams(0, 0, 0, 1, 1, 1, policies=("fifo", "fairness")), [1, 0.5, 0, 0.5, 0.5, 0.5]),
    ],
)
def test_levels_by_hand(gpus, more, shares):
    found = answer("hierarchical", problem([[1.0]] * len(shares), [gpus], **more))
    assert found.shares[:, 0] == pytest.approx(shares, abs=1e-6)


def test_agnostic_levels_are_shares_of_time_and_pairs_raise_the_level():
    draw = np.random.default_rng(3)
    asked = problem(draw.uniform(1, 9, (4, 2)), [1, 1])
    assert answer("hierarchical", asked, agnostic=True).shares.sum(axis=1) == pytest.approx(
        [0.5] * 4, abs=1e-6
    )
    shared = pairs((0, 1, [[0.8, 0.8]]))
    asked = problem([[1.0], [1.0]], [1], **shared)
    assert answer("hierarchical", asked).objective == pytest.approx(1.0)  # half a GPU each, weights of a half
    found = answer("hierarchical", asked, space_sharing=True)
    assert found.objective == pytest.approx(1.6)
    assert found.shares[:, 0] == pytest.approx([0, 0, 1], abs=1e-5)


def _random_problem(seed, m):
    draw = np.random.default_rng(seed)
    rates = draw.uniform(0.1, 4, (m, 3)) * (draw.random((m, 3)) < 0.9)
    rates[rates.max(axis=1) == 0] = 1.0
    return problem(
        rates,
        [2, 1, 1],
        workers=draw.choice([1, 2], m),
        remaining=draw.uniform(10, 1e4, m),
        elapsed_s=draw.uniform(0, 1e4, m),
        isolated_s=draw.uniform(0, 3e3, m),
    )


def _largest_mean(asked):
    """The largest geometric mean of throughputs, by scipy's general method."""
    m, kinds = asked.rates.shape

    def worth(flat):
        got = (flat.reshape(m, kinds) * asked.rates).sum(axis=1)
        return -float(np.log(np.maximum(got, 1e-9)).sum())

    limits = [
        {"type": "ineq", "fun": lambda x: asked.gpus - asked.workers @ x.reshape(m, kinds)},
        {"type": "ineq", "fun": lambda x: 1 - x.reshape(m, kinds).sum(axis=1)},
    ]
    how = {"bounds": [(0, 1)] * (m * kinds), "options": {"maxiter": 500, "ftol": 1e-10}}
    done = minimize(worth, np.full(m * kinds, 0.3 / m), method="SLSQP", constraints=limits, **how)
    return float(np.exp(-done.fun / m))


@pytest.mark.parametrize("seed", range(4))
def test_the_product_of_throughputs_is_largest(seed):
    asked = _random_problem(seed, 4)
    found = answer("strategy-proof", asked)
    assert found.objective == pytest.approx(_largest_mean(asked), rel=1e-4)
    assert found.bound >= found.objective - 1e-12
    assert found.gap < 1e-6


def test_equal_jobs_share_equally_and_keep_what_the_discount_leaves():
    """Two jobs on one GPU: a half each of V = 1/2; alone the other has V = 1, so each keeps a half."""
    found = answer("strategy-proof", problem([[1.0], [1.0]], [1]))
    assert found.shares[:, 0] == pytest.approx([0.25, 0.25], abs=1e-6)
    asked = problem(np.tile([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]], (200, 1)), [30, 20])
    found = answer("strategy-proof", asked)
    assert np.ptp(found.shares[::3], axis=0) == pytest.approx([0, 0])
    assert found.gap < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_no_job_gains_by_false_rates(seed):
    draw = np.random.default_rng(100 + seed)
    asked = _random_problem(seed, 4)
    true = asked.rates
    honest = (answer("strategy-proof", asked).shares * true).sum(axis=1)
    for _ in range(6):
        liar = int(draw.integers(4))
        told = true.copy()
        told[liar] *= draw.uniform(0.1, 3, 3)
        lie = problem(told, asked.gpus, workers=asked.workers)
        gained = (answer("strategy-proof", lie).shares * true).sum(axis=1)[liar]
        assert gained <= honest[liar] * (1 + 1e-5)


def test_the_worst_jobs_bid():
    asked = _random_problem(1, 10)
    chosen = bidders(asked, 0.8)
    alone = (asked.rates * asked.gpus / np.maximum(10 * asked.workers, 4)[:, None]).sum(axis=1)
    rho = finish_time_fairness(asked, alone)
    assert len(chosen) == 2
    assert rho[chosen].min() >= np.delete(rho, chosen).max()
    assert len(bidders(asked, 0.0)) == 10


@pytest.mark.parametrize("seed", range(3))
def test_the_auction_leaves_nothing_that_helps(seed):
    asked = _random_problem(seed, 12)
    found = answer("themis-auction", asked)
    assert found.gap < 1e-6
    others = np.setdiff1d(np.arange(12), bidders(asked, 0.8))
    free = asked.gpus - asked.workers @ found.shares
    idle = 1 - found.shares[others].sum(axis=1)
    assert not ((idle > 1e-9)[:, None] & (asked.rates[others] > 0) & (free > 1e-9)).any()


def test_without_waits_the_auction_of_all_is_the_strategy_proof_answer():
    asked = problem([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [1, 1])
    auction = answer("themis-auction", asked, fairness_knob=0.0)
    assert auction.shares == pytest.approx(answer("strategy-proof", asked).shares, abs=1e-5)


LIGHT = "ResNet-18 (batch size 32)"
HEAVY = ("ResNet-50 (batch size 64)", "Transformer (batch size 64)")
HOURS = 5 * 3600.0


def system(models, arrivals, share):
    """One V100; every job would take five hours alone."""
    table = shipped_throughputs()
    jobs = tuple(
        TrainingJob(str(n), model, HOURS * table.rate("v100", model, 1), arrival_s=at)
        for n, (model, at) in enumerate(zip(models, arrivals, strict=True))
    )
    cluster = TrainingCluster((NodeGroup("v100", 1, 1),), {"v100": 2.5})
    return TrainingSystem(cluster, jobs, table, space_sharing=share)


def gain(asked):
    rates = Rates(asked)
    return float((np.array(rates.pair(0, 1)[0]) / rates.isolated_rates[:2, 0]).sum())


def run_gandiva(asked):
    options = {"space_sharing": asked.space_sharing, "seed": 0}
    found = simulate_training(asked, get_policy("gandiva"), options)
    assert [check for check in run_checks(asked, found) if not check.ok] == []
    return found


def test_a_pair_that_pays_shares_the_gpu_and_both_run_at_their_measured_speed():
    packed, sliced = (run_gandiva(system((LIGHT, LIGHT), (0.0, 0.0), share)) for share in (True, False))
    assert gain(system((LIGHT, LIGHT), (0.0, 0.0), True)) == pytest.approx(2.0)
    assert {p.jobs for p in packed.placed} == {(0, 1)}
    assert packed.completion_s == pytest.approx([HOURS, HOURS])  # as if each were alone
    assert {len(p.jobs) for p in sliced.placed} == {1}
    assert sliced.completion_s.max() == pytest.approx(2 * HOURS)


def test_a_pair_that_does_not_pay_is_given_up_at_the_next_answer():
    asked = system((*HEAVY, LIGHT), (0.0, 0.0, 4000.0), share=True)
    assert gain(asked) < 1
    found = run_gandiva(asked)
    tried = [found.round_start_s[p.round] for p in found.placed if set(p.jobs) == {0, 1}]
    came = found.admitted_s[2]
    assert min(tried) < came  # the trial
    assert max(tried) <= came + 1920  # the least time between two answers
    later = [p.jobs for p in found.placed if found.round_start_s[p.round] > came + 1920]
    assert {0, 1, 2} <= {job for jobs in later for job in jobs}
