"""Rows of the map: the error of each prediction, and the number of points within a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.report.text import share_text
from nona.units import format_time

Data = Mapping[str, Any]
MEASURES: Mapping[str, str] = {
    "mean_s": "Mean",
    "p95_s": "95th percentile",
    "formula_s": "Mean, optimiser's formula",
}
BOUNDS: Mapping[str, float] = {"mean_s": 0.10, "p95_s": 0.15, "formula_s": 0.10}
BANDS = (0.05, 0.10, 0.20)


def error(point: Data, measure: str) -> float | None:
    """(predicted − simulated) / simulated; ``None`` if one of them has no value or steady state.

    >>> error({"state": "stable", "mean_s": {"predicted": 1.1, "simulated": 1.0}}, "mean_s")
    0.1
    """
    found = point["mean_s" if measure == "formula_s" else measure]
    predicted = point["formula_s"] if measure == "formula_s" else found["predicted"]
    simulated = found["simulated"]
    if point["state"] != "stable" or predicted is None or not simulated:
        return None
    return round(float(predicted) / float(simulated) - 1.0, 12)


def half_width(point: Data, measure: str) -> float | None:
    """The simulation's 95 % half-width over its value."""
    found = point["mean_s" if measure == "formula_s" else measure]
    if not found["simulated"] or found["ci95"] is None:
        return None
    return float(found["ci95"]) / float(found["simulated"])


def within(points: Sequence[Data], measure: str, bound: float) -> tuple[int, int]:
    """The number of points with an error of at most ``bound``, and the number of points with an error."""
    errors = [e for p in points if (e := error(p, measure)) is not None]
    return sum(abs(e) <= bound for e in errors), len(errors)


def surely_outside(point: Data, measure: str, bound: float) -> bool:
    """Whether the error is above ``bound`` for every value in the simulation's interval.

    False where there is no interval: then nothing is sure.
    """
    e, half = error(point, measure), half_width(point, measure)
    if e is None or half is None:
        return False
    predicted = 1.0 + e
    nearest = min(max(predicted, 1.0 - half), 1.0 + half)
    return abs(predicted / nearest - 1.0) > bound if nearest > 0 else True


def columns_of(points: Sequence[Data]) -> list[tuple[str, str]]:
    """(placement, load) pairs, by placement, then by load; both in order of appearance.

    Plotly draws the rows of an axis with two levels in this order, but does not sort the values with them.

    >>> points = [{"placement": p, "load": load} for p, load in ("a1", "b1", "a3", "b2", "b3")]
    >>> columns_of(points)
    [('a', '1'), ('a', '3'), ('b', '1'), ('b', '3'), ('b', '2')]
    """
    pairs = list(dict.fromkeys((p["placement"], p["load"]) for p in points))
    placements = list(dict.fromkeys(placement for placement, _ in pairs))
    loads = list(dict.fromkeys(load for name in placements for placement, load in pairs if placement == name))
    return sorted(pairs, key=lambda pair: (placements.index(pair[0]), loads.index(pair[1])))


def summary_rows(data: Data) -> list[dict[str, Any]]:
    """For each scenario the number of points within the bounds, and the largest errors."""
    rows = []
    for name in dict.fromkeys(p["scenario"] for p in data["points"]):
        own = [p for p in data["points"] if p["scenario"] == name]
        row: dict[str, Any] = {"scenario": name, "points": len(own)}
        for measure, title in MEASURES.items():
            good, of = within(own, measure, BOUNDS[measure])
            worst = max((abs(e) for p in own if (e := error(p, measure)) is not None), default=None)
            row[f"{title} within {share_text(BOUNDS[measure])}"] = f"{good} of {of}"
            row[f"{title}, worst"] = "–" if worst is None else share_text(worst)
        rows.append(row)
    return rows


def point_rows(data: Data) -> list[dict[str, Any]]:
    """Every point with its numbers, formatted for a table."""
    return [_row(p) for p in data["points"]]


def _row(p: Data) -> dict[str, Any]:
    row: dict[str, Any] = {
        "scenario": p["scenario"],
        "placement": p["placement"],
        "load": p["load"],
        "executors busy": share_text(p["servers"]),
        "link busy": share_text(p["link"]),
        "split": share_text(p["split"]),
        "mean predicted": _time(p["mean_s"]["predicted"]),
        "mean simulated": _interval(p["mean_s"]),
        "error": _signed(error(p, "mean_s")),
        "p95 predicted": _time(p["p95_s"]["predicted"]),
        "p95 simulated": _interval(p["p95_s"]),
        "p95 error": _signed(error(p, "p95_s")),
        "formula's error": _signed(error(p, "formula_s")),
    }
    miss = p["miss"]
    row["SLO missed, predicted"] = "–" if miss is None else share_text(miss["predicted"])
    row["SLO missed, simulated"] = "–" if miss is None else share_text(miss["simulated"])
    return row


def _time(value: float | None) -> str:
    return "–" if value is None else format_time(value)


def _interval(found: Data) -> str:
    if found["simulated"] is None:
        return "–"
    half = "" if found["ci95"] is None else f" ± {format_time(found['ci95'])}"
    return f"{format_time(found['simulated'])}{half}"


def _signed(value: float | None) -> str:
    return "–" if value is None else share_text(value, 1, "+")
