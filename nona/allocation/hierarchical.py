"""Hierarchical: teams share by weight, exactly by water-filling, then their jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from nona.allocation.centre import solve
from nona.allocation.equal_shares import proportional_shares
from nona.allocation.linear import SHARING
from nona.allocation.polytope import Polytope, polytope, worthwhile_pairs
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem, EntityShare
from nona.allocation.program import max_min, solve_highs
from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import SimulationError
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle

SATURATED = 1e-4  # a job whose level can rise by no more than this part of it is saturated
KEPT = 1 - 1e-7  # of the levels reached, so that rounding makes no program infeasible

Weigh = Callable[[Bools], Floats]
"""(m,) weights of the jobs, from which of them are unsaturated; 0: it does not rise for now."""


@dataclass(frozen=True, eq=False, slots=True)
class WaterLevels:
    """(m,) levels y_i = thr_i / unit_i; the first rise and its dual's bound."""

    levels: Floats
    first: float
    bound: float


def fill(space: Polytope, units: Floats, workers: Floats, weigh: Weigh) -> WaterLevels:
    """Raise sf_i (y_i − ȳ_i) / w_i for all unsaturated jobs alike, again and again, until all are saturated.

    Each round is a program: max c such that thr_i ≥ unit_i (ȳ_i + c w_i / sf_i) for unsaturated jobs and
    thr_i ≥ unit_i ȳ_i for saturated ones, which keep what they have and do not bound c. Then ȳ_i grows by
    c w_i / sf_i. A job is saturated when its level can rise in no allocation that keeps all levels.

    Source: Narayanan et al., OSDI 2020 (Gavel), section 4.3; saturation is found by one program for all
    jobs at a time.
    """
    levels = np.zeros(space.jobs)
    open_ = space.able & (units > 0)
    first = bound = 0.0
    for number in range(space.jobs):
        weights = weigh(open_)
        rising = open_ & (weights > 0)
        if not rising.any():
            break
        steps = np.where(rising, weights / workers, 0.0)
        optimum = solve_highs(max_min(space, steps * units, KEPT * levels * units))
        if number == 0:
            first, bound = optimum.objective, optimum.bound
        reached = space.throughputs(_clipped(space, optimum.x)) / np.where(units > 0, units, 1.0)
        levels = np.minimum(levels + max(0.0, optimum.objective) * steps, reached)
        able = _able_to_rise(space, levels, units, open_)
        if (able == open_).all():  # rounding: what the program proves saturated is
            able = able & ~(optimum.prices.throughput * steps * units > 0.5 / rising.sum())
        open_ = able
    return WaterLevels(levels, first, bound)


def _clipped(space: Polytope, x: Floats) -> Floats:
    """Return x without a solver's excess within its tolerance, so that an allocation gives the levels."""
    inside = np.clip(x, 0.0, 1.0)
    used = space.limit_matrix() @ inside / space.limits
    return inside / max(1.0, float(used.max()))


def _able_to_rise(space: Polytope, levels: Floats, units: Floats, open_: Bools) -> Bools:
    """Find the open jobs that can rise while all levels are kept.

    max Σ ε_i with 0 ≤ ε_i ≤ δ for the jobs in question. All that can rise can rise a little together, so
    that one program finds most of them; the others are asked again until none rises.
    """
    able = np.zeros(space.jobs, np.bool_)
    scale = np.where(space.able, np.maximum(levels, levels[space.able].mean()), 0.0) * units
    some = scale > 0
    matrix = scipy.sparse.csr_array(space.throughput_matrix()[some] * (1.0 / scale[some])[:, None])
    while True:
        asked = np.flatnonzero((open_ & ~able)[some])
        if not asked.size:
            return able
        risen = _rises(space, matrix, (levels * units / np.where(some, scale, 1))[some], asked)
        if not risen.any():
            return able
        able[np.flatnonzero(some)[asked[risen]]] = True


def _rises(space: Polytope, matrix: scipy.sparse.csr_array, floors: Floats, asked: Ints) -> Bools:
    """Find the ``asked`` rows that rise by at least δ/2 in the best allocation.

    δ/2 is SATURATED, or more where the solver's tolerance (1e-7) in all rows together comes to as much.
    """
    least = SATURATED * max(1.0, len(floors) / 250)
    count, n = len(asked), space.variables
    extra = scipy.sparse.csr_array((np.ones(count), (asked, np.arange(count))), shape=(len(floors), count))
    limits = space.limit_matrix()
    empty = scipy.sparse.csr_array((limits.shape[0], count))
    for method in ("highs", "highs-ipm"):  # where the simplex method gives up on rates far apart
        done = scipy.optimize.linprog(
            np.concatenate([np.zeros(n), -np.ones(count)]),
            A_ub=scipy.sparse.vstack(
                [scipy.sparse.hstack([-matrix, extra]), scipy.sparse.hstack([limits, empty])], format="csr"
            ),
            b_ub=np.concatenate([-KEPT * floors, space.limits]),
            bounds=[(0.0, None)] * n + [(0.0, 2 * least)] * count,
            method=method,
        )
        if done.status == 0:
            break
    if done.status != 0:
        raise SimulationError(f"Water-filling: HiGHS stopped ({done.message}); report this problem.")
    return np.asarray(done.x, np.float64)[n:] >= least


@dataclass(frozen=True, eq=False, slots=True)
class TeamWeights:
    """The teams of the jobs; those without one are a team of their own, of weight 1 and fair inside."""

    entities: tuple[EntityShare, ...]
    entity: Ints
    weights: Floats

    def weigh(self, open_: Bools) -> Floats:
        """(m,) W_e · w_i / Σ w of the team's unsaturated jobs; in a FIFO team all W_e for the first of them.

        >>> teams = TeamWeights((EntityShare("a", 2.0),), np.zeros(3, np.int64), np.array([1.0, 3.0, 4.0]))
        >>> teams.weigh(np.array([True, True, False])).tolist()
        [0.5, 1.5, 0.0]
        """
        weights = np.zeros(len(open_))
        for number, team in enumerate(self.entities):
            jobs = np.flatnonzero(open_ & (self.entity == number))
            if not jobs.size:
                continue
            if team.policy == "fifo":
                weights[jobs[0]] = team.weight
            else:
                weights[jobs] = team.weight * self.weights[jobs] / self.weights[jobs].sum()
        return weights


def _teams_of(problem: AllocationProblem) -> TeamWeights:
    entity = problem.entity if problem.entity.size else np.full(problem.jobs, -1, np.int64)
    alone = EntityShare("")
    return TeamWeights(
        (*problem.entities, alone), np.where(entity < 0, len(problem.entities), entity), problem.weights
    )


def _space(problem: AllocationProblem, rates: Floats, pack: bool) -> Polytope:
    if not pack or not len(problem.pairs):
        return polytope(problem.gpus, problem.workers, rates)
    pairs = worthwhile_pairs(rates, problem.workers, problem.pairs, problem.pair_rates)
    return polytope(problem.gpus, problem.workers, rates, *pairs)


def _allocate(problem: AllocationProblem, pack: bool, agnostic: bool) -> Allocation:
    """Levels by water-filling, then shares that reach them: x = argmax min thr_i / (unit_i ȳ_i)."""
    rates = (problem.rates > 0).astype(np.float64) if agnostic else problem.rates
    space = _space(problem, rates, pack and not agnostic)
    units = (proportional_shares(problem) * rates).sum(axis=1)
    if not space.able.any():
        return Allocation(space.rows, space.shares(np.zeros(space.variables)), 0.0, 0.0)
    filled = fill(space, units, problem.workers, _teams_of(problem).weigh)
    shares = solve(max_min(space, filled.levels * units)).x
    return Allocation(space.rows, space.shares(shares), filled.first, filled.bound)


POLICY = AllocationPolicy(
    name="hierarchical",
    title="Hierarchical",
    summary="Teams share the cluster by weight; inside, jobs share fairly or run first in, first out.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.3 (water-filling)",
    adaptation="Jobs without a team are one team of weight 1. Saturated jobs keep their level and no longer "
    "bound the others' rise; the public code's constant for them does where weights are below 1.",
    build=lambda options: partial(_allocate, pack=options["space_sharing"], agnostic=options["agnostic"]),
    settings={
        **SHARING,
        "agnostic": PolicyOption(
            False, "whether all types count as equally fast; jobs then do not share GPUs"
        ),
    },
    objective="first level of the water: least workers · normalised throughput / weight",
    space_sharing=True,
    style=ChartStyle("#cf7a10", "solid", "diamond"),
)
