"""Results on capacity: the fewest servers that keep the SLOs."""

from __future__ import annotations

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate


class ServerCount(Document):
    """One number of servers: the predicted share of missed SLOs with its standard error.

    ``miss`` is ``None`` where there is no steady state; ``simulated_hit_rate`` is the share of SLOs kept,
    where it was simulated.
    """

    servers: int
    miss: Figure
    error: float
    simulated_hit_rate: Estimate | None = None


class DeviceCapacity(Document):
    """The fewest servers with one device, ``None`` where the most that were allowed are too few.

    ``predicted`` is that number of servers, ``one_fewer`` one less, where that is not 0; ``tried`` are all
    that were looked at, ascending. ``cost`` is that of all servers of the cluster then, in the unit of the
    prices; ``None`` without them.
    """

    gpu: str
    servers: int | None
    predicted: ServerCount | None
    one_fewer: ServerCount | None
    cost: Figure
    tried: tuple[ServerCount, ...]


class CapacityReport(Document):
    """The fewest servers of ``cluster.servers[group]`` that keep a share of the SLOs, by device.

    ``best`` is the cheapest device, or without prices the one with the fewest servers; ``most`` is the
    largest number of servers that was allowed.
    """

    target_hit_rate: float
    group: int
    most: int
    best: str | None
    devices: tuple[DeviceCapacity, ...]
