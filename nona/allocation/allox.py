"""AlloX: jobs matched to places in the GPUs' queues, for the least mean completion time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError
from nona.core.registry import ChartStyle


@dataclass(frozen=True, eq=False, slots=True)
class Matching:
    """(jobs,) type of each job and its place counted from the end of a queue, from 1.

    ``cost``: Σ place · duration, the sum of completion times in seconds; ``bound``: the dual's.
    """

    kinds: Ints
    places: Ints
    cost: float
    bound: float


def _matched(durations: Floats, free: Ints) -> Matching:
    """Each job in one place of a queue; a job p-th from the end delays p jobs, itself included.

    min Σ_i p_i · d_i,type(i), where each of the ``free`` GPUs of a type has one place for each p. Of a type
    with n GPUs ⌈m/n⌉ places each are enough.

    ``durations``: (m, J) seconds of each job on each type. ``free``: (J,) free GPUs; at least one in all.

    >>> found = _matched(np.array([[3.0], [1.0]]), np.array([1]))
    >>> found.places.tolist(), found.cost, found.bound
    ([1, 2], 5.0, 5.0)
    """
    jobs = len(durations)
    deep = [-(-jobs // int(n)) if n else 0 for n in free]
    kinds = np.repeat(np.arange(len(free)), deep)
    places = np.concatenate([np.arange(1, d + 1) for d in deep])
    costs: Floats = durations[:, kinds] * places
    copies = free[kinds]
    columns = np.repeat(np.arange(len(kinds)), copies)
    _, taken = scipy.optimize.linear_sum_assignment(costs[:, columns])
    slots = columns[taken]
    cost = float(costs[np.arange(jobs), slots].sum())
    return Matching(kinds[slots], places[slots], cost, _bound(costs, copies, slots))


def _bound(costs: Floats, copies: Ints, slots: Ints) -> float:
    """Return the dual: max Σ_i min_s (c_is + v_s) − Σ_s n_s v_s over prices v ≥ 0 of the places.

    A place's price is what one more copy of it would save: its new job leaves another place, and so on
    (longest paths). Any v ≥ 0 gives a bound, so rounding makes it no false one.
    """
    count = len(copies)
    saved = np.full((count, count), -np.inf)  # by a move from a place (row) to another (column)
    for slot in np.unique(slots):
        mine = costs[slots == slot]
        saved[slot] = (mine[:, [slot]] - mine).max(axis=0)
    prices = np.zeros(count)
    for _ in range(count):
        better = np.maximum(prices, (prices[:, None] + saved).max(axis=0))
        if np.array_equal(better, prices):
            break
        prices = better
    return float((costs + prices).min(axis=1).sum() - copies @ prices)


SLOWEST = 1e-10  # steps/s of a job on a type that cannot run it
HELD = 1 - 1e-6  # a share from which on a job holds its GPU


def _held_types(problem: AllocationProblem) -> dict[int, int]:
    """Job → type of those that had a GPU all the time in the previous answer; they keep it."""
    if problem.carried is None:
        return {}
    free = problem.gpus.copy()
    kind_of: dict[int, int] = {}
    for row, shares in zip(problem.carried.rows, problem.carried.shares, strict=True):
        kind = int(shares.argmax())
        if len(row) == 1 and shares[kind] >= HELD and free[kind] >= 1:
            kind_of[row[0]] = kind
            free[kind] -= 1
    return kind_of


def _durations_s(problem: AllocationProblem) -> Floats:
    """(m, J) rem_i / T_ij; a type that cannot run the job counts as 1e-10 steps/s."""
    rates = np.where(problem.rates > 0, problem.rates, SLOWEST)
    durations_s: Floats = problem.remaining[:, None] / rates
    return durations_s


def _first_jobs(matching: Matching, durations: Floats) -> list[tuple[int, int]]:
    """Return (waiting job, type) of those that start now: the first of each GPU's queue.

    A job p-th from the end on its type is first unless one of the next place is before it on its GPU. Which
    of the jobs of a place it is changes no completion time: those that are done soonest start.
    """
    first = []
    for kind in range(durations.shape[1]):
        places: dict[int, list[int]] = {}
        for job in np.flatnonzero(matching.kinds == kind).tolist():
            places.setdefault(int(matching.places[job]), []).append(job)
        for place, jobs in places.items():
            jobs.sort(key=lambda job: (durations[job, kind], job))
            first += [(job, kind) for job in jobs[: len(jobs) - len(places.get(place + 1, ()))]]
    return first


def _allocate(problem: AllocationProblem) -> Allocation:
    if (problem.workers > 1).any():
        name = problem.names[int((problem.workers > 1).argmax())]
        raise SimulationError(
            f"Policy 'allox': job {name!r} takes more than one GPU, and AlloX places jobs with one; "
            "choose another policy."
        )
    kept = _held_types(problem)
    free = problem.gpus.astype(np.int64)
    for kind in kept.values():
        free[kind] -= 1
    shares = np.zeros(problem.rates.shape)
    for job, kind in kept.items():
        shares[job, kind] = 1.0
    waiting = np.array([i for i in range(problem.jobs) if i not in kept], dtype=np.int64)
    rows = tuple((i,) for i in range(problem.jobs))
    if not waiting.size or not free.sum():
        return Allocation(rows, shares)
    durations = _durations_s(problem)[waiting]
    matching = _matched(durations, free)
    for job, kind in _first_jobs(matching, durations):
        if problem.rates[waiting[job], kind] > 0:
            shares[waiting[job], kind] = 1.0
    return Allocation(rows, shares, matching.cost, matching.bound)


POLICY = AllocationPolicy(
    name="allox",
    title="AlloX",
    summary="Matches waiting jobs to places in the GPUs' queues so that the mean completion time is least.",
    source="Le et al., EuroSys 2020 (AlloX), as the public simulator of Gavel has it",
    adaptation="Jobs with one GPU only. Of jobs whose order changes no completion time, the one that is done "
    "soonest starts (ours). A job that no type can run gets no GPU.",
    build=lambda options: _allocate,
    objective="sum of the times in which waiting jobs complete on the free GPUs, s",
    needs_steps="all jobs",
    style=ChartStyle("#d1434b", "longdashdot", "triangle-left"),
)
