"""MIG boards and their profiles: what a slice is made of and where it may start.

Source: NVIDIA's MIG user guide and ``nvidia-smi mig -lgip / -lgipp``; see ``data/sources.csv``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nona.errors import HardwareError
from nona.hardware.table_file import shipped_table


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of slice: ``memory_slices`` from one of ``starts`` on the memory axis.

    ``memory_bytes`` counts as the catalogue's devices do. A "GB" of their data sheets is 2^30 bytes of
    memory; the catalogue reads it as 10^9, so 1024 MiB of nvidia-smi are 10^9 here too. The memory of the
    slices then never exceeds that of the GPU, and both are understated by 7 %.

    ``standard`` profiles are the plain one per number of compute slices; the others carry the
    media engines (``+me``) or twice the memory. ``checked`` is ``yes`` where both the placements
    and the SM count were seen in NVIDIA's own output.
    """

    name: str
    compute_slices: int
    memory_slices: int
    starts: tuple[int, ...]
    max_instances: int
    sms: int
    memory_bytes: float
    standard: bool
    checked: str


@dataclass(frozen=True, slots=True)
class Board:
    """A device that MIG can slice."""

    name: str
    memory_slices: int
    compute_slices: int
    profiles: tuple[Profile, ...]

    def profile(self, name: str) -> Profile:
        """The profile called ``name``; raises :class:`~nona.errors.HardwareError`.

        >>> board("a100-40gb").profile("3g.20gb").starts
        (0, 4)
        """
        for profile in self.profiles:
            if profile.name == name:
                return profile
        raise HardwareError(
            f"MIG slice {name!r}: the board {self.name!r} has no such profile; "
            f"use {', '.join(p.name for p in self.profiles)}."
        )


@cache
def boards() -> Mapping[str, Board]:
    """All boards by name."""
    profiles: dict[str, list[Profile]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for row in shipped_table("nona.hardware", "data/mig_profiles.csv"):
        sizes[row["board"]] = (int(row["board_memory_slices"]), int(row["board_compute_slices"]))
        sure = (row["placements_checked"], row["sms_checked"])
        profiles.setdefault(row["board"], []).append(
            Profile(
                name=row["profile"],
                compute_slices=int(row["compute_slices"]),
                memory_slices=int(row["memory_slices"]),
                starts=tuple(int(s) for s in row["starts"].split()),
                max_instances=int(row["max_instances"]),
                sms=int(row["sms"]),
                memory_bytes=float(row["memory_mib"]) / 1024 * 1e9,
                standard=row["standard"] == "yes",
                checked=next((s for s in sure if s != "yes"), "yes"),
            )
        )
    return MappingProxyType({n: Board(n, *sizes[n], tuple(p)) for n, p in profiles.items()})


def board(name: str) -> Board:
    """The board called ``name``.

    Raises
    ------
    HardwareError
        When there is none.

    >>> board("a30").compute_slices
    4
    """
    try:
        return boards()[name]
    except KeyError:
        raise HardwareError(f"MIG board {name!r}: it is unknown; use {', '.join(boards())}.") from None
