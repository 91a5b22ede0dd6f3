"""Sweeps of one number, with a report on every scheduler at each value, and of two."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from nona.errors import ScenarioError
from nona.report.sweep_findings import LOAD, holds_text, place_text, target_text, there_text
from nona.report.text import counted, listed
from nona.results import sweeps
from nona.results.document import UNKNOWN, Estimate
from nona.results.simulation import SchedulerResult
from nona.results.sweeps import GridRow, SweepGrid, SweepReport, SweptPoint, Unit
from nona.simulation.records import State
from nona.statistics import paired_ratio
from nona.tables import COUNT, FACTOR, RATE, SHARE, TIME, Column, Filled, Kind, Table, or_dash, share_text
from nona.units import Dimension, format_bandwidth, format_number, format_size, format_time, parse_quantity

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
    """Values from ``first:last:step``, both ends included, or from a list with commas; ascending, each once.

    >>> parse_values("0:0.9:0.3", "fraction")
    (0.0, 0.3, 0.6, 0.9)
    >>> parse_values("10 Gbit/s, 5 Gbit/s", "bandwidth")
    (625000000.0, 1250000000.0)

    Raises ``ScenarioError`` for anything else, a step that is not above 0, or too many values.
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


Formula = Mapping[float, float | None]
REFERENCE = "nona"


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """One scheduler at one value: its state and why, the mean JCT (s) of each replication in order.

    ``result`` is ``None`` where the scheduler cannot run: it samples from a placement, and there is none.
    """

    state: State
    reason: str
    means_s: tuple[float, ...]
    result: SchedulerResult | None
    engine: str = ""


@dataclass(frozen=True, eq=False)
class Curves:
    """The results of a sweep so far.

    Attributes
    ----------
    key, label, unit
        The swept number: where it stands in the scenario, what people call it, its unit
        (:data:`~nona.results.sweeps.Unit`).
    values
        Those at which every scheduler is simulated; ``points`` may hold more, near edges and bends.
    points
        Scheduler → value → point.
    formula
        Scheduler → value → predicted mean JCT (s), ``None`` where the formula has no steady state.
    slo_s
        The SLO that all classes share, if they do.
    target, needed
        The share of SLOs to keep; in a sweep of the load, the servers needed for it.
    """

    key: str
    label: str
    unit: sweeps.Unit
    values: tuple[float, ...]
    points: Mapping[str, Mapping[float, CurvePoint]]
    formula: Mapping[str, Formula]
    jobs: int
    replications: int
    slo_s: float | None
    stage: str
    fraction: float
    seconds: float
    target: float = sweeps.TARGET
    needed: tuple[sweeps.ServersNeeded, ...] = ()


def sweep_report(curves: Curves) -> sweeps.SweepReport:
    """Build the report of ``nona sweep --json``; above a ratio of 1 the reference is faster."""
    reference = _reference_of(list(curves.points))
    beside = curves.points[reference]
    engines = sorted({p.engine for c in curves.points.values() for p in c.values() if p.engine})
    return sweeps.SweepReport.like(
        curves,
        reference=reference,
        engine=", ".join(engines),
        complete=curves.fraction >= 1,
        schedulers={
            name: _scheduler(points, curves.formula.get(name), beside)
            for name, points in curves.points.items()
        },
    )


def _reference_of(schedulers: Sequence[str]) -> str:
    """The scheduler that the others are compared with: nona, or else the first.

    >>> _reference_of(["local", "nona"]), _reference_of(["spread", "local"])
    ('nona', 'spread')
    """
    return REFERENCE if REFERENCE in schedulers else schedulers[0]


def turns(flags: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """Neighbouring values between which the flag changes.

    >>> turns([(0.0, True), (0.5, True), (0.7, False), (0.9, False)])
    [(0.5, 0.7)]
    """
    return [(a, b) for (a, x), (b, y) in pairwise(flags) if x != y]


def stable_flags(points: Mapping[float, CurvePoint]) -> list[tuple[float, bool]]:
    """Value and whether it has a steady state, ascending; a backlog at the end does not make it unstable."""
    return [(value, points[value].state != "overloaded") for value in sorted(points)]


def formula_flags(formula: Formula) -> list[tuple[float, bool]]:
    """Value and whether the formula has a steady state there, ascending."""
    return [(value, formula[value] is not None) for value in sorted(formula)]


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
) -> Filled:
    """Simulated points, for pages and files; ``second``: key and unit of a second number."""
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
        Column("SLO hits", lambda r: r.point.slo_hit_rate, RATE, "slo_hit_rate"),
        Column("executors busy", lambda r: r.point.utilization.compute, SHARE, "utilization_compute"),
        Column("link busy", lambda r: r.point.utilization.network, SHARE, "utilization_network"),
    )
    return Table("", columns).of(rows)


def sweep_points(report: sweeps.SweepReport) -> Filled:
    """Every simulated point of a sweep, for pages and files."""
    return points_table(simulated(report), report)


def _values(unit: sweeps.Unit) -> Kind:
    return Kind(partial(value_text, unit=unit))


def _scheduler(
    points: Mapping[float, CurvePoint], formula: Formula | None, beside: Mapping[float, CurvePoint]
) -> sweeps.SweptCurve:
    predicted = formula or {}
    formula_points = tuple(sweeps.FormulaPoint(value=v, jct_s=predicted[v]) for v in sorted(predicted))
    return sweeps.SweptCurve(
        points=tuple(_point(v, points[v], predicted, beside.get(v)) for v in sorted(points)),
        edges=_edges(stable_flags(points)),
        formula=formula_points or None,
        formula_edges=_edges(formula_flags(predicted)),
    )


def _edges(flags: Sequence[tuple[float, bool]]) -> tuple[sweeps.SweptEdge, ...]:
    stable = dict(flags)
    return tuple(
        sweeps.SweptEdge(stable=a, overloaded=b) if stable[a] else sweeps.SweptEdge(stable=b, overloaded=a)
        for a, b in turns(flags)
    )


def _point(value: float, point: CurvePoint, formula: Formula, beside: CurvePoint | None) -> sweeps.SweptPoint:
    result, predicted_s = point.result, formula.get(value)
    jct_s = UNKNOWN if result is None or point.state == "overloaded" else result.jct_s
    return sweeps.SweptPoint(
        value=value,
        state=point.state,
        state_reason=point.reason,
        replications=len(point.means_s),
        jct_s=Estimate(mean=jct_s.mean, ci95=jct_s.ci95),
        means_s=point.means_s,
        slo_hit_rate=result.slo_hit_rate if result else UNKNOWN,
        utilization=sweeps.SweptUtilization(
            compute=result.utilization.compute if result else None,
            network=result.utilization.network if result else None,
        ),
        predicted_s=predicted_s,
        error=predicted_s / jct_s.mean - 1 if predicted_s is not None and jct_s.mean else None,
        ratio=_ratio(point, beside),
        has_formula=value in formula,
    )


def _ratio(point: CurvePoint, beside: CurvePoint | None) -> Estimate:
    """Paired over the replications that both have; none if one of the two has no steady state."""
    if beside is None or "overloaded" in (point.state, beside.state):
        return UNKNOWN
    both = min(len(point.means_s), len(beside.means_s))
    return paired_ratio(point.means_s[:both], beside.means_s[:both]).estimate


Measure = Literal["Mean JCT", "SLO hits"]
MEASURES: tuple[Measure, ...] = ("Mean JCT", "SLO hits")
SHOWN = 4


@dataclass(frozen=True, eq=False)
class GridCurves:
    """The results of a sweep of two numbers so far: for each value of the second, a sweep of the first.

    ``key``, ``label``, ``unit`` and ``values`` are those of the second number.
    """

    key: str
    label: str
    unit: Unit
    values: tuple[float, ...]
    rows: Mapping[float, Curves]
    stage: str
    fraction: float
    seconds: float


def grid_report(curves: GridCurves) -> SweepGrid:
    """Build the report of ``nona sweep --second … --json``."""
    return SweepGrid.like(
        curves,
        rows=tuple(GridRow(value=v, sweep=sweep_report(curves.rows[v])) for v in sorted(curves.rows)),
        complete=curves.fraction >= 1,
    )


@dataclass(frozen=True, slots=True)
class Cell:
    """A scheduler's point in one cell."""

    scheduler: str
    point: SweptPoint

    @property
    def hits(self) -> float | None:
        """Its SLO hits; none are kept where there is no steady state."""
        return self.point.slo_hit_rate.mean if self.point.steady else 0.0

    def text(self, measure: Measure) -> str:
        """The measure's value."""
        if not self.point.steady:
            return "unstable"
        if measure == "SLO hits":
            return or_dash(self.hits, lambda v: share_text(v, 1))
        return or_dash(self.point.jct_s.mean, format_time)


Cells = Mapping[tuple[float, float], Cell]


def cells(grid: SweepGrid, measure: Measure, scheduler: str = "") -> Cells:
    """(first value, second value) → the scheduler's point; without one, that of the best by the measure.

    Where no scheduler has a steady state, the first of them stands for all.
    """
    by_pair: dict[tuple[float, float], Cell] = {}
    for row in grid.rows:
        for value in row.sweep.values:
            here = _at(row.sweep, value, scheduler)
            if here:
                by_pair[value, row.value] = min(here, key=lambda c: _rank(c, measure))
    return by_pair


def _at(report: SweepReport, value: float, scheduler: str) -> list[Cell]:
    return [
        Cell(name, p)
        for name, curve in report.schedulers.items()
        if scheduler in ("", name)
        for p in curve.points
        if p.value == value
    ]


def _rank(cell: Cell, measure: Measure) -> tuple[bool, float, float]:
    """The lowest is best: steady ones first, equal SLO hits by their time."""
    mean = cell.point.jct_s.mean
    time_s = mean if mean is not None else float("inf")
    hits = -(cell.hits or 0.0) if measure == "SLO hits" else 0.0
    return not cell.point.steady, hits, time_s


def grid_finding(grid: SweepGrid) -> str:
    """Count the cells that each scheduler wins."""
    by_pair = cells(grid, "Mean JCT")
    steady = Counter(c.scheduler for c in by_pair.values() if c.point.steady)
    if not steady:
        return "No scheduler has a steady state in any cell." if by_pair else "Nothing is simulated yet."
    names = [f"{name} in {count}" for name, count in steady.most_common(SHOWN)]
    more = len(steady) - SHOWN
    lost = len(by_pair) - sum(steady.values())
    ending = f" In {counted(lost, 'cell')} no scheduler has a steady state." if lost else ""
    others = f" and {more} more" if more > 0 else ""
    return f"Lowest mean JCT of {counted(len(by_pair), 'cell')}: {listed(names)}{others}.{ending}"


def grid_targets(grid: SweepGrid, scheduler: str = "") -> str:
    """Up to which first value the target holds at each second one, for one scheduler or the best there."""
    clauses = []
    for row in grid.rows:
        reached = _reached(row.sweep, scheduler)
        if reached is not None:
            clauses.append(f"{place_text(grid.label, grid.unit, row.value).lower()} {reached}")
    if not clauses:
        return ""
    who = f" ({scheduler})" if scheduler else " (best scheduler)"
    return (
        f"{target_text(_target(grid))} of the SLOs are kept{who}: {'; '.join(_few(clauses))}. All simulated."
    )


def _few(clauses: list[str]) -> list[str]:
    if len(clauses) <= SHOWN + 1:
        return clauses
    step = (len(clauses) - 1) / SHOWN
    return [clauses[round(i * step)] for i in range(SHOWN + 1)]


def _reached(report: SweepReport, scheduler: str) -> str | None:
    """The range of the scheduler, or of the one that keeps the target at most of the values."""
    target = report.target
    names = [scheduler] if scheduler else list(report.schedulers)
    kept = {
        n: sum((Cell(n, p).hits or 0.0) >= target for p in report.schedulers[n].points)
        for n in names
        if n in report.schedulers
    }
    best = max(kept, key=lambda n: kept[n], default=None)
    return holds_text(report.schedulers[best], report) or None if best is not None else None


def _target(grid: SweepGrid) -> float:
    return grid.rows[0].sweep.target


def first_text(report: SweepReport, value: float) -> str:
    """A value of the first number as the axis writes it."""
    return there_text(value, report) if report.key == LOAD else value_text(value, report.unit)


def grid_points(grid: SweepGrid) -> Filled:
    """Every simulated point, for pages and files."""
    rows = (point for row in grid.rows for point in simulated(row.sweep, second=row.value))
    return points_table(rows, grid.rows[0].sweep, (grid.key, grid.unit))


def grid_text(grid: SweepGrid) -> str:
    """Format the output of ``nona sweep --second``: the fastest scheduler in each cell."""
    first = grid.rows[0].sweep
    by_pair = cells(grid, "Mean JCT")

    def at(value: float) -> Column[GridRow]:
        def best(row: GridRow) -> str | None:
            cell = by_pair.get((value, row.value))
            return f"{cell.scheduler} {cell.text('Mean JCT')}" if cell else None

        return Column(value_text(value, first.unit), best)

    corner: Column[GridRow] = Column(
        f"{grid.label} \\ {first.label}", lambda row: value_text(row.value, grid.unit)
    )
    shown = Table("", (corner, *map(at, first.values))).of(grid.rows)
    size = f"{counted(first.replications, 'replication')} of {first.jobs:,} jobs per cell"
    lines = [f"{first.label} × {grid.label}: {size} ({first.engine}, {grid.seconds:.1f} s)"]
    lines += [grid_finding(grid), grid_targets(grid)]
    return "\n".join([*(line for line in lines if line), "", shown.text()])
