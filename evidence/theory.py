"""Results of queueing theory for small systems, to compare the simulation with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.queueing import erlang_c, fifo_wait_s, sharing_stretch
from nona.queries.placement.queueing import second_moment
from nona.queries.system import BackgroundStream


def _check_positive(**values: float) -> None:
    """Refuse numbers that are not above 0, or not finite.

    >>> _check_positive(rate=0.0)
    Traceback (most recent call last):
    nona.core.errors.SimulationError: Queueing theory: rate=0.0 must be above 0 and finite; give such a \
number.
    """
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise SimulationError(
                f"Queueing theory: {name}={value} must be above 0 and finite; give such a number."
            )


def mg1_jct_s(rate: float, mean_s: float, scv: float = 1.0) -> float:
    """Mean time in an M/G/1 queue: wait and service.

    Formula: T = E[S] + λE[S²]/(2(1−ρ)), E[S²] = E[S]²(1+scv), ρ = λE[S].

    ``rate``: Poisson arrivals λ, 1/s. ``mean_s``, ``scv``: mean (s) and squared coefficient of variation of
    the service time.

    >>> round(mg1_jct_s(8.0, 0.1), 12), round(mg1_jct_s(5.0, 0.1, scv=0.0), 12), mg1_jct_s(10.0, 0.1)
    (0.5, 0.15, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6 (Pollaczek–Khinchine).
    """
    _check_positive(rate=rate, mean_s=mean_s)
    if not scv >= 0:
        raise SimulationError(f"M/G/1: scv={scv} must be at least 0; 0 is a constant service time.")
    return mean_s + fifo_wait_s(rate * mean_s, rate * second_moment(BackgroundStream(rate, mean_s, scv)))


def mm1_jct_s(rate: float, mean_s: float) -> float:
    """Mean time in an M/M/1 queue.

    Formula: T = 1/(μ−λ) = E[S]/(1−ρ), μ = 1/E[S]. Raises as :func:`mg1_jct_s`.

    >>> round(mm1_jct_s(8.0, 0.1), 12), mm1_jct_s(10.0, 0.1)
    (0.5, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.2.
    """
    _check_positive(rate=rate, mean_s=mean_s)
    utilization = rate * mean_s
    return mean_s / (1 - utilization) if utilization < 1 else math.inf


def md1_jct_s(rate: float, service_s: float) -> float:
    """Mean time in an M/D/1 queue: every service takes ``service_s``.

    Formula: T = s·(2−ρ)/(2(1−ρ)), ρ = λs. Raises as :func:`mg1_jct_s`.

    >>> round(md1_jct_s(5.0, 0.1), 12), md1_jct_s(10.0, 0.1)
    (0.15, inf)

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6.
    """
    _check_positive(rate=rate, service_s=service_s)
    utilization = rate * service_s
    return service_s * (2 - utilization) / (2 * (1 - utilization)) if utilization < 1 else math.inf


def mmc_jct_s(rate: float, mean_s: float, servers: int) -> float:
    """Mean time in an M/M/c queue: one line, ``servers`` alike.

    Formula: T = E[S] + C(c, a)·E[S]/(c − a), a = λE[S], C by :func:`erlang_c`, which says what it
    refuses.

    >>> round(mmc_jct_s(8.0, 0.1, 1), 12), round(mmc_jct_s(10.0, 0.1, 2), 12)
    (0.5, 0.133333333333)

    Source: Kleinrock, Queueing Systems I, 1975, section 3.5.
    """
    _check_positive(rate=rate, mean_s=mean_s)
    offered = rate * mean_s
    waits = erlang_c(servers, offered)
    return mean_s + waits * mean_s / (servers - offered) if offered < servers else math.inf


def priority_jct_s(streams: Sequence[BackgroundStream]) -> tuple[float, ...]:
    """Mean time in the system of each class; a service that has begun is never interrupted.

    Formula: Tₖ = E[Sₖ] + W₀/((1−σₖ₋₁)(1−σₖ)) with σₖ = ρ₁ + … + ρₖ, σ₀ = 0, and W₀ = Σ λᵢE[Sᵢ²]/2
    over *all* classes, the mean rest of the service that an arrival finds.

    Where σₖ ≥ 1 for some class, that class and those after it wait for ever. Those before it still
    have a steady state: class k then fills what they leave of the server, so it adds
    (1−σₖ₋₁)·E[Sₖ²]/(2E[Sₖ]) to W₀ in place of λₖE[Sₖ²]/2, and those after it add nothing.

    ``streams``: Poisson arrivals (1/s) with mean (s) and scv of the service, the most urgent class first.

    Of two classes alike with ρ = 0.4 each, M/M/1:

    >>> urgent, other = priority_jct_s([BackgroundStream(0.4, 1.0, 1.0), BackgroundStream(0.4, 1.0, 1.0)])
    >>> round(urgent, 9), round(other, 9)
    (2.333333333, 7.666666667)
    >>> priority_jct_s([BackgroundStream(0.5, 1.0, 0.0), BackgroundStream(1.0, 1.0, 0.0)])
    (2.0, inf)

    Source: Cobham, Priority Assignment in Waiting Line Problems, Operations Research 1954; Kleinrock,
    Queueing Systems II, 1976, section 3.5. The case of a class that cannot be served is derived here.
    """
    if not streams:
        raise SimulationError("Priorities: streams=[] must hold at least one class; give one.")
    for s in streams:
        _check_positive(rate=s.rate, mean_s=s.mean)
    utilization = [s.rate * s.mean for s in streams]
    stable = _stable_classes(utilization)
    rest_s = sum(s.rate * second_moment(s) / 2 for s in streams[:stable])
    if stable < len(streams):
        filler = streams[stable]
        rest_s += (1 - sum(utilization[:stable])) * second_moment(filler) / (2 * filler.mean)
    times = []
    before = 0.0
    for s, own in zip(streams[:stable], utilization[:stable], strict=True):
        times.append(s.mean + rest_s / ((1 - before) * (1 - before - own)))
        before += own
    return (*times, *[math.inf] * (len(streams) - stable))


def _stable_classes(utilization: Sequence[float]) -> int:
    """Count the classes, from the first, that are offered less than the whole server together."""
    total = 0.0
    for number, own in enumerate(utilization):
        total += own
        if total >= 1:
            return number
    return len(utilization)


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


def traffic_rates(external: ArrayLike, routing: ArrayLike) -> Floats:
    """Arrivals per second at each station of an open network, from outside and from other stations.

    Formula: λ = γ + Pᵀλ, so λ = (I − Pᵀ)⁻¹γ.

    ``external`` (n,): γ, arrivals from outside, 1/s. ``routing`` (n, n): p[i, j], the probability that a job
    goes on to station j when it leaves i; what a row lacks to 1 leaves the network.

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
    rates: Floats = np.linalg.solve(np.eye(n) - p.T, gamma)
    return rates


def jackson_jct_s(external: ArrayLike, routing: ArrayLike, means_s: Sequence[float]) -> float:
    """Mean time from arrival to departure in an open network of exponential stations.

    Formula: T = Σᵢ λᵢTᵢ / Σᵢ γᵢ with λ of :func:`traffic_rates` and Tᵢ the mean time in an M/M/1
    queue with arrivals λᵢ: the stations have the product form, as if each stood alone. It holds
    as well for several classes of jobs with routes of their own, if at each station all have the
    same exponential service; P then holds the shares over all classes.

    ``external``, ``routing``: as in :func:`traffic_rates`, which says what is refused. ``means_s`` (n,): mean
    service at each station, seconds.

    >>> round(jackson_jct_s([5.0, 0.0], [[0.0, 1.0], [0.0, 0.0]], [0.1, 0.1]), 12)
    0.4
    >>> round(jackson_jct_s([3.0], [[0.5]], [0.1]), 12)
    0.5

    Source: Jackson, Jobshop-like Queueing Systems, Management Science 1963; for classes Baskett,
    Chandy, Muntz and Palacios, Journal of the ACM 1975, and Kelly, Networks of Queues with Customers
    of Different Types, J. Applied Probability 1975.
    """
    rates = traffic_rates(external, routing).tolist()
    if len(means_s) != len(rates):
        raise SimulationError(
            f"Jackson network: {len(means_s)} means must be as many as the {len(rates)} stations; give one "
            "for each."
        )
    outside = float(np.sum(external))
    if not outside > 0:
        raise SimulationError(
            f"Jackson network: arrivals of {outside} /s must be above 0; give a positive rate."
        )
    jobs = 0.0  # in the network on average, which Little's law turns into a time
    for rate, mean_s in zip(rates, means_s, strict=True):
        jobs += rate * mmc_jct_s(rate, mean_s, 1) if rate > 0 else 0.0
    return jobs / outside if math.isfinite(jobs) else math.inf


def fork_join_two_jct_s(rate: float, mean_s: float) -> float:
    """Mean time of a job that forks to two exponential single-server queues and joins: exact.

    Formula: T = (12−ρ)/8 · 1/(μ−λ), ρ = λ/μ. Raises as :func:`mm1_jct_s`.

    >>> round(fork_join_two_jct_s(4.0, 0.1), 6)
    0.241667

    Source: Flatto and Hahn, SIAM J. Applied Mathematics 1984; Nelson and Tantawi, Approximate Analysis
    of Fork/Join Synchronization in Parallel Queues, IEEE Trans. Computers 1988.
    """
    return (12 - rate * mean_s) / 8 * mm1_jct_s(rate, mean_s)


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
    _check_positive(rate=rate, mean_s=mean_s)
    if branches < 1:
        raise SimulationError(f"Fork-join: branches={branches} must be at least 1; give a whole number.")
    single = mm1_jct_s(rate, mean_s)
    if branches == 1 or math.isinf(single):
        return single, single
    harmonic = sum(1 / k for k in range(1, branches + 1))
    evenly = harmonic * mean_s / (1 - _dm1_root(rate * mean_s))
    return max(evenly, fork_join_two_jct_s(rate, mean_s)), harmonic * single


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


def choices_jct_s(rate: float, mean_s: float, choices: int) -> float:
    """Mean time when each job joins the shortest of ``choices`` random queues, for very many queues.

    Formula: E[T] = E[S]·Σ_{i≥1} ρ^((dⁱ−d)/(d−1)), ρ = λE[S], exponential services, in the limit of
    infinitely many queues. For d = 2 the exponents are 2ⁱ−2 = 0, 2, 6, 14, …; for d = 1 they are
    0, 1, 2, …, which is M/M/1. With N queues the mean is greater by a share of the order of 1/N.

    ``rate``: λ, Poisson arrivals *per queue*, 1/s. ``mean_s``: E[S], seconds. ``choices``: d.

    >>> round(choices_jct_s(5.0, 0.1, 1), 12), round(choices_jct_s(5.0, 0.1, 2), 6)
    (0.2, 0.126569)
    >>> round(choices_jct_s(0.99, 1.0, 1)), round(choices_jct_s(0.99, 1.0, 2), 3)
    (100, 5.432)

    Source: Vvedenskaya, Dobrushin and Karpelevich, Problems of Information Transmission 1996;
    Mitzenmacher, The Power of Two Choices in Randomized Load Balancing, IEEE TPDS 2001.
    """
    _check_positive(rate=rate, mean_s=mean_s)
    if choices < 1:
        raise SimulationError(f"Power of choices: choices={choices} must be at least 1; give a whole number.")
    utilization = rate * mean_s
    if utilization >= 1:
        return math.inf
    if choices == 1:
        return mean_s / (1 - utilization)
    total, exponent = 0.0, 0
    while True:
        term = utilization**exponent
        total += term
        if term < 1e-17 * total:
            return mean_s * total
        exponent = choices * (exponent + 1)  # (dⁱ⁺¹−d)/(d−1) from (dⁱ−d)/(d−1)


def link_wait_s(capacity: float, streams: Iterable[BackgroundStream]) -> float:
    """Mean wait of a message at a first-come-first-served link with Poisson arrivals.

    Formula: W = ΣλE[X²]/C² / (2(1−ΣλE[X]/C)) over the streams, E[X²] = E[X]²(1+scv).

    ``capacity``: C, bytes/s. ``streams``: message streams: rate (1/s), mean size (bytes), scv of the size.

    >>> link_wait_s(1e6, [BackgroundStream(rate=0.5, mean=1e6, scv=0.0)])
    0.5

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6.
    """
    _check_positive(capacity=capacity)
    listed = tuple(streams)
    utilization = sum(s.rate * s.mean for s in listed) / capacity
    return fifo_wait_s(utilization, sum(s.rate * second_moment(s) for s in listed) / capacity**2)


def sharing_jct_s(service_s: float, utilization: float) -> float:
    """Mean time of a job of given size in an M/G/1 queue whose server is shared equally.

    Formula: T(s) = s/(1−ρ). It is linear in the size and insensitive: of all sizes together only
    the utilisation matters, not their distribution. With s = E[S] it is the mean over all jobs.

    ``service_s``: s, the seconds that the job would take alone. ``utilization``: ρ, of all jobs together.

    >>> sharing_jct_s(0.02, 0.75), sharing_jct_s(0.02, 1.0)
    (0.08, inf)

    Source: Sakata, Noguchi and Oizumi, An Analysis of the M/G/1 Queue under Round-Robin Scheduling,
    Operations Research 1971; Kleinrock, Queueing Systems II, 1976, section 4.4.
    """
    _check_positive(service_s=service_s, utilization=utilization)
    return service_s * (1 + sharing_stretch(utilization))
