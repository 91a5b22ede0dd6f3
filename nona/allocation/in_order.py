"""FIFO and shortest job first: jobs put on GPUs one after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem, Allocator
from nona.core.arrays import Floats, Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle

PACKED = 1.5  # the least Σ T_pair / T_alone for which a job joins another one

Choose = Callable[[int, Floats], int]
"""Choice of a job's type, from the free GPUs of each type; −1: none of those that fit can run it."""


class PlacingJobs:
    """Jobs on GPUs while they are placed.

    ``types``: type by job; ``pairs``: (job that holds the GPUs, job that joined it, type).
    """

    def __init__(self, problem: AllocationProblem) -> None:
        self.problem = problem
        self.free = problem.gpus.copy()
        self.types: dict[int, int] = {}
        self.pairs: list[tuple[int, int, int]] = []

    def fits(self, job: int) -> bool:
        """Return whether some type has as many free GPUs as the job takes."""
        return bool((self.free >= self.problem.workers[job]).any())

    def assign(self, job: int, kind: int) -> None:
        """Give the job GPUs of one type, all the time."""
        self.types[job] = kind
        self.free[kind] -= self.problem.workers[job]

    def allocation(self) -> Allocation:
        """Return x = 1 for the placed jobs: singles first, then pairs."""
        problem = self.problem
        joined = [(min(a, b), max(a, b), kind) for a, b, kind in self.pairs]
        paired = {job for a, b, _ in joined for job in (a, b)}
        shares = np.zeros((problem.jobs + len(joined), len(problem.types)))
        for job, kind in self.types.items():
            if job not in paired:
                shares[job, kind] = 1.0
        for row, (_, _, kind) in enumerate(joined, problem.jobs):
            shares[row, kind] = 1.0
        singles = tuple((i,) for i in range(problem.jobs))
        return Allocation((*singles, *((a, b) for a, b, _ in joined)), shares)


def _place_in_order(
    problem: AllocationProblem, order: Iterable[int], choose: Choose, *, pack: bool
) -> Allocation:
    """Place jobs in ``order``: each takes the type that ``choose`` names.

    A job that no type with enough free GPUs can run is left out. The first job that fits nowhere ends the
    placing. With ``pack``, it and those after it join placed jobs (:func:`_partner`) until one finds none.
    """
    placed = PlacingJobs(problem)
    waiting = iter(order)
    for job in waiting:
        if not placed.fits(job):
            if pack:
                _join(placed, [job, *waiting])
            break
        if (kind := choose(job, placed.free)) >= 0:
            placed.assign(job, kind)
    return placed.allocation()


def fastest(problem: AllocationProblem) -> Choose:
    """Return the free type with the job's highest rate; of equal ones the first in alphabetical order."""

    def choose(job: int, free: Floats) -> int:
        rates = np.where(free >= problem.workers[job], problem.rates[job], 0.0)
        kind = int(rates.argmax())
        return kind if rates[kind] > 0 else -1

    return choose


def _most_free(problem: AllocationProblem) -> Choose:
    """Return the type with most free GPUs of those that can run the job, without a look at its rates."""

    def choose(job: int, free: Floats) -> int:
        able = np.where((free >= problem.workers[job]) & (problem.rates[job] > 0), free, 0.0)
        kind = int(able.argmax())
        return kind if able[kind] > 0 else -1

    return choose


def _join(placed: PlacingJobs, jobs: Iterable[int]) -> None:
    asked = placed.problem
    rates = {(int(a), int(b)): r for (a, b), r in zip(asked.pairs, asked.pair_rates, strict=True)}
    for job in jobs:
        holder = _partner(placed, job, rates)
        if holder is None:
            return
        placed.pairs.append((holder, job, placed.types.pop(holder)))


def _partner(placed: PlacingJobs, job: int, rates: dict[tuple[int, int], Floats]) -> int | None:
    """Return the job, alone on its GPUs, with the largest Σ T_pair / T_alone > 1.5 beside ``job``."""
    best, partner = PACKED, None
    alone = placed.problem.rates
    for holder, kind in sorted(placed.types.items()):
        both = rates.get((min(holder, job), max(holder, job)))
        if both is None or not alone[job, kind]:
            continue
        own, other = (both[kind, 0], both[kind, 1]) if holder < job else (both[kind, 1], both[kind, 0])
        gained = float(own / alone[holder, kind] + other / alone[job, kind])
        if own > 0 and other > 0 and gained > best:
            best, partner = gained, holder
    return partner


_SETTINGS = {
    "space_sharing": PolicyOption(False, "whether waiting jobs may join running ones on the same GPUs")
}


def _fifo(options: Mapping[str, Any]) -> Allocator:
    pack = options["space_sharing"]

    def allocate(problem: AllocationProblem) -> Allocation:
        return _place_in_order(problem, range(problem.jobs), fastest(problem), pack=pack)

    return allocate


FIFO = AllocationPolicy(
    name="fifo",
    title="FIFO",
    summary="Runs jobs in order of arrival, each on the free GPU type that is fastest for it.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4; rules of its public simulator",
    adaptation="Decided at every reallocation, so jobs may move. With space sharing a waiting job joins "
    "the running one with the largest Σ T_pair / T_alone, if that is above 1.5.",
    build=_fifo,
    settings=_SETTINGS,
    space_sharing=True,
    needs_share=True,
    style=ChartStyle("#8390a6", "dash", "hexagon"),
)


def _allocate(problem: AllocationProblem) -> Allocation:
    return _place_in_order(problem, range(problem.jobs), _most_free(problem), pack=False)


FIFO_AGNOSTIC = AllocationPolicy(
    name="fifo-agnostic",
    title="FIFO, agnostic",
    summary="Runs jobs in order of arrival, each on the type with most free GPUs that can run it.",
    source="Narayanan et al., OSDI 2020 (Gavel), the agnostic baseline of FIFO",
    adaptation="The type is our choice: which one the paper takes is not known to us, and its public code "
    "puts all jobs on one type.",
    build=lambda options: _allocate,
    heterogeneous=False,
    needs_share=True,
    style=ChartStyle("#8390a6", "dot", "hexagon-open"),
)


def shortest_first(problem: AllocationProblem) -> Ints:
    """Jobs by rem_i / max_j T_ij, then by number; those that run nowhere are last."""
    best = problem.rates.max(axis=1)
    left = np.divide(problem.remaining, best, out=np.full(problem.jobs, np.inf), where=best > 0)
    return np.argsort(left, kind="stable")


def _sjf(options: Mapping[str, Any]) -> Allocator:
    pack = options["space_sharing"]

    def allocate(problem: AllocationProblem) -> Allocation:
        return _place_in_order(problem, shortest_first(problem).tolist(), fastest(problem), pack=pack)

    return allocate


SJF = AllocationPolicy(
    name="sjf",
    title="Shortest job first",
    summary="Runs the jobs with the least time left on their fastest GPU type first.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2, from memory",
    adaptation="The paper's problem (least time left of a single job) says nothing about the other jobs, "
    "and no public code has it. Ours: FIFO's placing, in order of remaining steps over the best rate.",
    build=_sjf,
    settings=_SETTINGS,
    space_sharing=True,
    needs_share=True,
    needs_steps="all jobs",
    style=ChartStyle("#9c6b2f", "dashdot", "star"),
)
