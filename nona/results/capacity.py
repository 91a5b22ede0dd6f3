"""Results on capacity: the fewest servers that keep the SLOs."""

from __future__ import annotations

from typing import Literal

from nona.results.document import Document, Figure
from nona.results.estimate import Estimate

Method = Literal["prediction", "simulation"]


class ServerCount(Document):
    """One number of servers: the share of missed SLOs with its standard error.

    ``miss`` is ``None`` where there is no steady state; ``simulated_hit_rate`` is the share of SLOs kept,
    where it was simulated.
    """

    servers: int
    miss: Figure
    error: float
    simulated_hit_rate: Estimate | None = None


class CountRange(Document):
    """The fewest servers if all modelled times are at the lower or at the upper end of their intervals.

    ``level`` is that of the intervals. ``high`` is ``None`` where the SLOs are then out of reach: no number
    of servers that was tried keeps them; so is ``low``.
    """

    low: int | None
    high: int | None
    level: float


class DeviceCapacity(Document):
    """The fewest servers with one device under one scheduler, ``None`` where none that was tried suffices.

    ``predicted`` is that number of servers, by the ``method`` named, ``one_fewer`` one less, where that is
    not 0; ``tried`` are all that were looked at, ascending. ``cost`` is that of all servers of the cluster
    then, in the unit of the prices; ``None`` without them. ``least_miss`` is the share of SLOs that is missed
    on any number of servers, as the longest chain alone takes longer. ``if_times_off`` is ``None`` where no
    time is modelled. Not ``finished``: the search ended, or goes on, with more numbers to try; ``servers`` is
    then ``None``.
    """

    gpu: str
    scheduler: str
    method: Method
    servers: int | None
    predicted: ServerCount | None
    one_fewer: ServerCount | None
    cost: Figure
    tried: tuple[ServerCount, ...]
    least_miss: float = 0.0
    if_times_off: CountRange | None = None
    finished: bool = True


class CapacityReport(Document):
    """The fewest servers that keep a share of the SLOs, for each device and scheduler.

    ``best`` is the device, ``best_scheduler`` the scheduler of the cheapest answer, or without prices of the
    one with the fewest servers; ``group`` is the index in ``cluster.servers``, ``most`` the largest number
    of servers that was allowed. ``ended_early_s``: seconds after which the search was cancelled, with what
    was known until then.
    """

    target_hit_rate: float
    group: int
    most: int
    best: str | None
    best_scheduler: str | None
    devices: tuple[DeviceCapacity, ...]
    ended_early_s: Figure = None

    @property
    def found(self) -> DeviceCapacity | None:
        """The answer that ``best`` names."""
        named = (self.best, self.best_scheduler)
        return next((d for d in self.devices if (d.gpu, d.scheduler) == named), None)
