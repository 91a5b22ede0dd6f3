"""Optimus and Pollux: whole workers, each to the job and type of the largest gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nona.core.arrays import Floats, Ints

#: gains(throughputs (m, 1), throughputs with one more worker (m, J)) -> (m, J) what each of them gains.
Gains = Callable[[Floats, Floats], Floats]


def _hand_out(rates: Floats, workers: Ints, gains: Gains, start: Ints | None = None) -> Ints:
    """(m, J) Workers of each job: the next one goes to the largest gain above 0, of equals to the first.

    Where the gains are decreasing and there is one type, no other way has a larger sum of gains.

    ``rates``: (m, J) steps/s of a job on one worker of each type; 0: cannot run there. Throughputs add up.
    ``workers``: (J,) workers of each type. ``start``: (m, J) what each job has before.
    """
    given = np.zeros(rates.shape, np.int64) if start is None else start.copy()
    free = workers - given.sum(axis=0)
    while True:
        has = (given * rates).sum(axis=1, keepdims=True)
        gain = np.where((rates > 0) & (free > 0), gains(has, has + rates), 0.0)
        best = int(np.argmax(gain)) if gain.size else -1
        if best < 0 or not gain.flat[best] > 0:
            return given
        job, kind = divmod(best, rates.shape[1])
        given[job, kind] += 1
        free[kind] -= 1


def one_each(rates: Floats, workers: Ints) -> Ints:
    """(m, J) One worker for each job, in order, of the free type on which it is fastest."""
    given, free = np.zeros(rates.shape, np.int64), workers.copy()
    for job, row in enumerate(np.where(rates > 0, rates, -1.0)):
        kind = int(np.argmax(np.where(free > 0, row, -1.0)))
        if free[kind] > 0 and row[kind] > 0:
            given[job, kind] = 1
            free[kind] -= 1
    return given


def marginal_gains(remaining: Floats, rates: Floats, workers: Ints) -> Ints:
    """(m, J) Workers by marginal gains: one for each job, then one at a time to the largest gain.

    The gain of a worker is the remaining time that it saves, rem·(1/thr − 1/thr'), thr being the sum of
    the rates of the job's workers (Peng et al., EuroSys 2018, section 4; one each first, as the public
    simulator of Pollux has it).

    ``remaining``: (m,) steps left. ``rates``, ``workers``: as of
    :func:`~nona.allocation.whole_workers._hand_out`.

    With one type and equal rates, workers grow as the square root of what is left:

    >>> marginal_gains(np.array([1.0, 4.0]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[2, 4]]
    """

    def gains(has: Floats, after: Floats) -> Floats:
        left = remaining[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            gained: Floats = np.where(has > 0, left / has - left / after, 0.0)
        return gained

    return _hand_out(rates, workers, gains, one_each(rates, workers))


LEAST = 1e-3  # added to a speed-up, as in the public code, so that one of 0 has a value


def fairest_goodputs(most: Floats, rates: Floats, workers: Ints) -> Ints:
    """(m, J) Workers that maximise [mean 1/(s + 0.001)]⁻¹ over the jobs' speed-ups s.

    s is the goodput over that on an equal part of all workers; the goodput is the throughput up to
    ``most``, i.e. with a statistical efficiency of 1 (Qiao et al., OSDI 2021, section 4.2, with power −1).
    The public code searches by a genetic algorithm; handing out one by one is exact for one type, as
    1/(s + 0.001) is convex in the workers.

    ``most``: (m,) steps/s that a job can use; ∞: any. ``rates``, ``workers``: as of
    :func:`~nona.allocation.whole_workers._hand_out`.

    >>> fairest_goodputs(np.array([np.inf, np.inf]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[3, 3]]
    >>> fairest_goodputs(np.array([1.0, np.inf]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[1, 5]]
    """
    equal = rates @ (workers / max(len(rates), 1))
    unit = np.where(equal > 0, equal, 1.0)[:, None]

    def unfairness(throughputs: Floats) -> Floats:
        inverse: Floats = 1.0 / (np.minimum(throughputs, most[:, None]) / unit + LEAST)
        return inverse

    return _hand_out(rates, workers, lambda has, after: unfairness(has) - unfairness(after))
