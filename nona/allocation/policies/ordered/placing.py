"""Jobs put on GPUs in an order: each takes a type until nothing fits, then pairs may be formed."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from nona.allocation.policies.problem import Allocation, Floats, Problem

PACKED = 1.5  # the least Σ T_pair / T_alone for which a job joins another one

Choose = Callable[[int, Floats], int]
"""Which type a job takes, of the free GPUs of each type; −1: none of those that fit can run it."""


class Placed:
    """Who holds what while jobs are placed.

    ``types``: type by job; ``pairs``: (job that holds the GPUs, job that joined it, type).
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.free = problem.gpus.copy()
        self.types: dict[int, int] = {}
        self.pairs: list[tuple[int, int, int]] = []

    def fits(self, job: int) -> bool:
        """Whether some type has as many free GPUs as the job takes."""
        return bool((self.free >= self.problem.workers[job]).any())

    def put(self, job: int, kind: int) -> None:
        """The job takes GPUs of one type, all the time."""
        self.types[job] = kind
        self.free[kind] -= self.problem.workers[job]

    def allocation(self) -> Allocation:
        """x = 1 for what was placed: singles first, then pairs."""
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


def place_in_order(problem: Problem, order: Iterable[int], choose: Choose, *, pack: bool) -> Allocation:
    """Place jobs in ``order``: each takes the type that ``choose`` names.

    A job that no type with enough free GPUs can run is left out. The first job that fits nowhere ends the
    placing. With ``pack``, it and those after it join placed jobs (:func:`_partner`) until one finds none.
    """
    placed = Placed(problem)
    waiting = iter(order)
    for job in waiting:
        if not placed.fits(job):
            if pack:
                _join(placed, [job, *waiting])
            break
        if (kind := choose(job, placed.free)) >= 0:
            placed.put(job, kind)
    return placed.allocation()


def fastest(problem: Problem) -> Choose:
    """The free type with the job's highest rate; of equal ones the first in alphabetical order."""

    def choose(job: int, free: Floats) -> int:
        rates = np.where(free >= problem.workers[job], problem.rates[job], 0.0)
        kind = int(rates.argmax())
        return kind if rates[kind] > 0 else -1

    return choose


def most_free(problem: Problem) -> Choose:
    """The type with most free GPUs of those that can run the job, without a look at its rates."""

    def choose(job: int, free: Floats) -> int:
        able = np.where((free >= problem.workers[job]) & (problem.rates[job] > 0), free, 0.0)
        kind = int(able.argmax())
        return kind if able[kind] > 0 else -1

    return choose


def _join(placed: Placed, jobs: Iterable[int]) -> None:
    asked = placed.problem
    rates = {(int(a), int(b)): r for (a, b), r in zip(asked.pairs, asked.pair_rates, strict=True)}
    for job in jobs:
        holder = _partner(placed, job, rates)
        if holder is None:
            return
        placed.pairs.append((holder, job, placed.types.pop(holder)))


def _partner(placed: Placed, job: int, rates: dict[tuple[int, int], Floats]) -> int | None:
    """The job, alone on its GPUs, with the largest Σ T_pair / T_alone > 1.5 beside ``job``."""
    best, found = PACKED, None
    alone = placed.problem.rates
    for holder, kind in sorted(placed.types.items()):
        both = rates.get((min(holder, job), max(holder, job)))
        if both is None or not alone[job, kind]:
            continue
        own, other = (both[kind, 0], both[kind, 1]) if holder < job else (both[kind, 1], both[kind, 0])
        gained = float(own / alone[holder, kind] + other / alone[job, kind])
        if own > 0 and other > 0 and gained > best:
            best, found = gained, holder
    return found
