"""A policy that is charged for moves: its answer is followed only if it is worth them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.training.moves.charge import worth

_SLACK = 1e-6


def by_job(problem: Problem, answer: Allocation) -> tuple[Floats, Floats]:
    """(m, J) share of time of each job by type, and (m,) its throughput, over single rows and pairs."""
    time, rate = np.zeros_like(problem.rates), np.zeros(problem.jobs)
    number = {(int(a), int(b)): p for p, (a, b) in enumerate(problem.pairs)}
    for row, shares in zip(answer.rows, answer.shares, strict=True):
        for place, job in enumerate(row):
            time[job] += shares
            if len(row) == 1:
                rate[job] += shares @ problem.rates[job]
            else:
                a, b = row
                pair = number.get((a, b), number.get((b, a)))
                first = pair is not None and int(problem.pairs[pair, 0]) == a
                rate[job] += shares @ problem.pair_rates[pair, :, place if first else 1 - place]
    return time, rate


def fits(problem: Problem, answer: Allocation) -> bool:
    """Whether the answer keeps within the GPUs there are: Σ sf x ≤ N for each type."""
    workers = np.array([problem.workers[row[0]] for row in answer.rows])
    return bool((workers @ answer.shares <= problem.gpus * (1 + _SLACK) + _SLACK).all())


class Charger:
    """``move_s`` gives the seconds of a job's move; ``horizon_s``: how long an answer is assumed to hold."""

    def __init__(self, numbers: Mapping[str, int], move_s: Callable[[int], float], horizon_s: float) -> None:
        self._numbers, self._move_s, self._horizon_s = numbers, move_s, horizon_s
        self.answers = self.declined = 0

    def choose(self, problem: Problem, new: Allocation) -> Allocation:
        """The new answer, or the old one where its moves lose more than it gains."""
        self.answers += 1
        if problem.carried is None or not problem.carried.rows:
            return new
        old = Allocation(problem.carried.rows, problem.carried.shares)
        if not fits(problem, old):
            return new
        cost_s = np.array([self._move_s(self._numbers[name]) for name in problem.names])
        normal = problem.rates @ problem.gpus / problem.gpus.sum()
        found = worth(by_job(problem, old), by_job(problem, new), normal, cost_s, self._horizon_s)
        if found.take:
            return new
        self.declined += 1
        return old
