"""Results of the paper's evaluation as rows: ratios, edges of stability, growth in overload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nona.report.sweeps.report import curve_rows
from nona.report.sweeps.stability import merged_spans, stability_text
from nona.report.sweeps.text import ratio_text
from nona.report.sweeps.values import value_text
from nona.results.estimate import Estimate
from nona.results.sweep import SweepReport, SweptCurve
from nona.units import format_time

Data = Mapping[str, Any]
FAR = 0.9  # of the load at the edge: up to there a run has time to reach its steady state


def point_rows(data: Data) -> list[dict[str, Any]]:
    """One flat row for every simulated point of every sweep, SI units: for CSV and Parquet files."""
    return [
        {"sweep": name, **row}
        for name, report in data["sweeps"].items()
        for row in curve_rows(SweepReport.from_json(report))
    ]


def edge_of(curve: Data) -> float | None:
    """The first value from which on a scheduler has no steady state; ``None``: stable throughout."""
    for low, high in merged_spans(SweptCurve.from_json(curve)):
        if low is not None or high is not None:
            return low
    return None


def ratios(data: Data, far: bool = False) -> Iterator[tuple[float, str, str, Data]]:
    """(ratio, sweep, scheduler, point) wherever both are stable; ``far``: only well below the edge."""
    for name, report in data["sweeps"].items():
        for scheduler, curve in report["schedulers"].items():
            edge = edge_of(curve)
            for point in curve["points"] if scheduler != report["reference"] else ():
                close = edge is not None and point["value"] > FAR * edge
                if point["state"] == "stable" and point["ratio"]["ci95"] and not (far and close):
                    yield point["ratio"]["mean"], name, scheduler, point


def largest(data: Data, far: bool = False) -> tuple[float, str, str, Data] | None:
    """The point with the largest ratio to nona, of those that :func:`ratios` gives."""
    return max(ratios(data, far), key=lambda found: found[0], default=None)


def faster(data: Data, sweep: str) -> dict[str, tuple[int, int]]:
    """Scheduler → at how many swept values it is clearly faster than nona, of those where both are stable."""
    report = data["sweeps"][sweep]
    found = {}
    for scheduler, curve in report["schedulers"].items():
        points = [p for p in curve["points"] if p["value"] in report["values"] and p["ratio"]["ci95"]]
        wins = sum(p["ratio"]["ci95"][1] < 1 for p in points)
        if scheduler != report["reference"] and wins:
            found[scheduler] = (wins, len(points))
    return found


def summary_rows(data: Data) -> list[dict[str, str]]:
    """One row for each scheduler: its edges, and a summary of its ratios to nona."""
    rows = []
    reports = data["sweeps"]
    for scheduler in next(iter(reports.values()))["schedulers"]:
        row = {"scheduler": scheduler}
        for name, report in reports.items():
            curve = report["schedulers"][scheduler]
            formula = curve["formula_edges"]
            row[f"{name}: edge"] = stability_text(SweptCurve.from_json(curve), report["unit"])
            row[f"{name}: edge by formula"] = (
                value_text(formula[0]["overloaded"], report["unit"]) if formula else "–"
            )
        for far, word in ((True, "well below its edge"), (False, "anywhere stable")):
            own = [r for r in ratios(data, far) if r[2] == scheduler]
            row[f"largest ratio, {word}"] = _ratio(max(own, key=_first)[3]) if own else "–"
        rows.append(row)
    return rows


def _ratio(point: Data) -> str:
    return ratio_text(Estimate.from_json(point["ratio"]))


def _first(found: tuple[float, str, str, Data]) -> float:
    return found[0]


def growth_rows(data: Data) -> list[dict[str, Any]]:
    """One row for each run in overload."""
    return [
        {
            "scheduler": row["scheduler"],
            "jobs": run["jobs"],
            "arrive within": format_time(run["length_s"]),
            "mean JCT": format_time(run["jct_s"]),
            "not complete": run["unfinished"],
            "times nona": float(f"{run['ratio']:.4g}"),
        }
        for row in data["overload"]["schedulers"]
        for run in row["runs"]
    ]


def grows(row: Data) -> bool:
    """Whether the ratio keeps growing with the run: more than half as fast as the number of jobs.

    >>> grows({"runs": [{"jobs": 10, "ratio": 2.0}, {"jobs": 100, "ratio": 15.0}]})
    True
    >>> grows({"runs": [{"jobs": 10, "ratio": 2.0}, {"jobs": 100, "ratio": 2.1}]})
    False
    """
    if len(row["runs"]) < 2:
        return False
    before, last = row["runs"][-2:]
    return bool(last["ratio"] / before["ratio"] > 0.5 * last["jobs"] / before["jobs"])


def jobs_for(row: Data, claim: float) -> float | None:
    """Jobs after which a growing ratio is ``claim``, in proportion to the last run; else ``None``.

    >>> jobs_for({"runs": [{"jobs": 10, "ratio": 2.0}, {"jobs": 100, "ratio": 20.0}]}, 350.0)
    1750.0
    """
    if not grows(row):
        return None
    last = row["runs"][-1]
    return float(last["jobs"] * claim / last["ratio"])
