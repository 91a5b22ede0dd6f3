"""Finish-time fairness: no job is much later than on an equal share of the cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nona.allocation.centre import LAST_MU, solve
from nona.allocation.equal_shares import isolated_shares
from nona.allocation.linear import PACKED, SHARING, empty_allocation, sharing_policy, space_of, to_allocation
from nona.allocation.polytope import Polytope
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.allocation.program import Optimum, max_min
from nona.core.arrays import Floats
from nona.core.registry import ChartStyle

PROGRAMS = 40
CLOSE = 1e-7  # relative gap at which to stop
NEARLY, ROUGH_MU = 1e-3, 1e-7  # above this gap programs are solved roughly


class FinishTimes(NamedTuple):
    """(k,) of the jobs that can run: t_i seconds there, rem_i steps left, D_i seconds on an equal share."""

    elapsed: Floats
    remaining: Floats
    isolated: Floats

    def rho(self, throughputs: Floats) -> float:
        """max_i (t_i + rem_i / thr_i) / D_i."""
        return float(
            ((self.elapsed + self.remaining / np.maximum(throughputs, 1e-300)) / self.isolated).max()
        )

    def needed(self, rho: float) -> Floats:
        """thr_i that job i needs to stay at ρ: rem_i / (ρ D_i − t_i)."""
        return self.remaining / (rho * self.isolated - self.elapsed)

    def least(self, prices: Floats, most: float) -> float:
        """Return the least possible ρ: Σ price_i · needed_i(ρ) = most, as Σ price_i thr_i ≤ most.

        The sum falls and is convex in ρ, so Newton's method from the left rises to the root. It starts where
        one job's part alone is ``most``.
        """
        on = prices > 0
        t, r, d, y = self.elapsed[on], self.remaining[on], self.isolated[on], prices[on]
        rho = float(((t + y * r / most) / d).max())
        for _ in range(100):
            part = y * r / (rho * d - t)
            step = (float(part.sum()) - most) / float((part * d / (rho * d - t)).sum())
            if step <= 1e-15 * rho:
                break
            rho += step
        return rho


def _fairest_finish(problem: AllocationProblem, space: Polytope, isolated_rates: Floats) -> Allocation:
    """Minimise max_i ρ_i over F, ρ_i = (t_i + rem_i/thr_i) / (C_i + rem_i/iso_i); weights are not used.

    At the largest ρ proved impossible so far, max λ with thr_i ≥ λ·needed_i(ρ) gives an allocation (an
    upper bound of ρ) and prices, which prove the next lower bound; at the optimum λ = 1.
    """
    able = np.flatnonzero(space.able)
    if not len(able):
        return empty_allocation(problem, space)
    remaining = problem.remaining[able]
    jobs = FinishTimes(
        problem.elapsed_s[able], remaining, problem.isolated_s[able] + remaining / isolated_rates[able]
    )
    low, high, best = 0.0, np.inf, np.zeros(space.variables)
    rho = jobs.rho(isolated_rates[able])
    for _ in range(PROGRAMS):
        rough = high > (1 + NEARLY) * low
        steps = np.zeros(problem.jobs)
        steps[able] = jobs.needed(rho)
        optimum = solve(max_min(space, steps), ROUGH_MU if rough else LAST_MU)
        reached = jobs.rho(space.throughputs(optimum.x)[able])
        if reached < high or not rough:
            high, best = reached, optimum.x
        before, low = low, max(low, jobs.least(_throughput_prices(optimum, able), optimum.bound))
        if not rough and (high <= (1 + CLOSE) * low or low <= before):
            break
        rho = low
    return to_allocation(problem, space, best, high, low)


def _throughput_prices(optimum: Optimum, able: np.ndarray) -> Floats:
    prices: Floats = optimum.prices.throughput[able]
    return prices


def _allocate_fair(problem: AllocationProblem, pack: bool) -> Allocation:
    isolated = (problem.rates * isolated_shares(problem)).sum(axis=1)
    return _fairest_finish(problem, space_of(problem, pack), isolated)


FINISH_TIME = AllocationPolicy(
    name="finish-time-fairness",
    title="Finish-time fairness",
    summary="Minimises the worst ratio ρ of a job's completion time to that on an equal share.",
    source="Mahajan et al., NSDI 2020 (Themis), as in Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Solved to a relative gap of 1e-7, with a bound from the last program's prices. Weights are "
    "not used, as in the public code. Ties as for max-min fairness at the optimal ρ. " + PACKED,
    build=sharing_policy(_allocate_fair),
    settings=SHARING,
    objective="worst ρ: completion time / completion time on an equal share",
    space_sharing=True,
    needs_steps="all jobs",
    style=ChartStyle("#c2410c", "solid", "triangle-up"),
)


def allocate(problem: AllocationProblem) -> Allocation:
    """Finish-time fairness with the job's mean rate over the GPUs on which it can run, on each of them."""
    runs = problem.rates > 0
    mean = (problem.rates @ problem.gpus) / np.maximum(runs @ problem.gpus, 1e-300)
    rates = np.where(runs, mean[:, None], 0.0)
    isolated = (rates * isolated_shares(problem)).sum(axis=1)
    return _fairest_finish(problem, space_of(problem, rates=rates), isolated)


FINISH_TIME_AGNOSTIC = AllocationPolicy(
    name="finish-time-fairness-agnostic",
    title="Finish-time fairness, agnostic",
    summary="Minimises the worst ρ as if every job had its mean rate on all types of GPU.",
    source="Mahajan et al., NSDI 2020 (Themis), as in Narayanan et al., OSDI 2020 (Gavel), section 7",
    adaptation="The public code takes the V100's rate for all types; here it is the job's mean rate over the "
    "GPUs on which it can run. Otherwise as finish-time fairness.",
    build=lambda options: allocate,
    objective="worst ρ by mean rates",
    heterogeneous=False,
    needs_steps="all jobs",
    style=ChartStyle("#e8956b", "dash", "triangle-up-open"),
)
