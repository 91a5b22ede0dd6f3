"""Strategy-proofness and Themis' auction: optimality by the bound, no gain from false rates, capacity."""

import numpy as np
import pytest
from allocation_cases import problem
from scipy.optimize import minimize

from nona.allocation.auctions import bidders, finish_time_fairness
from nona.allocation.problem import Allocation, Problem
from nona.allocation.registry import get_policy


def answer(name: str, asked: Problem, **options: float) -> Allocation:
    return get_policy(name).prepare(options)(asked)


def _random(seed: int, m: int) -> Problem:
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


def _feasible(asked: Problem, found: Allocation) -> bool:
    within = (asked.workers @ found.shares <= asked.gpus + 1e-9).all()
    return bool(within and (found.shares.sum(axis=1) <= 1 + 1e-9).all() and (found.shares >= 0).all())


def _largest_mean(asked: Problem) -> float:
    """The largest geometric mean of throughputs, by scipy's general method."""
    m, kinds = asked.rates.shape

    def worth(flat: np.ndarray) -> float:
        got = (flat.reshape(m, kinds) * asked.rates).sum(axis=1)
        return -float(np.log(np.maximum(got, 1e-9)).sum())

    limits = [
        {"type": "ineq", "fun": lambda x: asked.gpus - asked.workers @ x.reshape(m, kinds)},
        {"type": "ineq", "fun": lambda x: 1 - x.reshape(m, kinds).sum(axis=1)},
    ]
    start = np.full(m * kinds, 0.3 / m)
    options = {"maxiter": 500, "ftol": 1e-10}
    done = minimize(
        worth, start, method="SLSQP", bounds=[(0, 1)] * len(start), constraints=limits, options=options
    )
    return float(np.exp(-done.fun / m))


@pytest.mark.parametrize("seed", range(4))
def test_the_product_of_throughputs_is_largest(seed: int) -> None:
    asked = _random(seed, 4)
    found = answer("strategy-proof", asked)
    assert found.objective == pytest.approx(_largest_mean(asked), rel=1e-4)
    assert found.bound >= found.objective - 1e-12
    assert found.gap < 1e-6
    assert _feasible(asked, found)


def test_equal_jobs_share_equally_and_keep_what_the_discount_leaves() -> None:
    """Two jobs on one GPU: a half each of V = 1/2; alone the other has V = 1, so each keeps a half."""
    found = answer("strategy-proof", problem([[1.0], [1.0]], [1]))
    assert found.shares[:, 0] == pytest.approx([0.25, 0.25], abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_no_job_gains_by_false_rates(seed: int) -> None:
    draw = np.random.default_rng(100 + seed)
    asked = _random(seed, 4)
    true = asked.rates
    honest = (answer("strategy-proof", asked).shares * true).sum(axis=1)
    for _ in range(6):
        liar = int(draw.integers(4))
        told = true.copy()
        told[liar] *= draw.uniform(0.1, 3, 3)
        lie = problem(told, asked.gpus, workers=asked.workers)
        gained = (answer("strategy-proof", lie).shares * true).sum(axis=1)[liar]
        assert gained <= honest[liar] * (1 + 1e-5)


def test_many_equal_jobs_take_one_solution() -> None:
    rates = np.tile([[1.0, 2.0], [3.0, 1.0], [1.0, 1.0]], (200, 1))
    asked = problem(rates, [30, 20])
    found = answer("strategy-proof", asked)
    assert _feasible(asked, found)
    assert np.ptp(found.shares[::3], axis=0) == pytest.approx([0, 0])
    assert found.gap < 1e-6


def test_the_worst_jobs_bid() -> None:
    asked = _random(1, 10)
    chosen = bidders(asked, 0.8)
    alone = (asked.rates * asked.gpus / np.maximum(10 * asked.workers, 4)[:, None]).sum(axis=1)
    rho = finish_time_fairness(asked, alone)
    assert len(chosen) == 2
    assert rho[chosen].min() >= np.delete(rho, chosen).max()
    assert len(bidders(asked, 0.0)) == 10


@pytest.mark.parametrize("seed", range(3))
def test_the_auction_gives_no_more_than_there_is_and_leaves_nothing_that_helps(seed: int) -> None:
    asked = _random(seed, 12)
    found = answer("themis-auction", asked)
    assert _feasible(asked, found)
    assert found.gap < 1e-6
    others = np.setdiff1d(np.arange(12), bidders(asked, 0.8))
    free = asked.gpus - asked.workers @ found.shares
    idle = 1 - found.shares[others].sum(axis=1)
    assert not ((idle > 1e-9)[:, None] & (asked.rates[others] > 0) & (free > 1e-9)).any()


def test_without_waits_the_auction_of_all_is_the_strategy_proof_answer() -> None:
    asked = problem([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [1, 1])
    auction = answer("themis-auction", asked, fairness_knob=0.0)
    assert auction.shares == pytest.approx(answer("strategy-proof", asked).shares, abs=1e-5)
