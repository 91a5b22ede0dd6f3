"""Open networks of exponential stations: tandem queues, and Jackson's theorem."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.errors import SimulationError
from nona.simulation.theory.single import mm1_jct_s, mmc_jct_s


def tandem_jct_s(rate: float, means_s: Sequence[float]) -> float:
    """Mean time through exponential single-server queues in series.

    Formula: Σ 1/(μᵢ−λ): the departures of an M/M/1 queue are Poisson again. Raises as
    :func:`mm1_jct_s`.

    >>> round(tandem_jct_s(5.0, [0.1, 0.1]), 12)
    0.4

    Source: Burke, The Output of a Queueing System, Operations Research 1956; Jackson, Networks of
    Waiting Lines, Operations Research 1957.
    """
    return sum(mm1_jct_s(rate, m) for m in means_s)


def traffic_rates(external: ArrayLike, routing: ArrayLike) -> NDArray[np.float64]:
    """Arrivals per second at each station of an open network, from outside and from other stations.

    Formula: λ = γ + Pᵀλ, so λ = (I − Pᵀ)⁻¹γ.

    Parameters
    ----------
    external : (n,)
        γ, arrivals from outside, 1/s.
    routing : (n, n)
        P[i, j], the probability that a job goes on to station j when it leaves i; what a row
        lacks to 1 leaves the network.

    Raises
    ------
    SimulationError
        For wrong shapes, negative numbers, rows above 1, or jobs that never leave.

    Examples
    --------
    Half of the jobs that leave the second station go back to the first:

    >>> traffic_rates([3.0, 0.0], [[0.0, 1.0], [0.5, 0.0]]).tolist()
    [6.0, 6.0]

    Source: Jackson, Networks of Waiting Lines, Operations Research 1957.
    """
    gamma, p = np.asarray(external, dtype=float), np.asarray(routing, dtype=float)
    n = gamma.size
    if gamma.ndim != 1 or n == 0 or p.shape != (n, n):
        raise SimulationError(
            f"Traffic equations: routing of shape {p.shape} must be (n, n) for external of shape "
            f"{gamma.shape}; give one row and one column per station."
        )
    if not (gamma >= 0).all() or not (p >= 0).all() or not (p.sum(axis=1) <= 1 + 1e-12).all():
        raise SimulationError(
            "Traffic equations: rates and probabilities must be at least 0 and no row of routing above 1; "
            "correct the numbers."
        )
    if not max(abs(np.linalg.eigvals(p))) < 1 - 1e-12:
        raise SimulationError(
            "Traffic equations: some jobs never leave, so there must be a way out of every station; lower "
            "a probability of routing."
        )
    rates: NDArray[np.float64] = np.linalg.solve(np.eye(n) - p.T, gamma)
    return rates


def jackson_jct_s(
    external: ArrayLike, routing: ArrayLike, means_s: Sequence[float], servers: Sequence[int] = ()
) -> float:
    """Mean time from arrival to departure in an open network of exponential stations.

    Formula: T = Σᵢ λᵢTᵢ / Σᵢ γᵢ with λ of :func:`traffic_rates` and Tᵢ the mean time in an M/M/cᵢ
    queue with arrivals λᵢ: the stations have the product form, as if each stood alone. It holds
    as well for several classes of jobs with routes of their own, if at each station all have the
    same exponential service; P then holds the shares over all classes.

    Parameters
    ----------
    external, routing
        As in :func:`traffic_rates`, which says what is refused.
    means_s : (n,)
        Mean service at each station, seconds.
    servers : (n,)
        cᵢ; by default one each.

    Examples
    --------
    >>> round(jackson_jct_s([5.0, 0.0], [[0.0, 1.0], [0.0, 0.0]], [0.1, 0.1]), 12)
    0.4
    >>> round(jackson_jct_s([3.0], [[0.5]], [0.1]), 12)
    0.5

    Source: Jackson, Jobshop-like Queueing Systems, Management Science 1963; for classes Baskett,
    Chandy, Muntz and Palacios, Journal of the ACM 1975, and Kelly, Networks of Queues with Customers
    of Different Types, J. Applied Probability 1975.
    """
    rates = traffic_rates(external, routing).tolist()
    counts = tuple(servers) or (1,) * len(rates)
    if len(means_s) != len(rates) or len(counts) != len(rates):
        raise SimulationError(
            f"Jackson network: {len(means_s)} means and {len(counts)} numbers of servers must be as many as "
            f"the {len(rates)} stations; give one for each."
        )
    outside = float(np.sum(external))
    if not outside > 0:
        raise SimulationError(
            f"Jackson network: arrivals of {outside} /s must be above 0; give a positive rate."
        )
    jobs = 0.0  # in the network on average, which Little's law turns into a time
    for rate, mean_s, count in zip(rates, means_s, counts, strict=True):
        jobs += rate * mmc_jct_s(rate, mean_s, count) if rate > 0 else 0.0
    return jobs / outside if math.isfinite(jobs) else math.inf
