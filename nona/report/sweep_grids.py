"""A sweep of two numbers: who wins in each cell, and up to where the target holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nona.report.sweep_findings import holds_text, place_text, target_text
from nona.report.sweeps import points_table, simulated, value_text
from nona.report.text import counted, listed
from nona.results.sweeps import GridRow, SweepGrid, SweepReport, SweptPoint
from nona.statistics import level_with, not_apart
from nona.tables import Column, Filled, Table, or_dash, share_text
from nona.units import format_time

NO_LEAD = "no clear lead"
Measure = Literal["Mean JCT", "SLO hits"]
MEASURES: tuple[Measure, ...] = ("Mean JCT", "SLO hits")
SHOWN = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """A scheduler's point in one cell; ``level``: those from which it does not lie clearly apart there."""

    scheduler: str
    point: SweptPoint
    level: tuple[str, ...] = ()

    @property
    def leader(self) -> str:
        """The scheduler where it leads, else that none does."""
        return NO_LEAD if self.level else self.scheduler

    def text(self, measure: Measure) -> str:
        if not self.point.steady:
            return "unstable"
        if measure == "SLO hits":
            return or_dash(self.point.kept, lambda v: share_text(v, 1))
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
                best = min(here, key=lambda c: _rank(c, measure))
                by_pair[value, row.value] = replace(best, level=_level(best, here, measure))
    return by_pair


def _level(best: Cell, here: Sequence[Cell], measure: Measure) -> tuple[str, ...]:
    """The steady schedulers that do not differ clearly from the best: in means by replication, or in hits."""
    steady = [c for c in here if c.point.steady]
    if best not in steady:
        return ()
    if measure == "SLO hits":
        return not_apart(best.scheduler, {c.scheduler: c.point.slo_hit_rate for c in steady})
    runs = {c.scheduler: c.point.means_s for c in steady if None not in c.point.means_s}
    return level_with(best.scheduler, runs) if best.scheduler in runs else ()


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
    hits = -(cell.point.kept or 0.0) if measure == "SLO hits" else 0.0
    return not cell.point.steady, hits, time_s


def grid_finding(grid: SweepGrid) -> str:
    """Count the cells that each scheduler wins."""
    by_pair = cells(grid, "Mean JCT")
    steady = Counter(c.leader for c in by_pair.values() if c.point.steady)
    if not steady:
        return "No scheduler has a steady state in any cell." if by_pair else "Nothing is simulated yet."
    lost = len(by_pair) - sum(steady.values())
    level = steady.pop(NO_LEAD, 0)
    names = [f"{name} in {count}" for name, count in steady.most_common(SHOWN)]
    more = len(steady) - SHOWN
    ending = f" In {counted(lost, 'cell')} no scheduler has a steady state." if lost else ""
    others = f" and {more} more" if more > 0 else ""
    of = counted(len(by_pair), "cell")
    if not names:
        return f"No scheduler has a clearly lower mean JCT in any of {of}.{ending}"
    ties = f" In {counted(level, 'cell')} none leads clearly." if level else ""
    return f"Lowest mean JCT of {of}: {listed(names)}{others}.{ties}{ending}"


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
    target = target_text(grid.rows[0].sweep.target)
    return f"{target} of the SLOs are kept{who}: {'; '.join(_few(clauses))}. All simulated."


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
        n: sum((p.kept or 0.0) >= target for p in report.schedulers[n].points)
        for n in names
        if n in report.schedulers
    }
    best = max(kept, key=lambda n: kept[n], default=None)
    return holds_text(report.schedulers[best], report) or None if best is not None else None


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
            return f"{cell.leader} {cell.text('Mean JCT')}" if cell else None

        return Column(value_text(value, first.unit), best)

    corner: Column[GridRow] = Column(
        f"{grid.label} \\ {first.label}", lambda row: value_text(row.value, grid.unit)
    )
    shown = Table("", (corner, *map(at, first.values))).of(grid.rows)
    size = f"{counted(first.replications, 'replication')} of {first.jobs:,} jobs per cell"
    lines = [f"{first.label} × {grid.label}: {size} ({first.engine}, {grid.seconds:.1f} s)"]
    lines += [grid_finding(grid), grid_targets(grid)]
    return "\n".join([*(line for line in lines if line), "", shown.text()])
