"""Attributes of a device as people write them → SI values, by the schema in device_attributes.csv."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from difflib import get_close_matches

from nona.errors import HardwareError
from nona.hardware.table_file import shipped_table
from nona.units import parse_quantity, start_of

# Possessive, as in nona.units: many digits are given up in linear time.
_RATE = re.compile(
    r"\s*+(\d++\.?+\d*+(?:[eE][+-]?\d++)?+|\.\d++)\s*+([kMGTP]?)(?:FLOP|FLOPS|OP|OPS)(?:/s)?\s*+"
)
_PREFIX = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
MOST_SMS = 100_000


def attribute_schema() -> Mapping[str, Mapping[str, str]]:
    """Attribute → type, unit, required, description: what a device may state."""
    return {row["attribute"]: row for row in shipped_table("nona.hardware", "data/device_attributes.csv")}


def parse_attributes(given: Mapping[str, object], device: str, complete: bool = True) -> dict[str, object]:
    """``given`` in SI units, every key known and every value of the right kind.

    Parameters
    ----------
    complete
        Whether the required attributes must all be there.

    Raises
    ------
    HardwareError
        For the first key or value that breaks the schema.

    >>> parse_attributes({"fp32": "19.5 TFLOP/s", "sms": 108}, "a", complete=False)
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
        if unit.endswith("OP/s"):
            return parse_rate(value)
        dimension = {"GB": "size", "GB/s": "bandwidth", "": "fraction"}[unit]
        return parse_quantity(value, dimension)  # type: ignore[arg-type]
    except ValueError as error:
        raise HardwareError(f"Device {device!r}: {key}={error}.") from None


def parse_rate(value: object) -> float:
    """Operations per second: a number, or a text such as ``"312 TFLOP/s"`` or ``"624 TOPS"``.

    >>> parse_rate("624 TOPS")
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
