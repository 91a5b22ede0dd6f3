"""A single station, first come first served: M/M/1, M/D/1, M/G/1, M/M/c."""

from __future__ import annotations

import math

from nona.errors import SimulationError
from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.simulation.theory.inputs import check_positive
from nona.system import Stream


def mg1_jct_s(rate: float, mean_s: float, scv: float = 1.0) -> float:
    """Mean time in an M/G/1 queue: wait and service.

    Formula: T = E[S] + λE[S²]/(2(1−ρ)), E[S²] = E[S]²(1+scv), ρ = λE[S].

    Parameters
    ----------
    rate
        Poisson arrivals λ, 1/s.
    mean_s, scv
        Mean (s) and squared coefficient of variation of the service time.

    Raises
    ------
    SimulationError
        For a rate or a mean that is not above 0, or an scv below 0.

    Examples
    --------
    >>> round(mg1_jct_s(8.0, 0.1), 12), round(mg1_jct_s(5.0, 0.1, scv=0.0), 12), mg1_jct_s(10.0, 0.1)
    (0.5, 0.15, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6 (Pollaczek–Khinchine).
    """
    check_positive(rate=rate, mean_s=mean_s)
    if not scv >= 0:
        raise SimulationError(f"M/G/1: scv={scv} must be at least 0; 0 is a constant service time.")
    return mean_s + fifo_wait_s(rate * mean_s, rate * second_moment(Stream(rate, mean_s, scv)))


def mm1_jct_s(rate: float, mean_s: float) -> float:
    """Mean time in an M/M/1 queue.

    Formula: T = 1/(μ−λ) = E[S]/(1−ρ), μ = 1/E[S]. Raises as :func:`mg1_jct_s`.

    >>> round(mm1_jct_s(8.0, 0.1), 12), mm1_jct_s(10.0, 0.1)
    (0.5, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.2.
    """
    check_positive(rate=rate, mean_s=mean_s)
    utilization = rate * mean_s
    return mean_s / (1 - utilization) if utilization < 1 else math.inf


def md1_jct_s(rate: float, service_s: float) -> float:
    """Mean time in an M/D/1 queue: every service takes ``service_s``.

    Formula: T = s·(2−ρ)/(2(1−ρ)), ρ = λs. Raises as :func:`mg1_jct_s`.

    >>> round(md1_jct_s(5.0, 0.1), 12), md1_jct_s(10.0, 0.1)
    (0.15, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6.
    """
    check_positive(rate=rate, service_s=service_s)
    utilization = rate * service_s
    return service_s * (2 - utilization) / (2 * (1 - utilization)) if utilization < 1 else math.inf


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

    Raises
    ------
    SimulationError
        For fewer than one server, or a negative load.

    Examples
    --------
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


def mmc_jct_s(rate: float, mean_s: float, servers: int) -> float:
    """Mean time in an M/M/c queue: one line, ``servers`` alike.

    Formula: T = E[S] + C(c, a)·E[S]/(c − a), a = λE[S], C by :func:`erlang_c`, which says what it
    refuses.

    >>> round(mmc_jct_s(8.0, 0.1, 1), 12), round(mmc_jct_s(10.0, 0.1, 2), 12)
    (0.5, 0.133333333333)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.5.
    """
    check_positive(rate=rate, mean_s=mean_s)
    offered = rate * mean_s
    waits = erlang_c(servers, offered)
    return mean_s + waits * mean_s / (servers - offered) if offered < servers else math.inf
