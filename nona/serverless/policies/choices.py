"""What policies choose from: configurations that can serve a stage, and how long a stage then takes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.application import Application
from nona.serverless.system import ServerlessSystem

Floats = NDArray[np.float64]


def usable(system: ServerlessSystem, function: int) -> tuple[int, ...]:
    """Numbers of the configurations that have a time for the function and that some invoker holds.

    The smallest one is always among them. In increasing order.
    """
    possible = np.isfinite(system.time_s[function]) & system.fits_somewhere
    return tuple(int(n) for n in np.flatnonzero(possible))


def transfer_s(system: ServerlessSystem, application: Application, stage: int) -> Floats:
    """(C,) Seconds in which a full batch's inputs arrive when nothing is in the way.

    Formula: latency + batch · bytes / bandwidth; an entry stage fetches from outside, another one from its
    own invoker, where the dispatcher sends it first. 0 without bytes.
    """
    given = application.input_bytes[stage]
    if given <= 0:
        return np.zeros(len(system.space))
    way = system.transfer
    if stage in application.entries:
        latency_s, bandwidth = way.remote_latency, way.remote_bandwidth
    else:
        latency_s, bandwidth = way.local_latency, way.local_bandwidth
    return np.asarray(latency_s + system.space.batch * given / bandwidth, dtype=np.float64)


def fastest(system: ServerlessSystem, function: int, most: int) -> tuple[int, ...]:
    """The ``most`` fastest configurations of the smallest batch: what runs where nothing keeps the SLO."""
    numbers = usable(system, function)
    batch, time_s = system.space.batch, system.time_s[function]
    least = min(batch[n] for n in numbers)
    alone = (n for n in numbers if batch[n] == least)
    return tuple(sorted(alone, key=lambda n: (time_s[n], system.price_per_s[n], n))[:most])
