"""The catalogue: devices and links that ship with Nona Planner, with a source for every cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from nona.errors import HardwareError
from nona.hardware.device import Device, Fact
from nona.hardware.table_file import Row, shipped_table
from nona.units import parse_quantity


@dataclass(frozen=True, slots=True)
class Link:
    """A kind of link: bytes/s in one direction, seconds of latency, and the source."""

    name: str
    label: str
    capacity: float
    latency_s: float
    fact: Fact


@cache
def devices() -> Mapping[str, Device]:
    """All devices of the catalogue by name.

    >>> devices()["a100-40gb"].peak("fp16"), devices()["a100-40gb"].peer_bandwidth
    (312000000000000.0, 300000000000.0)
    """
    rows: dict[str, list[Row]] = {}
    for row in shipped_table("nona.hardware", "data/devices.csv"):
        rows.setdefault(row["device"], []).append(row)
    return MappingProxyType({name: _device(name, own) for name, own in rows.items()})


@cache
def links() -> Mapping[str, Link]:
    """All links of the catalogue by name.

    >>> links()["25gbe"].capacity
    3125000000.0
    """
    texts = source_texts()
    found = {}
    for row in shipped_table("nona.hardware", "data/links.csv"):
        capacity = parse_quantity(f"{row['capacity']} {row['capacity_unit']}", "bandwidth")
        found[row["link"]] = Link(
            name=row["link"],
            label=row["label"],
            capacity=_one_direction(capacity, row["kind"], row["link"]),
            latency_s=parse_quantity(f"{row['latency']} {row['latency_unit']}", "time"),
            fact=Fact(texts[row["source"]], row["checked"]),
        )
    return MappingProxyType(found)


def find_device(name: str, own: Mapping[str, Device] | None = None) -> Device:
    """The device called ``name`` among the user's own, else in the catalogue.

    Raises
    ------
    HardwareError
        When there is none.
    """
    known = {**devices(), **(own or {})}
    if name not in known:
        raise HardwareError(f"Device {name!r}: it is unknown; use {', '.join(known)}, or define it.")
    return known[name]


def user_devices(definitions: Mapping[str, Mapping[str, object]]) -> dict[str, Device]:
    """The user's own devices; ``base`` names one of the catalogue to start from.

    >>> user_devices({"a100-pcie": {"base": "a100-80gb", "bandwidth": "1935 GB/s"}})["a100-pcie"].sms
    108
    """
    made = {}
    for name, attributes in definitions.items():
        base = attributes.get("base")
        if base is not None and (not isinstance(base, str) or base not in devices()):
            raise HardwareError(
                f"Device {name!r}: base={base!r} is not in the catalogue; use {', '.join(devices())}."
            )
        made[name] = Device.from_mapping(attributes, name, devices()[base] if isinstance(base, str) else None)
    return made


@cache
def source_texts() -> Mapping[str, str]:
    """Key of a source → what it is."""
    rows = shipped_table("nona.hardware", "data/sources.csv")
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
            facts[key] = Fact(texts[row["source"]], row["checked"])
    device = Device.from_mapping(values, name)
    return Device(
        **{f: getattr(device, f) for f in Device.__dataclass_fields__ if f != "facts"},
        facts=facts,
    )


def _one_direction(amount: float, kind: str, owner: str) -> float:
    """The dense, one-way figure; data sheets also print sparse ones and sums of two directions."""
    if kind in ("", "dense", "per-direction"):
        return amount
    if kind in ("sparse", "both-directions"):
        return amount / 2
    raise HardwareError(f"Catalogue entry {owner!r}: kind {kind!r} is unknown; correct the table.")
