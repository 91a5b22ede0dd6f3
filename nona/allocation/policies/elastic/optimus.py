"""Optimus: every worker goes where it shortens the remaining time most."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.elastic.handing import hand_out
from nona.allocation.policies.problem import Floats, Ints


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

    Parameters
    ----------
    remaining
        (m,) steps left.
    rates, workers
        As of :func:`~nona.allocation.policies.elastic.handing.hand_out`.

    Examples
    --------
    With one type and equal rates, workers grow as the square root of what is left:

    >>> marginal_gains(np.array([1.0, 4.0]), np.ones((2, 1)), np.array([6])).T.tolist()
    [[2, 4]]
    """

    def gains(has: Floats, after: Floats) -> Floats:
        left = remaining[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.where(has > 0, left / has - left / after, 0.0)
        return found

    return hand_out(rates, workers, gains, one_each(rates, workers))
