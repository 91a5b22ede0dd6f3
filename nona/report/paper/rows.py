"""Results of the paper's evaluation as rows: ratios, edges of stability, growth in overload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nona.report.sweeps.report import curve_rows
from nona.report.sweeps.stability import merged_spans, stability_text
from nona.report.sweeps.text import ratio_text
from nona.report.sweeps.values import value_text
from nona.results.studies.paper import Growth, PaperStudy
from nona.results.sweep import SweepReport, SweptCurve, SweptPoint
from nona.units import format_time

FAR = 0.9  # of the load at the edge: up to there a run has time to reach its steady state


class StableRatio(NamedTuple):
    """A ratio to nona, the sweep and the scheduler that it belongs to, and its point."""

    ratio: float
    sweep: str
    scheduler: str
    point: SweptPoint


def point_rows(data: PaperStudy) -> list[dict[str, object]]:
    """One flat row for every simulated point of every sweep, SI units: for CSV and Parquet files."""
    return [{"sweep": name, **row} for name, report in data.sweeps.items() for row in curve_rows(report)]


def edge_of(curve: SweptCurve) -> float | None:
    """The first value from which on a scheduler has no steady state; ``None``: stable throughout."""
    for low, high in merged_spans(curve):
        if low is not None or high is not None:
            return low
    return None


def ratios(data: PaperStudy, far: bool = False) -> Iterator[StableRatio]:
    """The ratios wherever both are stable; ``far``: only well below the edge."""
    for name, report in data.sweeps.items():
        yield from sweep_ratios(name, report, far)


def sweep_ratios(name: str, report: SweepReport, far: bool) -> Iterator[StableRatio]:
    """:func:`ratios` of one sweep."""
    for scheduler, curve in report.schedulers.items():
        edge = edge_of(curve)
        for point in curve.points if scheduler != report.reference else ():
            close = edge is not None and point.value > FAR * edge
            mean, known = point.ratio.mean, point.ratio.ci95 is not None
            if point.state == "stable" and mean is not None and known and not (far and close):
                yield StableRatio(mean, name, scheduler, point)


def largest(data: PaperStudy, far: bool = False) -> StableRatio | None:
    """The point with the largest ratio to nona, of those that :func:`ratios` gives."""
    return max(ratios(data, far), key=_first, default=None)


def faster(data: PaperStudy, sweep: str) -> dict[str, tuple[int, int]]:
    """Scheduler → at how many swept values it is clearly faster than nona, of those where both are stable."""
    report = data.sweeps[sweep]
    found = {}
    for scheduler, curve in report.schedulers.items():
        known = [p.ratio.ci95 for p in curve.points if p.value in report.values and p.ratio.ci95]
        wins = sum(high < 1 for _, high in known)
        if scheduler != report.reference and wins:
            found[scheduler] = (wins, len(known))
    return found


def summary_rows(data: PaperStudy) -> list[dict[str, str]]:
    """One row for each scheduler: its edges, and a summary of its ratios to nona."""
    rows = []
    reports = data.sweeps
    found = {far: list(ratios(data, far)) for far in (True, False)}
    for scheduler in next(iter(reports.values())).schedulers:
        row = {"scheduler": scheduler}
        for name, report in reports.items():
            curve = report.schedulers[scheduler]
            formula = curve.formula_edges
            row[f"{name}: edge"] = stability_text(curve, report.unit)
            row[f"{name}: edge by formula"] = (
                value_text(formula[0].overloaded, report.unit) if formula else "–"
            )
        for far, word in ((True, "well below its edge"), (False, "anywhere stable")):
            own = [r for r in found[far] if r.scheduler == scheduler]
            row[f"largest ratio, {word}"] = ratio_text(max(own, key=_first).point.ratio) if own else "–"
        rows.append(row)
    return rows


def _first(found: StableRatio) -> float:
    return found.ratio


def growth_rows(data: PaperStudy) -> list[dict[str, str | float]]:
    """One row for each run in overload."""
    return [
        {
            "scheduler": row.scheduler,
            "jobs": run.jobs,
            "arrive within": format_time(run.length_s),
            "mean JCT": format_time(run.jct_s),
            "not complete": run.unfinished,
            "times nona": float(f"{run.ratio:.4g}"),
        }
        for row in data.overload.schedulers
        for run in row.runs
    ]


def grows(row: Growth) -> bool:
    """Whether the ratio keeps growing with the run: more than half as fast as the number of jobs."""
    if len(row.runs) < 2:
        return False
    before, last = row.runs[-2:]
    return last.ratio / before.ratio > 0.5 * last.jobs / before.jobs


def jobs_for(row: Growth, claim: float) -> float | None:
    """Jobs after which a growing ratio is ``claim``, in proportion to the last run; else ``None``."""
    if not grows(row):
        return None
    last = row.runs[-1]
    return last.jobs * claim / last.ratio
