"""The network between servers: a shared core, and, where they are given, cards and racks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from nona.errors import HardwareError

Discipline = Literal["fifo", "processor-sharing"]


class RacksSpec(Protocol):
    """What a description of racks offers."""

    size: int
    uplink: float


class NetworkSpec(Protocol):
    """What a description of a network offers."""

    capacity: float
    latency: float
    discipline: Any
    nic: float | None

    @property
    def racks(self) -> RacksSpec | None: ...


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
    nona.errors.HardwareError: Network: capacity=0 must be above 0 and finite; give bytes per second.
    >>> Network(racks=Racks(4, 1e9))
    Traceback (most recent call last):
    nona.errors.HardwareError: Network: racks without nic would make messages within a rack cross no link; \
give nic.
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
        """Whether messages cross more than the core."""
        return self.nic is not None

    @classmethod
    def from_spec(cls, spec: NetworkSpec) -> Network:
        """The network that a scenario describes."""
        racks = None if spec.racks is None else Racks(spec.racks.size, spec.racks.uplink)
        return cls(spec.capacity, spec.latency, spec.discipline, spec.nic, racks)


def _check_bandwidth(what: str, key: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise HardwareError(f"{what}: {key}={value:g} must be above 0 and finite; give bytes per second.")
