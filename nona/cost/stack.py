"""Software stacks and calibration constants: overhead per kernel, fusion, efficiencies.

All constants live in ``data/*.csv`` with their sources; this module reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nona.hardware.device import Device
from nona.hardware.table_file import shipped_table


@dataclass(frozen=True, slots=True)
class Stack:
    """A software stack: ``launch_s`` per kernel (``None``: the device's own), and whether it fuses."""

    name: str
    label: str
    launch_s: float | None
    fuses: bool
    source: str
    checked: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of the cost formula for one device: t0 (s), e_c, e_m, and where they come from."""

    launch_s: float
    compute_efficiency: float
    memory_efficiency: float
    source: str


@cache
def stacks() -> Mapping[str, Stack]:
    """All software stacks by name.

    >>> stacks()["eager"].launch_s, stacks()["eager"].fuses
    (6e-05, False)
    """
    return MappingProxyType(
        {
            row["stack"]: Stack(
                name=row["stack"],
                label=row["label"],
                launch_s=float(row["launch_us"]) / 1e6 if row["launch_us"] else None,
                fuses=row["fuses"] == "yes",
                source=row["source"],
                checked=row["checked"],
            )
            for row in shipped_table("nona.cost", "data/stacks.csv")
        }
    )


def calibration(device: Device, stack: str) -> Calibration:
    """The constants for ``device`` under ``stack``; a user's own efficiencies come first.

    >>> from nona.hardware.catalogue import devices
    >>> calibration(devices()["h100"], "tensorrt").launch_s
    2.4e-06
    """
    table = _calibrations()
    own = table.get(device.name, table["*"])
    launch_s = stacks()[stack].launch_s
    source = own.source
    if device.compute_efficiency is not None or device.memory_efficiency is not None:
        source = "efficiencies given with the device"
    return Calibration(
        own.launch_s if launch_s is None else launch_s,
        device.compute_efficiency or own.compute_efficiency,
        device.memory_efficiency or own.memory_efficiency,
        source,
    )


@cache
def slice_constant(name: str) -> float:
    """A constant of ``data/slices.csv``.

    >>> slice_constant("speed_exponent")
    0.95
    """
    rows = shipped_table("nona.cost", "data/slices.csv")
    return float(next(row["value"] for row in rows if row["constant"] == name))


@cache
def _calibrations() -> Mapping[str, Calibration]:
    return MappingProxyType(
        {
            row["device"]: Calibration(
                float(row["launch_us"]) / 1e6,
                float(row["compute_efficiency"]),
                float(row["memory_efficiency"]),
                row["source"],
            )
            for row in shipped_table("nona.cost", "data/calibration.csv")
        }
    )
