"""Mean waits of single queues: Pollaczek and Khinchine, processor sharing, Erlang C."""

from __future__ import annotations

import math

from nona.core.errors import SimulationError


def fifo_wait_s(utilization: float, work_moment: float) -> float:
    """Mean wait in an M/G/1 queue, first in first out, non-preemptive.

    Formula: W = λE[S²] / (2(1 − ρ)), ρ = λE[S].

    ``utilization``: ρ, dimensionless. ``work_moment``: λE[S²], seconds; with several streams the sum over
    them.

    Returns seconds; ``inf`` when ρ ≥ 1, and 0 in an empty queue.

    An M/M/1 queue with λ = 0.5/s and E[S] = 1 s waits ρ/(1−ρ)·E[S]; M/D/1 waits half of it:

    >>> fifo_wait_s(0.5, 0.5 * 2.0), fifo_wait_s(0.5, 0.5 * 1.0), fifo_wait_s(1.0, 1.0)
    (1.0, 0.5, inf)

    Source: F. Pollaczek, Mathematische Zeitschrift 32 (1930); L. Kleinrock, Queueing Systems I (1975), 5.6.
    """
    return work_moment / (2.0 * (1.0 - utilization)) if utilization < 1.0 else math.inf


def sharing_stretch(utilization: float) -> float:
    """Return a transfer's delay under processor sharing, over its own time: w = ρ/(1 − ρ).

    The mean response of a job of size s in an M/G/1 processor-sharing queue is s/(1 − ρ), whatever
    the distribution of sizes (L. Kleinrock, Queueing Systems II, 1976, 4.4).

    >>> sharing_stretch(0.75), sharing_stretch(1.2)
    (3.0, inf)
    """
    return utilization / (1.0 - utilization) if utilization < 1.0 else math.inf


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival at an M/M/c queue has to wait.

    Formula: C = B/(1 − ρ(1−B)) with ρ = a/c and Erlang's loss probability by the recursion
    B₀ = 1, Bₖ = aBₖ₋₁/(k + aBₖ₋₁), which cannot overflow.

    ``servers``: c. ``offered``: a = λ·E[S], the mean number of busy servers if none ever waited.

    Raises ``SimulationError`` for fewer than one server, or a negative load.

    >>> round(erlang_c(1, 0.7), 12), round(erlang_c(2, 1.0), 12), erlang_c(3, 3.5)
    (0.7, 0.333333333333, 1.0)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.5.
    """
    if servers < 1 or not offered >= 0:
        raise SimulationError(
            f"Erlang C: servers={servers} must be at least 1 and offered={offered} at least 0; correct them."
        )
    if offered >= servers:
        return 1.0
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))
