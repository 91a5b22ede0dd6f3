"""Calls of all applications: the arrival and the application of each.

They depend on the system's seed and the replication alone, so every policy meets the same calls, and the
first n of many calls are the n of few.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.serverless.model.system import ServerlessSystem
from nona.simulation.workload.arrivals import CHUNK, arrival_chunks

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_NOISE = 0.1  # of a factor on times


def calls(system: ServerlessSystem, count: int, replication: int = 0) -> tuple[Floats, Ints]:
    """The first ``count`` calls: (count,) arrival instants in seconds, increasing; (count,) applications.

    Without ``interval`` every application has its own stream of arrivals and these are merged; calls
    of one instant are in order of application. With it gaps are uniform, and each call is of an
    application drawn in proportion to the rates.

    Raises
    ------
    SimulationError
        For a count below 1, or arrivals that no process has.
    """
    if count < 1:
        raise SimulationError(f"Calls: count={count} must be at least 1; give a larger number.")
    streams = RandomStreams(system.seed, replication)
    if system.interval is not None:
        return _drawn(system, count, streams)
    return _merged(system, count, streams, replication)


def _drawn(system: ServerlessSystem, count: int, streams: RandomStreams) -> tuple[Floats, Ints]:
    interval = system.interval
    if interval is None:
        raise SimulationError("Calls: the system has no interval; give one.")
    gaps = streams.generator("serverless", "gaps").uniform(interval.least, interval.most, count)
    rates = np.cumsum([app.rate for app in system.applications])
    drawn = streams.generator("serverless", "applications").random(count) * rates[-1]
    which = np.minimum(np.searchsorted(rates, drawn, side="right"), len(rates) - 1)
    return np.cumsum(gaps), which.astype(np.int64)


def _merged(
    system: ServerlessSystem, count: int, streams: RandomStreams, replication: int
) -> tuple[Floats, Ints]:
    sources = [
        arrival_chunks(
            app.arrivals,
            app.rate,
            streams.generator("serverless", "arrivals", app.arrivals.trace or app.name),
            replication,
        )
        for app in system.applications
    ]
    held: list[list[Floats]] = [[next(source)] for source in sources]
    while True:
        last = [chunks[-1][-1] if len(chunks[-1]) else -math.inf for chunks in held]
        known_s = min(last)  # nothing that is still to come is earlier
        known = sum(int(np.searchsorted(chunk, known_s, side="right")) for chunks in held for chunk in chunks)
        if known >= count:
            break
        for chunks, source, end in zip(held, sources, last, strict=True):
            if end <= known_s:
                chunks.extend(next(source) for _ in range(1 + (count - known) // (CHUNK * 8 * len(held))))
    times = np.concatenate([np.concatenate(chunks) for chunks in held])
    which = np.repeat(np.arange(len(held)), [sum(map(len, chunks)) for chunks in held])
    order = np.lexsort((which, times))[:count]
    return times[order], which[order].astype(np.int64)


def noise_factors(system: ServerlessSystem, application: Ints, replication: int = 0) -> Floats:
    """(n, S) The factor on a stage's times of each call: max(0.1, 1 + noise · z), z standard normal.

    ``application`` (n,) is that of each call, S the most stages of any application; the k-th call of an
    application gets row k of its stream, whatever other applications do. Stages that an application
    lacks have 1.
    """
    widest = max(app.stages for app in system.applications)
    factors = np.ones((len(application), widest))
    if system.noise == 0:
        return factors
    streams = RandomStreams(system.seed, replication)
    for number, app in enumerate(system.applications):
        rows = np.flatnonzero(application == number)
        z = streams.generator("serverless", "noise", app.name).standard_normal((len(rows), app.stages))
        factors[rows, : app.stages] = np.maximum(LEAST_NOISE, 1 + system.noise * z)
    return factors
