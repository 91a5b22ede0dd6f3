"""A device: its peak rates, memory and links, each with where the figure comes from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from nona.errors import HardwareError
from nona.hardware.attributes import parse_attributes
from nona.hardware.geometry import board

Precision = Literal["fp32", "tf32", "fp16", "fp8", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_STAND_IN: Mapping[Precision, Precision] = {"fp8": "fp16", "int8": "fp16", "fp16": "fp32", "tf32": "fp32"}


@dataclass(frozen=True, slots=True)
class Fact:
    """Where one figure comes from; ``checked`` is ``yes``, ``recollected`` or ``user``."""

    source: str
    checked: str


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU or another accelerator.

    Attributes
    ----------
    peaks
        Precision → FLOP/s (a multiply-add counts as two), dense. ``fp32`` is IEEE single
        precision on the CUDA cores; the tensor cores' short form of it is ``tf32``.
    memory_bytes, bandwidth
        Device memory, and bytes/s to it.
    sms
        Streaming multiprocessors; 0 when unknown (then it cannot be sliced).
    peer_bandwidth, host_bandwidth
        Bytes/s in one direction to another GPU of the server (``None``: there is no such link)
        and to the host.
    compute_efficiency, memory_efficiency
        Fractions of peak and bandwidth that kernels reach on this device, where its owner has
        measured them; ``None``: the cost model's constants.
    mig
        Name of the board whose MIG geometry it has, or ``None``.
    facts
        Attribute → where it comes from.

    Raises
    ------
    HardwareError
        For a rate, size or fraction that is not positive and finite, or an unknown MIG board.

    Examples
    --------
    >>> d = Device.from_mapping({"fp32": "10 TFLOP/s", "memory": "24 GB", "bandwidth": "600 GB/s"}, "mine")
    >>> d.peak("fp16"), d.memory_bytes
    (10000000000000.0, 24000000000.0)
    """

    name: str
    peaks: Mapping[Precision, float]
    memory_bytes: float
    bandwidth: float
    sms: int = 0
    peer_bandwidth: float | None = None
    host_bandwidth: float | None = None
    compute_efficiency: float | None = None
    memory_efficiency: float | None = None
    mig: str | None = None
    label: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name or self.name == "*" or not self.name.isprintable():
            raise HardwareError(
                f"Device {self.name!r}: a name is printable, without '/', and not '*'; rename the device."
            )
        if "fp32" not in self.peaks:
            raise HardwareError(f"Device {self.name!r}: fp32 is missing; give its FLOP/s.")
        for precision in self.peaks:
            if precision not in PRECISIONS:
                raise HardwareError(
                    f"Device {self.name!r}: precision {precision!r} is unknown; use {', '.join(PRECISIONS)}."
                )
        amounts: dict[str, float] = {"memory": self.memory_bytes, "bandwidth": self.bandwidth}
        amounts.update({str(k): v for k, v in self.peaks.items()})
        for key in ("peer_bandwidth", "host_bandwidth", "compute_efficiency", "memory_efficiency"):
            if getattr(self, key) is not None:
                amounts[key] = getattr(self, key)
        for key, value in amounts.items():
            _check_positive(self.name, key, value, 1.0 if key.endswith("efficiency") else math.inf)
        if self.sms < 0:
            raise HardwareError(f"Device {self.name!r}: sms={self.sms} must be at least 0; correct it.")
        self._check_mig()

    def _check_mig(self) -> None:
        if self.mig is None:
            return
        most = max(p.sms for p in board(self.mig).profiles)
        if self.sms < most:
            raise HardwareError(
                f"Device {self.name!r}: sms={self.sms} must be at least {most}, which the slices of "
                f"the board {self.mig!r} use; give the number of SMs, or leave 'mig' out."
            )

    def peak(self, precision: Precision) -> float:
        """FLOP/s at ``precision``, or at the next wider one that the device states."""
        return self.peaks[self.precision_used(precision)]

    def precision_used(self, precision: Precision) -> Precision:
        """The precision whose peak counts: ``fp8``/``int8`` → ``fp16`` → ``fp32`` when not stated."""
        while precision not in self.peaks:
            precision = _STAND_IN[precision]
        return precision

    @property
    def title(self) -> str:
        """Display name."""
        return self.label or self.name

    @classmethod
    def from_mapping(
        cls, attributes: Mapping[str, object], name: str | None = None, base: Device | None = None
    ) -> Device:
        """A user's own device.

        Parameters
        ----------
        attributes
            Attribute → value as in ``data/device_attributes.csv``: a text with a unit
            (``"312 TFLOP/s"``, ``"40 GB"``), or a plain number in SI units (FLOP/s, bytes,
            bytes/s).
        name
            Its name, unless ``attributes`` has ``name``.
        base
            Device whose attributes count where ``attributes`` says nothing.

        Raises
        ------
        HardwareError
            For an unknown or missing attribute, or an impossible value: one line.
        """
        given = dict(attributes)
        own = given.pop("name", name)
        if not isinstance(own, str):
            raise HardwareError(f"Device {own!r}: its name must be a text; give one.")
        values = parse_attributes(given, own, complete=base is None)
        peaks = {**(base.peaks if base else {}), **{p: values.pop(p) for p in PRECISIONS if p in values}}
        fields: dict[str, object] = {
            k: getattr(base, k)
            for k in (
                "memory_bytes",
                "bandwidth",
                "sms",
                "peer_bandwidth",
                "host_bandwidth",
                "compute_efficiency",
                "memory_efficiency",
                "mig",
            )
            if base
        }
        fields |= {"memory_bytes" if k == "memory" else k: v for k, v in values.items()}
        facts = {**(base.facts if base else {}), **{k: Fact("given by the user", "user") for k in given}}
        return cls(name=own, peaks=peaks, facts=facts, **fields)  # type: ignore[arg-type]


def _check_positive(device: str, key: str, value: float, most: float) -> None:
    if not (math.isfinite(value) and 0 < value <= most):
        bound = "" if math.isinf(most) else f" and at most {most:g}"
        raise HardwareError(
            f"Device {device!r}: {key}={value:g} must be finite, above 0{bound}; correct the value."
        )
