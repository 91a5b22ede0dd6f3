"""What queueing theory says of small systems, to hold the simulation against.

All answers are mean seconds in steady state, and ``inf`` where there is none (utilisation ≥ 1).
Waits in M/G/1 queues come from :mod:`nona.placement.queueing`, which the placement uses as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from nona.errors import SimulationError
from nona.placement.queueing import fifo_wait_s, second_moment
from nona.system import Stream


def mg1_jct_s(rate: float, mean_s: float, scv: float = 1.0) -> float:
    """Mean time in an M/G/1 queue: wait and service.

    Formula: T = E[S] + λE[S²]/(2(1−ρ)), E[S²] = E[S]²(1+scv), ρ = λE[S]. With ``scv`` 1 this is
    M/M/1, where T = 1/(μ−λ); with 0 it is M/D/1.

    Parameters
    ----------
    rate
        Poisson arrivals λ, 1/s.
    mean_s, scv
        Mean (s) and squared coefficient of variation of the service time.

    Examples
    --------
    >>> round(mg1_jct_s(8.0, 0.1), 12), round(mg1_jct_s(5.0, 0.1, scv=0.0), 12), mg1_jct_s(10.0, 0.1)
    (0.5, 0.15, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6 (Pollaczek–Khinchine).
    """
    _positive(rate=rate, mean_s=mean_s)
    return mean_s + fifo_wait_s(rate * mean_s, rate * second_moment(Stream(rate, mean_s, scv)))


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival at an M/M/c queue has to wait.

    Formula: C = B/(1 − ρ(1−B)) with ρ = a/c and Erlang's loss probability by the recursion
    B₀ = 1, Bₖ = aBₖ₋₁/(k + aBₖ₋₁), which cannot overflow.

    Parameters
    ----------
    servers
        c.
    offered
        a = λ·E[S], the mean number of busy servers if none ever waited.

    Examples
    --------
    >>> round(erlang_c(1, 0.7), 12), round(erlang_c(2, 1.0), 12), erlang_c(3, 3.5)
    (0.7, 0.333333333333, 1.0)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.5.
    """
    if servers < 1 or offered < 0:
        raise SimulationError(
            f"Erlang C: servers={servers} must be at least 1 and offered={offered} at least 0; give a "
            "queue that exists."
        )
    if offered >= servers:
        return 1.0
    blocked = 1.0
    for k in range(1, servers + 1):
        blocked = offered * blocked / (k + offered * blocked)
    return blocked / (1 - offered / servers * (1 - blocked))


def mmc_jct_s(rate: float, mean_s: float, servers: int) -> float:
    """Mean time in an M/M/c queue: one line, ``servers`` alike.

    Formula: T = E[S] + C(c, a)·E[S]/(c − a), a = λE[S], C by :func:`erlang_c`.

    >>> round(mmc_jct_s(8.0, 0.1, 1), 12), round(mmc_jct_s(10.0, 0.1, 2), 12)
    (0.5, 0.133333333333)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.5.
    """
    _positive(rate=rate, mean_s=mean_s)
    offered = rate * mean_s
    if offered >= servers:
        return math.inf
    return mean_s + erlang_c(servers, offered) * mean_s / (servers - offered)


def tandem_jct_s(rate: float, means_s: Sequence[float]) -> float:
    """Mean time through exponential single-server queues in series.

    Formula: Σ 1/(μᵢ−λ): the departures of an M/M/1 queue are Poisson again.

    >>> round(tandem_jct_s(5.0, [0.1, 0.1]), 12)
    0.4

    Source: Burke, The Output of a Queueing System, Operations Research 1956; Jackson, Networks of
    Waiting Lines, Operations Research 1957.
    """
    return sum(mg1_jct_s(rate, m) for m in means_s)


def fork_join_two_jct_s(rate: float, mean_s: float) -> float:
    """Mean time of a job that forks to two exponential single-server queues and joins: exact.

    Formula: T = (12−ρ)/8 · 1/(μ−λ), ρ = λ/μ.

    >>> round(fork_join_two_jct_s(4.0, 0.1), 6)
    0.241667

    Source: Flatto and Hahn, SIAM J. Applied Mathematics 1984; Nelson and Tantawi, Approximate Analysis
    of Fork/Join Synchronization in Parallel Queues, IEEE Trans. Computers 1988.
    """
    utilization = rate * mean_s
    return (12 - utilization) / 8 * mg1_jct_s(rate, mean_s)


def fork_join_bounds_s(rate: float, mean_s: float, branches: int) -> tuple[float, float]:
    """Bounds for the mean time of a job that forks to K exponential single-server queues and joins.

    Upper: H_K/(μ−λ), H_K = 1 + 1/2 + … + 1/K: the branches share their arrivals, so their times are
    associated and their maximum is less than that of independent ones. Lower: the same queues with
    evenly spaced arrivals, H_K/(μ(1−σ)) with σ = exp(−(1−σ)/ρ); and no less than a job of two
    branches. One branch: both are exact.

    >>> low, high = fork_join_bounds_s(4.0, 0.1, 2)
    >>> round(low, 4), round(high, 4)
    (0.2417, 0.25)

    Source: Nelson and Tantawi, IEEE Trans. Computers 1988; Baccelli, Makowski and Shwartz, The
    Fork-Join Queue and Related Systems, Advances in Applied Probability 1989.
    """
    _positive(rate=rate, mean_s=mean_s)
    if branches < 1:
        raise SimulationError(f"Fork-join: branches={branches} must be at least 1; give a whole number.")
    single = mg1_jct_s(rate, mean_s)
    if branches == 1 or math.isinf(single):
        return single, single
    harmonic = sum(1 / k for k in range(1, branches + 1))
    evenly = harmonic * mean_s / (1 - _dm1_root(rate * mean_s))
    return max(evenly, fork_join_two_jct_s(rate, mean_s)), harmonic * single


def link_wait_s(capacity: float, streams: Iterable[Stream]) -> float:
    """Mean wait of a message at a first-come-first-served link with Poisson arrivals.

    Formula: W = ΣλE[X²]/C² / (2(1−ΣλE[X]/C)) over the streams, E[X²] = E[X]²(1+scv).

    Parameters
    ----------
    capacity
        C, bytes/s.
    streams
        Message streams: rate (1/s), mean size (bytes), scv of the size.

    Examples
    --------
    >>> link_wait_s(1e6, [Stream(rate=0.5, mean=1e6, scv=0.0)])
    0.5

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6.
    """
    _positive(capacity=capacity)
    listed = tuple(streams)
    utilization = sum(s.rate * s.mean for s in listed) / capacity
    return fifo_wait_s(utilization, sum(s.rate * second_moment(s) for s in listed) / capacity**2)


def _dm1_root(utilization: float) -> float:
    """σ in (0, 1) with σ = exp(−(1−σ)/ρ), by bisection to the last bit that matters."""
    low, high = 0.0, 1.0 - 1e-12
    for _ in range(200):
        middle = (low + high) / 2
        if math.exp(-(1 - middle) / utilization) > middle:
            low = middle
        else:
            high = middle
    return low


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not value > 0:
            raise SimulationError(f"Queueing theory: {name}={value} must be above 0; give a positive number.")
