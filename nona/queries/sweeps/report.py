"""A sweep's values as text and from text, and its simulated points as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, get_args

from nona.core.errors import ScenarioError
from nona.core.tables import COUNT, FACTOR, KEPT, SHARE, TIME, Column, FilledTable, NumberKind, Table
from nona.core.units import (
    Dimension,
    format_bandwidth,
    format_number,
    format_size,
    format_time,
    parse_quantity,
)
from nona.queries.sweeps import results as sweeps

MOST_VALUES = 200
ABOUT = 11  # of the values from one to another
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
    """Return the factor for values of ``unit`` on an axis, and the name of the axis unit.

    >>> axis_scale("fraction"), axis_scale("count")
    ((100.0, '%'), (1.0, ''))
    """
    return _AXES.get(unit, (1.0, ""))


def value_text(value: float, unit: str) -> str:
    """Return a value as text with its unit.

    >>> value_text(0.594, "fraction"), value_text(1.25e9, "bandwidth"), value_text(12.0, "count")
    ('59.4 %', '10 Gbit/s', '12')
    >>> value_text(1.5, "factor"), value_text(300.0, "rate")
    ('1.5 ×', '300/s')
    """
    if unit == "fraction":
        return f"{format_number(100 * value)} %"
    formats = {"bandwidth": format_bandwidth, "time": format_time, "size": format_size}
    if unit in formats:
        return formats[unit](value)
    ending = {"factor": " ×", "rate": "/s"}.get(unit, "")
    return f"{format_number(value, 4)}{ending}" if unit != "count" else f"{value:.0f}"


def parse_value(text: str, unit: str, where: str) -> float:
    """Parse a value with a unit to SI; ``where`` names the field in an error.

    >>> parse_value("60 %", "fraction", "from"), parse_value("10 Gbit/s", "bandwidth", "from")
    (0.6, 1250000000.0)
    >>> parse_value("12", "count", "from"), parse_value("1.5 ×", "factor", "from")
    (12.0, 1.5)

    Raises ``ScenarioError`` for what is no value of this unit; a count must be a whole number.
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
    """Values from ``first to last`` (round ones), ``first:last:step`` or a list with commas; ascending.

    >>> parse_values("0 % to 95 %", "fraction")[-3:]
    (0.8, 0.9, 0.95)
    >>> parse_values("0:0.9:0.3", "fraction")
    (0.0, 0.3, 0.6, 0.9)
    >>> parse_values("10 Gbit/s, 5 Gbit/s", "bandwidth")
    (625000000.0, 1250000000.0)

    Raises ``ScenarioError`` for anything else, a step that is not above 0, or too many values.
    """
    if " to " in text:
        low, high = sorted(parse_value(part, unit, where) for part in text.split(" to ", 1))
        values = list(spaced(low, high, ABOUT, unit))
    elif ":" in text:
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
    ascending = tuple(sorted(set(values)))
    _check_count(len(ascending), where)
    return ascending


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
    power = 10.0 ** math.floor(math.log10(step))
    rounded = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= step * (1 - 1e-9))
    return max(1.0, math.ceil(rounded)) if whole else rounded


def by_ratio(unit: str) -> bool:
    """Return whether values of ``unit`` are compared by their ratio rather than by their difference."""
    return unit in ("bandwidth", "size")


def _check_count(count: int, where: str) -> None:
    if not 1 <= count <= MOST_VALUES:
        raise ScenarioError([f"{where}: {count} values; give 1 to {MOST_VALUES}."])


class Simulated(NamedTuple):
    """A point of a scheduler's curve; ``sweep`` names its sweep where there are several."""

    key: str
    scheduler: str
    point: sweeps.SweptPoint
    sweep: str = ""
    second: float | None = None


def simulated(
    report: sweeps.SweepReport, sweep: str = "", second: float | None = None
) -> Iterator[Simulated]:
    """Every simulated point of a sweep."""
    for name, curve in report.schedulers.items():
        yield from (Simulated(report.key, name, p, sweep, second) for p in curve.points)


def points_table(
    rows: Iterable[Simulated], report: sweeps.SweepReport, second: tuple[str, sweeps.Unit] | None = None
) -> FilledTable:
    """Return simulated points, for pages and files; ``second``: key and unit of a second number."""
    base, (key, unit) = report.reference, second or ("", report.unit)
    columns: tuple[Column[Simulated], ...] = (
        Column("sweep", lambda r: r.sweep or None, optional=True),
        Column("second key", lambda r: key if second else None, key="second_key", optional=True),
        Column("second value", lambda r: r.second, _values(unit), "second_value", optional=True),
        Column("key", lambda r: r.key),
        Column("value", lambda r: r.point.value, _values(report.unit)),
        Column("scheduler", lambda r: r.scheduler),
        Column("state", lambda r: r.point.state),
        Column("replications", lambda r: r.point.replications, COUNT),
        Column("mean JCT", lambda r: r.point.jct_s, TIME, "mean_jct", interval=True),
        Column("predicted JCT", lambda r: r.point.predicted_s, TIME, "predicted_jct"),
        Column(f"times {base}", lambda r: r.point.ratio, FACTOR, f"ratio_to_{base}", interval=True),
        Column("SLO hits", lambda r: r.point.slo_hit_rate, KEPT, "slo_hit_rate"),
        Column("executors busy", lambda r: r.point.utilization.compute, SHARE, "utilization_compute"),
        Column("link busy", lambda r: r.point.utilization.network, SHARE, "utilization_network"),
    )
    return Table("", columns).fill(rows)


def sweep_points(report: sweeps.SweepReport) -> FilledTable:
    """Every simulated point of a sweep, for pages and files."""
    return points_table(simulated(report), report)


def _values(unit: sweeps.Unit) -> NumberKind:
    return NumberKind(partial(value_text, unit=unit))
