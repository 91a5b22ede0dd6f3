"""Strategy-proof shares, and Themis' auction among the jobs that are worst off."""

from __future__ import annotations

from functools import partial
from math import ceil, exp

import numpy as np

from nona.allocation.equal_shares import isolated_shares
from nona.allocation.problem import Allocation, Policy, Problem
from nona.allocation.welfare import Bids, Partial, partial_allocation
from nona.arrays import Floats, Ints
from nona.options import Setting
from nona.random_streams import RandomStreams
from nona.registry import Look


def _allocate(problem: Problem) -> Allocation:
    able = problem.rates.max(axis=1, initial=0.0) > 0
    rows = tuple((i,) for i in range(problem.jobs))
    shares = np.zeros(problem.rates.shape)
    if not able.any():
        return Allocation(rows, shares)
    ones = np.ones(int(able.sum()))
    scale = problem.rates[able].max(axis=1)
    bids = Bids(problem.rates[able], problem.workers[able], 0 * ones, ones * scale, problem.gpus)
    auction = partial_allocation(bids)
    shares[able] = auction.shares * auction.kept[:, None]
    unit = float(np.log(scale).mean())
    return Allocation(
        rows,
        shares,
        objective=float(np.exp(auction.mean_log + unit)),
        bound=float(np.exp(auction.mean_bound + unit)),
        details={"least_kept": float(auction.kept.min())},
    )


STRATEGY_PROOF = Policy(
    name="strategy-proof",
    title="Strategy-proof",
    summary="Maximises the product of throughputs; jobs keep a part, so that none gains by false rates.",
    source="Narayanan et al., OSDI 2020 (Gavel); mechanism of Cole, Gkatzelis and Goel, EC 2013, from memory",
    adaptation="The objective is stated before the discount. Jobs that no type can run are left out.",
    build=lambda options: _allocate,
    objective="geometric mean of throughputs before the discount, steps/s",
    look=Look("#8b3fd9", "longdash", "circle-cross"),
)


def finish_time_fairness(problem: Problem, rates: Floats) -> Floats:
    """(m,) ρ_i = (t_i + rem_i / thr_i) / (C_i + rem_i / iso_i) at throughputs ``rates``; ∞ without any."""
    alone = (isolated_shares(problem) * problem.rates).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = (problem.elapsed_s + problem.remaining / rates) / (
            problem.isolated_s + problem.remaining / alone
        )
    return np.where(rates > 0, rho, np.inf)


def bidders(problem: Problem, knob: float) -> Ints:
    """The ⌈(1 − f)·m⌉ jobs with the worst ρ, if each had an equal share from now on; ties by number."""
    able = np.flatnonzero(problem.rates.max(axis=1, initial=0.0) > 0)
    alone = (isolated_shares(problem) * problem.rates).sum(axis=1)
    worst = able[np.argsort(-finish_time_fairness(problem, alone)[able], kind="stable")]
    return np.sort(worst[: ceil((1 - knob) * len(able) - 1e-9)])


def _auction(problem: Problem, jobs: Ints) -> Partial:
    """V_i = 1/ρ_i of the bidders: θ / (t θ + rem), but for a factor that no job can change."""
    bids = Bids(
        problem.rates[jobs],
        problem.workers[jobs],
        problem.elapsed_s[jobs],
        problem.remaining[jobs],
        problem.gpus,
    )
    return partial_allocation(bids)


def _hand_out(problem: Problem, shares: Floats, order: Ints) -> None:
    """Give the rest of the time to jobs in ``order``, on their fastest types first."""
    free = problem.gpus - problem.workers @ shares
    for job in order:
        time = 1.0
        for kind in np.argsort(-problem.rates[job], kind="stable"):
            part = min(time, max(0.0, free[kind]) / problem.workers[job])
            if problem.rates[job, kind] > 0:
                shares[job, kind] = part
                time, free[kind] = time - part, free[kind] - part * problem.workers[job]


def _themis_auction_allocate(problem: Problem, knob: float, seed: int) -> Allocation:
    rows = tuple((i,) for i in range(problem.jobs))
    shares = np.zeros(problem.rates.shape)
    jobs = bidders(problem, knob)
    if not jobs.size:
        return Allocation(rows, shares)
    auction = _auction(problem, jobs)
    shares[jobs] = auction.shares * auction.kept[:, None]
    draw = RandomStreams(seed).generator("themis", str(problem.seed), repr(float(problem.elapsed_s.sum())))
    others = np.setdiff1d(np.arange(problem.jobs), jobs)
    _hand_out(problem, shares, draw.permutation(others))
    alone = (isolated_shares(problem) * problem.rates)[jobs].sum(axis=1)
    unit = float(np.log(problem.isolated_s[jobs] + problem.remaining[jobs] / alone).mean())
    return Allocation(
        rows,
        shares,
        objective=exp(auction.mean_log + unit),
        bound=exp(auction.mean_bound + unit),
        details={"bidders": float(len(jobs)), "least_kept": float(auction.kept.min())},
    )


THEMIS = Policy(
    name="themis-auction",
    title="Themis' auction",
    summary="The jobs with the worst finish-time fairness bid for the GPUs; the rest get what is left.",
    source="Mahajan et al., NSDI 2020 (Themis), from memory",
    adaptation="One auction per reallocation, over shares of time instead of whole GPUs; all GPUs are "
    "offered. Who bids is decided by ρ with an equal share from now on (ours). Values are 1/ρ from the known "
    "rates. What the bidders leave goes to the others in random order, fastest type first. With waits "
    "behind them 1/ρ does not grow in proportion to the shares, so truth is best only nearly.",
    build=lambda o: partial(_themis_auction_allocate, knob=o["fairness_knob"], seed=o["seed"]),
    settings={
        "fairness_knob": Setting(0.8, "f: the worst 1 − f of the jobs bid", most=0.999),
        "seed": Setting(0, "seed of the order in which the others get what is left"),
    },
    objective="geometric mean of the bidders' 1/ρ before the discount",
    look=Look("#e0559a", "longdash", "triangle-up"),
)
