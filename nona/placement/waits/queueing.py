"""Mean waits in queues with Poisson arrivals: Pollaczek–Khinchine, and processor sharing."""

from __future__ import annotations

import math

from nona.system import Stream


def second_moment(stream: Stream) -> float:
    """E[S²] = mean²·(1 + scv) of a background stream's service (s², or bytes² for the link).

    >>> second_moment(Stream(rate=10.0, mean=0.02, scv=1.0))
    0.0008
    """
    return stream.mean**2 * (1.0 + stream.scv)


def fifo_wait_s(utilization: float, work_moment: float) -> float:
    """Mean wait in an M/G/1 queue, first in first out, non-preemptive.

    Formula: W = λE[S²] / (2(1 − ρ)), ρ = λE[S].

    Parameters
    ----------
    utilization
        ρ, dimensionless.
    work_moment
        λE[S²], seconds; with several streams the sum over them.

    Returns
    -------
    float
        Seconds; ``inf`` when ρ ≥ 1, and 0 in an empty queue.

    Examples
    --------
    An M/M/1 queue with λ = 0.5/s and E[S] = 1 s waits ρ/(1−ρ)·E[S]; M/D/1 waits half of it:

    >>> fifo_wait_s(0.5, 0.5 * 2.0), fifo_wait_s(0.5, 0.5 * 1.0), fifo_wait_s(1.0, 1.0)
    (1.0, 0.5, inf)

    References
    ----------
    F. Pollaczek, Mathematische Zeitschrift 32 (1930); L. Kleinrock, Queueing Systems I (1975), 5.6.
    """
    return work_moment / (2.0 * (1.0 - utilization)) if utilization < 1.0 else math.inf


def sharing_stretch(utilization: float) -> float:
    """How much longer a transfer takes under processor sharing: w = ρ/(1 − ρ), times its own time.

    The mean response of a job of size s in an M/G/1 processor-sharing queue is s/(1 − ρ), whatever
    the distribution of sizes (L. Kleinrock, Queueing Systems II, 1976, 4.4).

    >>> sharing_stretch(0.75), sharing_stretch(1.2)
    (3.0, inf)
    """
    return utilization / (1.0 - utilization) if utilization < 1.0 else math.inf
