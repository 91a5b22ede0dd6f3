"""Values of the swept number: parsing and formatting."""

from __future__ import annotations

import math
from typing import get_args

from nona.errors import ScenarioError
from nona.units import (
    Dimension,
    format_bandwidth,
    format_size,
    format_time,
    parse_quantity,
)

MOST_VALUES = 200
_DIMENSIONS = get_args(Dimension)
# Unit → what an axis multiplies values by, and how it calls them.
_AXES: dict[str, tuple[float, str]] = {
    "fraction": (100.0, "%"),
    "bandwidth": (8e-9, "Gbit/s"),
    "time": (1e3, "ms"),
    "size": (1e-6, "MB"),
    "rate": (1.0, "1/s"),
    "factor": (1.0, "×"),
}


def axis_scale(unit: str) -> tuple[float, str]:
    """The factor for values of ``unit`` on an axis, and the name of the axis unit.

    >>> axis_scale("fraction"), axis_scale("count")
    ((100.0, '%'), (1.0, ''))
    """
    return _AXES.get(unit, (1.0, ""))


def value_text(value: float, unit: str) -> str:
    """A value as text with its unit.

    >>> value_text(0.594, "fraction"), value_text(1.25e9, "bandwidth"), value_text(12.0, "count")
    ('59.4 %', '10 Gbit/s', '12')
    >>> value_text(1.5, "factor"), value_text(300.0, "rate")
    ('1.5 ×', '300/s')
    """
    if unit == "fraction":
        return f"{100 * value:.3g} %"
    formats = {"bandwidth": format_bandwidth, "time": format_time, "size": format_size}
    if unit in formats:
        return formats[unit](value)
    ending = {"factor": " ×", "rate": "/s"}.get(unit, "")
    return f"{value:.4g}{ending}" if unit != "count" else f"{value:.0f}"


def parse_value(text: str, unit: str, where: str) -> float:
    """Parse a value with a unit to SI; ``where`` names the field in an error.

    >>> parse_value("60 %", "fraction", "from"), parse_value("10 Gbit/s", "bandwidth", "from")
    (0.6, 1250000000.0)
    >>> parse_value("12", "count", "from"), parse_value("1.5 ×", "factor", "from")
    (12.0, 1.5)

    Raises
    ------
    ScenarioError
        For what is no value of this unit; a count must be a whole number.
    """
    try:
        if unit in _DIMENSIONS:
            return parse_quantity(text.strip(), unit)  # type: ignore[arg-type]
        value = float(text.strip().removesuffix("×").removesuffix("x"))
    except ValueError as error:
        why = str(error) if unit in _DIMENSIONS else f"{text!r} is not a number; write for example 2"
        raise ScenarioError([f"{where}: {why}."]) from None
    if not math.isfinite(value) or (unit == "count" and value != int(value)):
        kind = "a whole number" if unit == "count" else "finite"
        raise ScenarioError([f"{where}: {text!r} must be {kind}; change it."])
    return value


def parse_values(text: str, unit: str, where: str = "--values") -> tuple[float, ...]:
    """Values from ``first:last:step``, both ends included, or from a list with commas; ascending, each once.

    >>> parse_values("0:0.9:0.3", "fraction")
    (0.0, 0.3, 0.6, 0.9)
    >>> parse_values("10 Gbit/s, 5 Gbit/s", "bandwidth")
    (625000000.0, 1250000000.0)

    Raises
    ------
    ScenarioError
        For anything else, a step that is not above 0, or too many values.
    """
    if ":" in text:
        parts = text.split(":")
        if len(parts) != 3:
            raise ScenarioError([f"{where}: {text!r} must be FIRST:LAST:STEP, or values with commas."])
        first, last, step = (parse_value(p, unit, where) for p in parts)
        if step <= 0 or last < first:
            raise ScenarioError([f"{where}: {text!r} must ascend by a step above 0; correct it."])
        count = math.floor((last - first) / step + 1e-9) + 1
        _check_count(min(count, 10**9), where)
        values = [float(f"{first + i * step:.12g}") for i in range(count)]
    else:
        values = [parse_value(p, unit, where) for p in text.split(",") if p.strip()]
    found = tuple(sorted(set(values)))
    _check_count(len(found), where)
    return found


def spaced(low: float, high: float, count: int, unit: str) -> tuple[float, ...]:
    """About ``count`` values from ``low`` to ``high``: round ones between the two ends.

    Bandwidths and sizes go by equal ratios; whole numbers may be fewer.

    >>> spaced(0.0, 0.95, 5, "fraction"), spaced(1, 80, 5, "count"), spaced(1.0, 4.0, 3, "bandwidth")
    ((0.0, 0.25, 0.5, 0.75, 0.95), (1.0, 20.0, 40.0, 60.0, 80.0), (1.0, 2.0, 4.0))
    """
    if count < 2 or low == high:
        return (float(low),)
    if by_ratio(unit) and low > 0:
        inner = [low * (high / low) ** (i / (count - 1)) for i in range(1, count - 1)]
    else:
        step = _round_up((high - low) / (count - 1), whole=unit == "count")
        first, last = math.floor(low / step) + 1, math.ceil(high / step) - 1
        inner = [k * step for k in range(first, last + 1)]
    return tuple(sorted({float(low), *(float(f"{v:.6g}") for v in inner), float(high)}))


def _round_up(step: float, whole: bool) -> float:
    """The next round step."""
    power = 10.0 ** math.floor(math.log10(step))
    rounded = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= step * (1 - 1e-9))
    return max(1.0, math.ceil(rounded)) if whole else rounded


def by_ratio(unit: str) -> bool:
    """Whether values of ``unit`` are compared by their ratio rather than by their difference."""
    return unit in ("bandwidth", "size")


def _check_count(count: int, where: str) -> None:
    if not 1 <= count <= MOST_VALUES:
        raise ScenarioError([f"{where}: {count} values; give 1 to {MOST_VALUES}."])
