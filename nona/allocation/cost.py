"""Steps per dollar: as many as possible, with or without deadlines."""

from __future__ import annotations

import numpy as np

from nona.allocation.centre import solve
from nona.allocation.linear import PACKED, SHARING, empty_allocation, sharing_policy, space_of, to_allocation
from nona.allocation.polytope import Polytope
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.allocation.program import linear, max_min
from nona.core.arrays import Floats, Ints
from nona.core.registry import ChartStyle
from nona.core.units import duration


def _steps_per_price(problem: AllocationProblem, space: Polytope) -> Floats:
    """(n,) T / cost_j of each variable, both jobs of a pair together."""
    return (space.rate + space.partner_rate) / problem.prices[space.column]


def _min_cost(problem: AllocationProblem, pack: bool) -> Allocation:
    """Maximise Σ T x / cost_j over F."""
    space = space_of(problem, pack)
    if not space.able.any():
        return empty_allocation(problem, space)
    optimum = solve(linear(space, _steps_per_price(problem, space)))
    return to_allocation(problem, space, optimum.x, optimum.objective, optimum.bound)


COST = AllocationPolicy(
    name="cost",
    title="Cost",
    summary="Maximises throughput over price, summed over jobs and types.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="The sum of T·x / price, as in the public code; it does not count how many GPUs a job takes. "
    "Ties as for max-min fairness. " + PACKED,
    build=sharing_policy(_min_cost),
    settings=SHARING,
    objective="Σ throughput / price (steps/s per US dollar/hour)",
    space_sharing=True,
    needs_prices=True,
    style=ChartStyle("#a16207", "dashdot", "pentagon"),
)

ROOM = 1e-7  # of a job's needed throughput, so that deadlines that are kept only just count as kept


def needed(problem: AllocationProblem) -> Floats:
    """(m,) rem_i / seconds left: the throughput that keeps the deadline; ∞ when it has passed, 0 without."""
    left = problem.slo_s
    rate = np.divide(problem.remaining, left, out=np.full(problem.jobs, np.inf), where=left > 0)
    return np.where(np.isnan(left), 0.0, rate)


def _kept_deadlines(space: Polytope, floors: Floats, tightness: Floats) -> Ints:
    """Numbers of the jobs whose deadlines are kept: all, without the fewest of the tightest ones.

    Without more deadlines less is asked, so the fewest to drop are found by bisection.
    """
    order = np.argsort(-tightness, kind="stable")
    order = order[floors[order] > 0]
    low, high = int((tightness[order] > 1 + ROOM).sum()), len(order)
    while low < high:
        middle = (low + high) // 2
        if _possible(space, floors, order[middle:]):
            high = middle
        else:
            low = middle + 1
    return np.sort(order[low:])


def _possible(space: Polytope, floors: Floats, jobs: Ints) -> bool:
    """Return whether all ``jobs`` can get what they need: max λ with thr_i ≥ λ·floor_i is 1 or more."""
    steps = np.zeros(space.jobs)
    steps[jobs] = floors[jobs]
    return not len(jobs) or solve(max_min(space, steps)).bound >= 1.0


def _min_cost_slo(problem: AllocationProblem, pack: bool) -> Allocation:
    space = space_of(problem, pack)
    if not space.able.any():
        return empty_allocation(problem, space)
    floors = needed(problem)
    best = problem.rates.max(axis=1)
    tightness = np.divide(floors, best, out=np.where(floors > 0, np.inf, 0.0), where=best > 0)
    kept = _kept_deadlines(space, floors, tightness)
    least = np.zeros(problem.jobs)
    least[kept] = floors[kept] * (1 - ROOM)
    dropped = np.setdiff1d(np.flatnonzero(floors > 0), kept)
    warnings = tuple(
        f"Job {problem.names[i]!r}: its deadline {_when(problem.slo_s[i])} cannot be kept; "
        f"it was dropped, as the tightest of those left."
        for i in dropped[np.argsort(-tightness[dropped], kind="stable")]
    )
    optimum = solve(linear(space, _steps_per_price(problem, space), least))
    return to_allocation(problem, space, optimum.x, optimum.objective, optimum.bound, warnings)


def _when(left_s: float) -> str:
    """Return the time to a deadline in words.

    >>> _when(20.0), _when(15_685.8), _when(-90.0)
    ('in 20 s', 'in 4 h 21 min', '90 s ago')
    """
    return f"in {duration(left_s)}" if left_s >= 0 else f"{duration(-left_s)} ago"


COST_SLO = AllocationPolicy(
    name="cost-slo",
    title="Cost with SLOs",
    summary="Maximises throughput over price among the allocations that keep all deadlines.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Where not all deadlines can be kept, the public code drops all of them. Here the tightest "
    "are dropped one by one (remaining steps over best rate and seconds left), with a warning. "
    "Ties as for max-min fairness. " + PACKED,
    build=sharing_policy(_min_cost_slo),
    settings=SHARING,
    objective="Σ throughput / price (steps/s per US dollar/hour)",
    space_sharing=True,
    needs_steps="all jobs with an SLO",
    needs_prices=True,
    style=ChartStyle("#ca8a04", "longdashdot", "hexagon"),
)
