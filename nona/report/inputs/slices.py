"""Report on the instances of a MIG layout: memory, part of the compute, expected speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class LaidInstance:
    """An instance of a layout: its profile, its memory slices, and the executor that it makes.

    ``compute``, ``bandwidth`` and ``speed`` (of work that fills it) are fractions of the whole device;
    ``geometry`` says whether its place on the board was checked.
    """

    profile: str
    memory_slices: str
    memory_bytes: float
    sms: int
    sms_of: int
    compute: float
    bandwidth: float
    speed: float
    executor: str
    geometry: str


def laid_instances(device: Device, layout: MigLayout) -> list[LaidInstance]:
    """The instances of a layout by their position on the board."""
    return [
        LaidInstance(
            profile=piece.profile,
            memory_slices=_span(piece.start, profile.memory_slices),
            memory_bytes=made.memory_bytes,
            sms=profile.sms,
            sms_of=device.sms,
            compute=made.compute_fraction,
            bandwidth=made.bandwidth_fraction,
            speed=work_bound_speed(made.compute_fraction),
            executor=made.name,
            geometry={"yes": "checked", "assumed": "assumed"}.get(profile.checked, profile.checked),
        )
        for piece, profile in zip(layout.slices, layout.profiles, strict=True)
        for made in [make_executor_class(device, piece.profile)]
    ]


def instance_rows(instances: Sequence[LaidInstance]) -> list[dict[str, str | float]]:
    """One row per instance for a table; shares of the device in per cent."""
    return [
        {
            "instance": i.profile,
            "memory slices": i.memory_slices,
            "memory": format_size(i.memory_bytes),
            "SMs": f"{i.sms} of {i.sms_of}",
            "compute": 100 * i.compute,
            "bandwidth": 100 * i.bandwidth,
            "speed, large kernels": 100 * i.speed,
            "geometry": i.geometry,
        }
        for i in instances
    ]


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
