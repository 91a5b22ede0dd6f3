"""A sweep of two numbers: who wins in each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nona.core.statistics import level_with, not_apart
from nona.core.tables import Column, FilledTable, Table, kept_text, or_dash
from nona.core.text import count_text
from nona.core.units import format_time
from nona.queries.sweeps.report import points_table, simulated, value_text
from nona.queries.sweeps.results import GridRow, SweepGrid, SweepReport, SweptPoint

NO_LEAD = "no clear lead"
Measure = Literal["Mean JCT", "SLO hits"]
MEASURES: tuple[Measure, ...] = ("Mean JCT", "SLO hits")


@dataclass(frozen=True, slots=True)
class GridCell:
    """A scheduler's point in one cell; ``level``: those from which it does not lie clearly apart there."""

    scheduler: str
    point: SweptPoint
    level: tuple[str, ...] = ()

    @property
    def leader(self) -> str:
        """The scheduler where it leads, else that none does."""
        return NO_LEAD if self.level else self.scheduler

    def text(self, measure: Measure) -> str:
        """Return the cell's value in words."""
        if not self.point.steady:
            return "unstable"
        if measure == "SLO hits":
            return kept_text(self.point.kept)
        return or_dash(self.point.jct_s.mean, format_time)


Cells = Mapping[tuple[float, float], GridCell]


def cells(grid: SweepGrid, measure: Measure, scheduler: str = "") -> Cells:
    """(first value, second value) → the scheduler's point; without one, that of the best by the measure.

    Where no scheduler has a steady state, the first of them stands for all.
    """
    by_pair: dict[tuple[float, float], GridCell] = {}
    for row in grid.rows:
        for value in row.sweep.values:
            here = _cells_at(row.sweep, value, scheduler)
            if here:
                best = min(here, key=lambda c: _rank(c, measure))
                by_pair[value, row.value] = replace(best, level=_level(best, here, measure))
    return by_pair


def _level(best: GridCell, here: Sequence[GridCell], measure: Measure) -> tuple[str, ...]:
    """Return the steady schedulers that do not differ clearly from the best, by means or by SLO hits."""
    steady = [c for c in here if c.point.steady]
    if best not in steady:
        return ()
    if measure == "SLO hits":
        return not_apart(best.scheduler, {c.scheduler: c.point.slo_hit_rate for c in steady})
    runs = {c.scheduler: c.point.means_s for c in steady if None not in c.point.means_s}
    return level_with(best.scheduler, runs) if best.scheduler in runs else ()


def _cells_at(report: SweepReport, value: float, scheduler: str) -> list[GridCell]:
    return [
        GridCell(name, p)
        for name, curve in report.schedulers.items()
        if scheduler in ("", name)
        for p in curve.points
        if p.value == value
    ]


def _rank(cell: GridCell, measure: Measure) -> tuple[bool, float, float]:
    """Return the key for sorting: the lowest is best, steady ones first, equal SLO hits by their time."""
    mean = cell.point.jct_s.mean
    time_s = mean if mean is not None else float("inf")
    hits = -(cell.point.kept or 0.0) if measure == "SLO hits" else 0.0
    return not cell.point.steady, hits, time_s


def grid_points(grid: SweepGrid) -> FilledTable:
    """Every simulated point, for pages and files."""
    rows = (point for row in grid.rows for point in simulated(row.sweep, second=row.value))
    return points_table(rows, grid.rows[0].sweep, (grid.key, grid.unit))


def grid_text(grid: SweepGrid) -> str:
    """Format the output of ``nona sweep --second``: the fastest scheduler in each cell."""
    first = grid.rows[0].sweep
    by_pair = cells(grid, "Mean JCT")

    def column_of(value: float) -> Column[GridRow]:
        def best(row: GridRow) -> str | None:
            cell = by_pair.get((value, row.value))
            return f"{cell.leader} {cell.text('Mean JCT')}" if cell else None

        return Column(value_text(value, first.unit), best)

    corner: Column[GridRow] = Column(
        f"{grid.label} \\ {first.label}", lambda row: value_text(row.value, grid.unit)
    )
    shown = Table("", (corner, *map(column_of, first.values))).fill(grid.rows)
    size = f"{count_text(first.replications, 'replication')} of {first.jobs:,} jobs per cell"
    lines = [f"{first.label} × {grid.label}: {size} ({first.engine}, {grid.seconds:.1f} s)"]
    return "\n".join([*lines, "", shown.text()])
