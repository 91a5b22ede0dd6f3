"""M/G/1 with classes of priority, non-preemptive."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.errors import SimulationError
from nona.placement.waits.queueing import second_moment
from nona.simulation.theory.inputs import check_positive
from nona.system import Stream


def priority_jct_s(streams: Sequence[Stream]) -> tuple[float, ...]:
    """Mean time in the system of each class; a service that has begun is never interrupted.

    Formula: Tₖ = E[Sₖ] + W₀/((1−σₖ₋₁)(1−σₖ)) with σₖ = ρ₁ + … + ρₖ, σ₀ = 0, and W₀ = Σ λᵢE[Sᵢ²]/2
    over *all* classes, the mean rest of the service that an arrival finds.

    Where σₖ ≥ 1 for some class, that class and those after it wait for ever. Those before it still
    have a steady state: class k then fills what they leave of the server, so it adds
    (1−σₖ₋₁)·E[Sₖ²]/(2E[Sₖ]) to W₀ in place of λₖE[Sₖ²]/2, and those after it add nothing.

    Parameters
    ----------
    streams
        Poisson arrivals (1/s) with mean (s) and scv of the service, the most urgent class first.

    Raises
    ------
    SimulationError
        Without classes, or for a rate or mean that is not above 0.

    Examples
    --------
    Of two classes alike with ρ = 0.4 each, M/M/1:

    >>> urgent, other = priority_jct_s([Stream(0.4, 1.0, 1.0), Stream(0.4, 1.0, 1.0)])
    >>> round(urgent, 9), round(other, 9)
    (2.333333333, 7.666666667)
    >>> priority_jct_s([Stream(0.5, 1.0, 0.0), Stream(1.0, 1.0, 0.0)])
    (2.0, inf)

    Source: Cobham, Priority Assignment in Waiting Line Problems, Operations Research 1954; Kleinrock,
    Queueing Systems II, 1976, section 3.5. The case of a class that cannot be served is derived here.
    """
    if not streams:
        raise SimulationError("Priorities: streams=[] must hold at least one class; give one.")
    for s in streams:
        check_positive(rate=s.rate, mean_s=s.mean)
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
    """How many classes, from the first, are offered less than the whole server together."""
    total = 0.0
    for number, own in enumerate(utilization):
        total += own
        if total >= 1:
            return number
    return len(utilization)
