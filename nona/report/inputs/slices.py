"""Report on the instances of a MIG layout: memory, part of the compute, expected speed."""

from __future__ import annotations

from typing import Any

from nona.cost.stack import slice_constant
from nona.hardware.device import Device
from nona.hardware.executor import make_executor_class
from nona.hardware.mig import MigLayout
from nona.units import format_size


def work_bound_speed(compute_fraction: float) -> float:
    """Speed of a slice over that of the whole device for work that fills both: f^α.

    The cost model's efficiencies of a slice grow by f^(α−1) (:class:`nona.cost.roofline.Roofline`),
    its peak is f of the device's; a kernel too short to fill a slice takes the same time on both.

    >>> work_bound_speed(1.0)
    1.0
    """
    return float(compute_fraction ** slice_constant("speed_exponent"))


def layout_rows(device: Device, layout: MigLayout) -> list[dict[str, Any]]:
    """One row per instance, by its position on the board; shares of the device in per cent."""
    rows = []
    for piece, profile in zip(layout.slices, layout.profiles, strict=True):
        made = make_executor_class(device, piece.profile)
        rows.append(
            {
                "instance": piece.profile,
                "memory slices": _span(piece.start, profile.memory_slices),
                "memory": format_size(made.memory_bytes),
                "SMs": f"{profile.sms} of {device.sms}",
                "compute": 100 * made.compute_fraction,
                "bandwidth": 100 * made.bandwidth_fraction,
                "speed, large kernels": 100 * work_bound_speed(made.compute_fraction),
                "executor": made.name,
                "geometry": {"yes": "checked", "assumed": "assumed"}.get(profile.checked, profile.checked),
            }
        )
    return rows


def _span(start: int, size: int) -> str:
    return str(start) if size == 1 else f"{start}–{start + size - 1}"


def layout_name(text: str) -> str:
    """Slices with counts, as text.

    >>> layout_name("3g.20gb, 2g.10gb, 1g.5gb, 1g.5gb")
    '3g.20gb + 2g.10gb + 2 × 1g.5gb'
    """
    if not text:
        return "No instance"
    names = text.split(", ")
    counts = {n: names.count(n) for n in dict.fromkeys(names)}
    return " + ".join(n if count == 1 else f"{count} × {n}" for n, count in counts.items())


def stranded_text(compute: int, memory: tuple[int, ...]) -> str:
    """The parts of the device that no instance can use, in words.

    >>> stranded_text(1, (7,)), stranded_text(0, ())
    ('1 compute slice and memory slice 7', 'none')
    """
    parts = []
    if compute:
        parts.append(f"{compute} compute slice{'s' if compute > 1 else ''}")
    if memory:
        parts.append(f"memory slice{'s' if len(memory) > 1 else ''} {', '.join(map(str, memory))}")
    return " and ".join(parts) or "none"
