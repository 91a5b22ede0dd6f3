"""Workers handed out one by one, each to the job and type of the largest gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nona.allocation.policies.problem import Floats, Ints

#: gains(throughputs (m, 1), throughputs with one more worker (m, J)) -> (m, J) what each of them gains.
Gains = Callable[[Floats, Floats], Floats]


def hand_out(rates: Floats, workers: Ints, gains: Gains, start: Ints | None = None) -> Ints:
    """(m, J) Workers of each job: the next one goes to the largest gain above 0, of equals to the first.

    Where the gains are decreasing and there is one type, no other way has a larger sum of gains.

    Parameters
    ----------
    rates
        (m, J) steps/s of a job on one worker of each type; 0: cannot run there. Throughputs add up.
    workers
        (J,) workers of each type.
    start
        (m, J) what each job has before.
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
