"""The link: first come first served, or shared equally by all messages under way."""

from __future__ import annotations

from collections.abc import Iterable

from nona.placement.waits.queueing import fifo_wait_s, second_moment, sharing_stretch
from nona.simulation.theory.inputs import check_positive
from nona.system import Stream


def link_wait_s(capacity: float, streams: Iterable[Stream]) -> float:
    """Mean wait of a message at a first-come-first-served link with Poisson arrivals.

    Formula: W = ΣλE[X²]/C² / (2(1−ΣλE[X]/C)) over the streams, E[X²] = E[X]²(1+scv).

    Parameters
    ----------
    capacity
        C, bytes/s.
    streams
        Message streams: rate (1/s), mean size (bytes), scv of the size.

    Raises
    ------
    SimulationError
        When the capacity is not above 0.

    Examples
    --------
    >>> link_wait_s(1e6, [Stream(rate=0.5, mean=1e6, scv=0.0)])
    0.5

    Source: Kleinrock, Queueing Systems I, 1975, section 5.6.
    """
    check_positive(capacity=capacity)
    listed = tuple(streams)
    utilization = sum(s.rate * s.mean for s in listed) / capacity
    return fifo_wait_s(utilization, sum(s.rate * second_moment(s) for s in listed) / capacity**2)


def sharing_jct_s(service_s: float, utilization: float) -> float:
    """Mean time of a job of given size in an M/G/1 queue whose server is shared equally.

    Formula: T(s) = s/(1−ρ). It is linear in the size and insensitive: of all sizes together only
    the utilisation matters, not their distribution. With s = E[S] it is the mean over all jobs.

    Parameters
    ----------
    service_s
        s, the seconds that the job would take alone.
    utilization
        ρ, of all jobs together.

    Raises
    ------
    SimulationError
        When one of them is not above 0.

    Examples
    --------
    >>> sharing_jct_s(0.02, 0.75), sharing_jct_s(0.02, 1.0)
    (0.08, inf)

    Source: Sakata, Noguchi and Oizumi, An Analysis of the M/G/1 Queue under Round-Robin Scheduling,
    Operations Research 1971; Kleinrock, Queueing Systems II, 1976, section 4.4.
    """
    check_positive(service_s=service_s, utilization=utilization)
    return service_s * (1 + sharing_stretch(utilization))
