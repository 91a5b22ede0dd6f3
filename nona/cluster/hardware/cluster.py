"""The cluster: groups of servers, their executors, and the network between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from nona.cluster.hardware.device import Device, find_device
from nona.cluster.hardware.executor import ExecutorClass, make_executor_class
from nona.cluster.hardware.mig import gpu_layouts, parse_layout
from nona.core.errors import HardwareError

Discipline = Literal["fifo", "processor-sharing"]


@dataclass(frozen=True, slots=True)
class Racks:
    """``size`` servers a rack, with ``uplink`` bytes/s to the core and as much from it."""

    size: int
    uplink: float

    def __post_init__(self) -> None:
        if not isinstance(self.size, int) or isinstance(self.size, bool) or self.size < 1:
            raise HardwareError(f"Racks: size={self.size!r} must be at least 1; give a whole number.")
        _check_bandwidth("Racks", "uplink", self.uplink)


@dataclass(frozen=True, slots=True)
class Network:
    """The shared core: ``capacity`` bytes/s, ``latency_s`` seconds after service.

    ``nic`` is the bandwidth of every server's card in bytes/s, in each direction by itself;
    ``racks`` puts servers behind uplinks. With neither the core is the one link that every message
    between servers crosses.

    >>> Network(capacity=0)
    Traceback (most recent call last):
    nona.core.errors.HardwareError: Network: capacity=0 must be above 0 and finite; give bytes per second.
    >>> Network(racks=Racks(4, 1e9))
    Traceback (most recent call last):
    nona.core.errors.HardwareError: Network: racks without nic would make messages within a rack cross no \
link; give nic.
    """

    capacity: float = 25e9 / 8
    latency_s: float = 20e-6
    discipline: Discipline = "fifo"
    nic: float | None = None
    racks: Racks | None = None

    def __post_init__(self) -> None:
        _check_bandwidth("Network", "capacity", self.capacity)
        if not (math.isfinite(self.latency_s) and self.latency_s >= 0):
            raise HardwareError(
                f"Network: latency_s={self.latency_s:g} must be at least 0 and finite; give seconds."
            )
        if self.discipline not in ("fifo", "processor-sharing"):
            raise HardwareError(
                f"Network: discipline={self.discipline!r} is unknown; use fifo or processor-sharing."
            )
        if self.nic is not None:
            _check_bandwidth("Network", "nic", self.nic)
        if self.racks is not None and self.nic is None:
            raise HardwareError(
                "Network: racks without nic would make messages within a rack cross no link; give nic."
            )
        if self.several_links and self.discipline != "fifo":
            raise HardwareError(
                f"Network: discipline={self.discipline!r} is for a single link; use fifo, or leave out nic "
                "and racks."
            )

    @property
    def several_links(self) -> bool:
        """True where messages cross other links than the core."""
        return self.nic is not None


def _check_bandwidth(what: str, key: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise HardwareError(f"{what}: {key}={value:g} must be above 0 and finite; give bytes per second.")


MOST_EXECUTORS = 1_000_000


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """``count`` servers that are all alike, with ``gpus`` GPUs ``gpu`` and ``vcpus`` vCPUs each.

    ``mig`` is the layout of every GPU (``"3g.20gb, 2g.10gb, 2g.10gb"``), or one for each by number
    (``"3g.20gb | whole"``); ``mps`` is the number of clients that share every GPU, or every MIG slice. Each
    client gets an equal part.
    """

    count: int = 1
    gpu: str = "a100-40gb"
    gpus: int = 1
    vcpus: int = 16
    mig: str | None = None
    mps: int | None = None

    def __post_init__(self) -> None:
        for key in ("count", "gpus", "vcpus"):
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise HardwareError(f"Server group: {key}={value!r} must be at least 1; give a whole number.")

    @property
    def layouts(self) -> tuple[str | None, ...]:
        """The MIG layout of each GPU, by number; ``None`` where it is whole."""
        return gpu_layouts(self.mig, self.gpus)

    def classes(self, device: Device) -> tuple[tuple[ExecutorClass, ...], ...]:
        """Return the executor classes of one server: of each GPU by number, one for each slice and client."""
        if device.mig is None and any(self.layouts):
            raise HardwareError(
                f"Server group: mig={self.mig!r} on {device.name!r}, which has no MIG; remove mig or use "
                "another GPU."
            )
        each = {layout: self._classes(device, layout) for layout in self.layouts}
        return tuple(each[layout] for layout in self.layouts)

    def _classes(self, device: Device, layout: str | None) -> tuple[ExecutorClass, ...]:
        slices: list[str | None] = [None]
        if layout is not None:
            try:
                slices = [s.profile for s in parse_layout(layout, str(device.mig)).slices]
            except HardwareError as error:
                several = len(set(self.layouts)) > 1
                where = f"GPU {self.layouts.index(layout)}: " if several else ""
                raise HardwareError(f"{where}{error}") from None
        classes = [make_executor_class(device, s, self.mps) for s in slices]
        return tuple(c for c in classes for _ in range(c.mps))


@dataclass(frozen=True, slots=True)
class Executor:
    """One executor: its server, its GPU within the server, and the name of its class."""

    server: int
    gpu: int
    executor_class: str


@dataclass(frozen=True)
class Cluster:
    """Server groups and the network between them.

    ``devices`` are the user's own; the catalogue's others are known as well.

    Raises ``HardwareError`` for no server, an unknown device, an impossible layout, or too many executors.

    >>> cluster = Cluster((ServerGroup(2, mig="3g.20gb, 3g.20gb"), ServerGroup(1, "t4")))
    >>> len(cluster.executors), list(cluster.classes)
    (5, ['a100-40gb/3g.20gb', 't4'])
    """

    groups: tuple[ServerGroup, ...]
    network: Network = field(default_factory=Network)
    devices: Mapping[str, Device] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.groups:
            raise HardwareError("Cluster: it has no servers; give at least one group.")
        total = sum(
            g.count * sum(map(len, of)) for g, of in zip(self.groups, self._group_classes, strict=True)
        )
        if total > MOST_EXECUTORS:
            raise HardwareError(
                f"Cluster: {total} executors are more than {MOST_EXECUTORS}; give fewer servers or slices."
            )

    @cached_property
    def _group_classes(self) -> tuple[tuple[tuple[ExecutorClass, ...], ...], ...]:
        return tuple(g.classes(find_device(g.gpu, self.devices)) for g in self.groups)

    @cached_property
    def executors(self) -> tuple[Executor, ...]:
        """All executors, by group, server, GPU, and place on the GPU."""
        executors = []
        server = 0
        for group, gpus in zip(self.groups, self._group_classes, strict=True):
            for _ in range(group.count):
                executors += [Executor(server, g, c.name) for g, of in enumerate(gpus) for c in of]
                server += 1
        return tuple(executors)

    @cached_property
    def classes(self) -> Mapping[str, ExecutorClass]:
        """Executor classes by name, in the order of the groups."""
        return {c.name: c for gpus in self._group_classes for of in gpus for c in of}

    @property
    def servers(self) -> int:
        """The number of servers."""
        return sum(g.count for g in self.groups)
