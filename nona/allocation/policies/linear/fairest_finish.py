"""min max ρ over F: a few linear programs, each of which proves a lower bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nona.allocation.policies.linear.question import nothing, told
from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.allocation.programs.centre import LAST_MU
from nona.allocation.programs.polytope import Polytope
from nona.allocation.programs.program import Optimum, max_min
from nona.allocation.programs.solve import solve

PROGRAMS = 40
CLOSE = 1e-7  # relative gap at which to stop
NEARLY, ROUGH_MU = 1e-3, 1e-7  # above this gap programs are solved roughly


class Finish(NamedTuple):
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
        """The ρ at which Σ price_i · needed_i(ρ) = most: no smaller ρ is possible if Σ price_i thr_i ≤ most.

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


def fairest_finish(problem: Problem, space: Polytope, isolated_rates: Floats) -> Allocation:
    """min over F of max_i ρ_i, ρ_i = (t_i + rem_i/thr_i) / (C_i + rem_i/iso_i); weights are not used.

    At the largest ρ proved impossible so far, max λ with thr_i ≥ λ·needed_i(ρ) gives an allocation (an
    upper bound of ρ) and prices, which prove the next lower bound; at the optimum λ = 1.
    """
    able = np.flatnonzero(space.able)
    if not len(able):
        return nothing(problem, space)
    remaining = problem.remaining[able]
    jobs = Finish(
        problem.elapsed_s[able], remaining, problem.isolated_s[able] + remaining / isolated_rates[able]
    )
    low, high, best = 0.0, np.inf, np.zeros(space.variables)
    rho = jobs.rho(isolated_rates[able])
    for _ in range(PROGRAMS):
        rough = high > (1 + NEARLY) * low
        steps = np.zeros(problem.jobs)
        steps[able] = jobs.needed(rho)
        found = solve(max_min(space, steps), ROUGH_MU if rough else LAST_MU)
        reached = jobs.rho(space.throughputs(found.x)[able])
        if reached < high or not rough:
            high, best = reached, found.x
        before, low = low, max(low, jobs.least(_throughput_prices(found, able), found.bound))
        if not rough and (high <= (1 + CLOSE) * low or low <= before):
            break
        rho = low
    return told(problem, space, best, high, low)


def _throughput_prices(found: Optimum, able: np.ndarray) -> Floats:
    prices: Floats = found.prices.throughput[able]
    return prices
