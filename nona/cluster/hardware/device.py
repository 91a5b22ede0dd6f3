"""A device, each figure with its source, and the catalogue of devices and links."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import Literal, get_args

from nona.cluster.hardware.mig import board
from nona.cluster.hardware.table_file import Row, shipped_table
from nona.core.errors import HardwareError, suggestion
from nona.core.units import parse_quantity, start_of

# Possessive, as in nona.core.units: many digits are given up in linear time.
_RATE = re.compile(
    r"\s*+(\d++\.?+\d*+(?:[eE][+-]?\d++)?+|\.\d++)\s*+([kMGTP]?)(?:FLOP|FLOPS|OP|OPS|Hz)(?:/s)?\s*+"
)
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
MOST_SMS = 100_000
USUAL_CLOCK = 1.5e9
"""Cycles a second of a device that states none."""


def attribute_schema() -> Mapping[str, Mapping[str, str]]:
    """Attribute → type, unit, required, description: what a device may state."""
    return {
        row["attribute"]: row for row in shipped_table("nona.cluster.hardware", "data/device_attributes.csv")
    }


def _parse_attributes(given: Mapping[str, object], device: str, complete: bool = True) -> dict[str, object]:
    """``given`` in SI units, every key known and every value of the right kind.

    ``complete``: true if no required attribute may be missing.

    >>> _parse_attributes({"fp32": "19.5 TFLOP/s", "sms": 108}, "a", complete=False)
    {'fp32': 19500000000000.0, 'sms': 108}
    """
    schema = attribute_schema()
    for key in given:
        if key not in schema:
            near = get_close_matches(str(key), schema, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the attributes are {', '.join(schema)}."
            raise HardwareError(f"Device {device!r}: attribute {key!r} is unknown; {hint}")
    missing = [k for k, row in schema.items() if row["required"] == "yes" and k not in given]
    if complete and missing:
        raise HardwareError(
            f"Device {device!r}: {', '.join(missing)} must be given, or a 'base' device; add it."
        )
    return {k: _value(device, k, v, schema[k]) for k, v in given.items() if k != "base" and v is not None}


def _value(device: str, key: str, value: object, row: Mapping[str, str]) -> object:
    kind, unit = row["type"], row["unit"]
    if kind == "text":
        if isinstance(value, str):
            return value
        raise HardwareError(f"Device {device!r}: {key}={start_of(value)} must be a text; put it in quotes.")
    if kind == "count":
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_SMS:
            return value
        raise HardwareError(
            f"Device {device!r}: {key}={start_of(value)} must be a whole number up to {MOST_SMS}."
        )
    try:
        if unit.endswith("OP/s") or unit == "GHz":
            return _parse_rate(value)
        dimension = {"GB": "size", "MB": "size", "GB/s": "bandwidth", "": "fraction"}[unit]
        return parse_quantity(value, dimension)  # type: ignore[arg-type]
    except ValueError as error:
        raise HardwareError(f"Device {device!r}: {key}={error}.") from None


def _parse_rate(value: object) -> float:
    """Operations per second: a number, or a text such as ``"312 TFLOP/s"`` or ``"624 TOPS"``.

    >>> _parse_rate("624 TOPS")
    624000000000000.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    match = _RATE.fullmatch(value) if isinstance(value, str) else None
    rate = float(match.group(1)) * _PREFIX[match.group(2)] if match else math.nan
    if not math.isfinite(rate):
        raise ValueError(
            f"{start_of(value)} is not a rate; write for example '312 TFLOP/s', "
            "or a number of operations per second"
        )
    return rate


Precision = Literal["fp64", "fp32", "tf32", "fp16", "fp8", "int8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_STAND_IN: Mapping[Precision, Precision] = {
    **{"fp8": "fp16", "int8": "fp16", "fp16": "fp32", "tf32": "fp32"},
    "fp64": "fp32",  # far too fast; costing with it gives a warning
}


@dataclass(frozen=True, slots=True)
class SourcedFact:
    """The source of one figure; ``checked`` is ``yes``, ``recollected`` or ``user``."""

    source: str
    checked: str


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU or another accelerator.

    ``peaks``: precision → FLOP/s (a multiply-add counts as two), dense. ``fp32`` is IEEE single precision on
        the CUDA cores; the tensor cores' short form of it is ``tf32``. ``fp64`` is in it only where the
        device states it, as nothing wider can stand in.
    ``memory_bytes``, ``bandwidth``: device memory, and bytes/s to it.
    ``sms``: streaming multiprocessors; 0 when unknown (then it cannot be sliced).
    ``l2_bytes``: second-level cache; 0 when unknown (then everything comes from memory).
    ``clock``: cycles/s that it reaches (boost).
    ``peer_bandwidth``, ``host_bandwidth``: bytes/s in one direction to another GPU of the server (``None``:
        there is no such link) and to the host.
    ``compute_efficiency``, ``memory_efficiency``: fractions of peak and bandwidth that kernels reach on this
        device, where its owner has measured them; ``None``: the cost model's constants.
    ``mig``: name of the board whose MIG geometry it has, or ``None``.
    ``facts``: attribute → where it comes from.

    Raises ``HardwareError`` for a rate, size or fraction that is not positive and finite, or an unknown MIG
    board.

    >>> d = Device.from_mapping({"fp32": "10 TFLOP/s", "memory": "24 GB", "bandwidth": "600 GB/s"}, "mine")
    >>> d.peak("fp16"), d.memory_bytes
    (10000000000000.0, 24000000000.0)
    """

    name: str
    peaks: Mapping[Precision, float]
    memory_bytes: float
    bandwidth: float
    sms: int = 0
    l2_bytes: float = 0.0
    clock: float = USUAL_CLOCK
    peer_bandwidth: float | None = None
    host_bandwidth: float | None = None
    compute_efficiency: float | None = None
    memory_efficiency: float | None = None
    mig: str | None = None
    label: str = ""
    facts: Mapping[str, SourcedFact] = field(default_factory=dict)

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
        amounts: dict[str, float] = {
            "memory": self.memory_bytes,
            "bandwidth": self.bandwidth,
            "clock": self.clock,
        }
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
        """Return the precision whose peak counts: ``fp8``/``int8`` → ``fp16`` → ``fp32`` when not stated."""
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
        """Return a user's own device.

        ``attributes``: attribute → value as in ``data/device_attributes.csv``: a text with a unit (``"312
            TFLOP/s"``, ``"40 GB"``), or a plain number in SI units (FLOP/s, bytes, bytes/s).
        ``name``: its name, unless ``attributes`` has ``name``.
        ``base``: device whose attributes count where ``attributes`` says nothing.

        Raises ``HardwareError`` for an unknown or missing attribute, or an impossible value: one line.
        """
        given = dict(attributes)
        own = given.pop("name", name)
        if not isinstance(own, str):
            raise HardwareError(f"Device {own!r}: its name must be a text; give one.")
        values = _parse_attributes(given, own, complete=base is None)
        peaks = {**(base.peaks if base else {}), **{p: values.pop(p) for p in PRECISIONS if p in values}}
        fields: dict[str, object] = {
            k: getattr(base, k)
            for k in (
                "memory_bytes",
                "bandwidth",
                "sms",
                "l2_bytes",
                "clock",
                "peer_bandwidth",
                "host_bandwidth",
                "compute_efficiency",
                "memory_efficiency",
                "mig",
            )
            if base
        }
        field_of = {"memory": "memory_bytes", "l2": "l2_bytes"}
        fields |= {field_of.get(k, k): v for k, v in values.items()}
        facts = {
            **(base.facts if base else {}),
            **{k: SourcedFact("given by the user", "user") for k in given},
        }
        return cls(name=own, peaks=peaks, facts=facts, **fields)  # type: ignore[arg-type]


def _check_positive(device: str, key: str, value: float, most: float) -> None:
    if not (math.isfinite(value) and 0 < value <= most):
        bound = "" if math.isinf(most) else f" and at most {most:g}"
        raise HardwareError(
            f"Device {device!r}: {key}={value:g} must be finite, above 0{bound}; correct the value."
        )


@dataclass(frozen=True, slots=True)
class LinkKind:
    """A kind of link: bytes/s in one direction, seconds of latency, and the source."""

    name: str
    label: str
    capacity: float
    latency_s: float
    fact: SourcedFact


@cache
def devices() -> Mapping[str, Device]:
    """Return the devices of the catalogue.

    Returns
    -------
    mapping of str to Device
        Name → device.

    Examples
    --------
    >>> devices()["a100-40gb"].peak("fp16"), devices()["a100-40gb"].peer_bandwidth
    (312000000000000.0, 300000000000.0)
    """
    rows: dict[str, list[Row]] = {}
    for row in shipped_table("nona.cluster.hardware", "data/devices.csv"):
        rows.setdefault(row["device"], []).append(row)
    return MappingProxyType({name: _device(name, own) for name, own in rows.items()})


@cache
def links() -> Mapping[str, LinkKind]:
    """All links of the catalogue by name.

    >>> links()["25gbe"].capacity
    3125000000.0
    """
    texts = source_texts()
    by_name = {}
    for row in shipped_table("nona.cluster.hardware", "data/links.csv"):
        capacity = parse_quantity(f"{row['capacity']} {row['capacity_unit']}", "bandwidth")
        by_name[row["link"]] = LinkKind(
            name=row["link"],
            label=row["label"],
            capacity=_one_direction(capacity, row["kind"], row["link"]),
            latency_s=parse_quantity(f"{row['latency']} {row['latency_unit']}", "time"),
            fact=SourcedFact(texts[row["source"]], row["checked"]),
        )
    return MappingProxyType(by_name)


def find_device(name: str, own: Mapping[str, Device] | None = None) -> Device:
    """Return the device called ``name`` among the user's own, else in the catalogue.

    Parameters
    ----------
    name : str
        The device's name, as ``a100-40gb``.
    own : mapping of str to Device, optional
        The user's own devices, as :func:`user_devices` returns them.

    Returns
    -------
    Device
        The device with that name.

    Raises
    ------
    HardwareError
        If there is no such device.
    """
    by_name = {**devices(), **(own or {})}
    if name not in by_name:
        raise HardwareError(
            f"Device {name[:60]!r}: it is unknown; {suggestion(name, by_name)}, or define it."
        )
    return by_name[name]


def user_devices(definitions: Mapping[str, Mapping[str, object]]) -> dict[str, Device]:
    """Return the user's own devices.

    Parameters
    ----------
    definitions : mapping of str to mapping
        Name → figures of the device, as in the scenario's ``cluster.devices``. ``base`` names a device of the
        catalogue, whose figures hold where the definition gives none.

    Returns
    -------
    dict of str to Device
        Name → device.

    Raises
    ------
    HardwareError
        For an unknown ``base``, and for a figure that is missing, unknown or out of its bounds.

    Examples
    --------
    >>> user_devices({"a100-pcie": {"base": "a100-80gb", "bandwidth": "1935 GB/s"}})["a100-pcie"].sms
    108
    """
    own = {}
    for name, attributes in definitions.items():
        base = attributes.get("base")
        if base is not None and (not isinstance(base, str) or base not in devices()):
            raise HardwareError(
                f"Device {name!r}: base={base!r} is not in the catalogue; use {', '.join(devices())}."
            )
        own[name] = Device.from_mapping(attributes, name, devices()[base] if isinstance(base, str) else None)
    return own


@cache
def source_texts() -> Mapping[str, str]:
    """Key of a source → what it is."""
    rows = shipped_table("nona.cluster.hardware", "data/sources.csv")
    return MappingProxyType({row["source"]: row["text"] for row in rows})


def _device(name: str, rows: list[Row]) -> Device:
    texts = source_texts()
    values: dict[str, object] = {}
    facts = {}
    for row in rows:
        key = row["attribute"]
        if row["unit"]:
            amount = float(row["value"])
            values[key] = f"{_one_direction(amount, row['kind'], name):g} {row['unit']}"
        else:
            values[key] = int(row["value"]) if key == "sms" else row["value"]
        if row["source"]:
            facts[key] = SourcedFact(texts[row["source"]], row["checked"])
    device = Device.from_mapping(values, name)
    return Device(
        **{f: getattr(device, f) for f in Device.__dataclass_fields__ if f != "facts"},
        facts=facts,
    )


def _one_direction(amount: float, kind: str, owner: str) -> float:
    """Return the dense, one-way figure; data sheets also print sparse ones and sums of two directions."""
    if kind in ("", "dense", "per-direction"):
        return amount
    if kind in ("sparse", "both-directions"):
        return amount / 2
    raise HardwareError(f"Catalogue entry {owner!r}: kind {kind!r} is unknown; correct the table.")
