"""The map of prediction against simulation: rows and findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from nona.results.studies import Comparison, MapPoint, Measure, PredictionMap
from nona.tables.formats import or_dash, share_text, time_text
from nona.tables.table import text_table
from nona.units import format_time

Row = dict[str, str | int]
MEASURES: Mapping[Measure, str] = {
    "mean_s": "Mean",
    "p95_s": "95th percentile",
    "formula_s": "Mean, optimiser's formula",
}
BOUNDS: Mapping[Measure, float] = {"mean_s": 0.10, "p95_s": 0.15, "formula_s": 0.10}
BANDS = (0.05, 0.10, 0.20)


def error(point: MapPoint, measure: Measure) -> float | None:
    """(predicted − simulated) / simulated; ``None`` if one of them has no value or steady state."""
    comparison = _compared(point, measure)
    predicted = point.formula_s if measure == "formula_s" else comparison.predicted
    if point.state != "stable" or predicted is None or not comparison.simulated:
        return None
    return round(predicted / comparison.simulated - 1.0, 12)


def half_width(point: MapPoint, measure: Measure) -> float | None:
    """The simulation's 95 % half-width over its value."""
    comparison = _compared(point, measure)
    if not comparison.simulated or comparison.ci95 is None:
        return None
    return comparison.ci95 / comparison.simulated


def _compared(point: MapPoint, measure: Measure) -> Comparison:
    return point.p95_s if measure == "p95_s" else point.mean_s


def within(points: Sequence[MapPoint], measure: Measure, bound: float) -> tuple[int, int]:
    """The number of points with an error of at most ``bound``, and the number of points with an error."""
    errors = [e for p in points if (e := error(p, measure)) is not None]
    return sum(abs(e) <= bound for e in errors), len(errors)


def surely_outside(point: MapPoint, measure: Measure, bound: float) -> bool:
    """Return whether the error is above ``bound`` for every value in the simulation's interval.

    False where there is no interval.
    """
    e, half = error(point, measure), half_width(point, measure)
    if e is None or half is None:
        return False
    predicted = 1.0 + e
    nearest = min(max(predicted, 1.0 - half), 1.0 + half)
    return abs(predicted / nearest - 1.0) > bound if nearest > 0 else True


NEAR = 0.15  # utilisations that count as alike


def is_like(point: MapPoint, servers: float, link: float | None, bursty: bool) -> bool:
    """Return whether a point has like loads and arrivals; ``link`` is ``None`` where nothing is sent."""
    alike = point.split == 0 if link is None else abs(point.link - link) <= NEAR
    return bursty == (point.processes != ("poisson",)) and abs(point.servers - servers) <= NEAR and alike


def like_cases(data: PredictionMap, servers: float, link: float | None, bursty: bool) -> list[float]:
    """The absolute errors of the predicted mean at all points of like loads and arrivals, in order."""
    like = (p for p in data.points if is_like(p, servers, link, bursty))
    return sorted(abs(e) for p in like if (e := error(p, "mean_s")) is not None)


def columns_of(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(placement, load) pairs, each once, by placement, then by load; both in order of appearance.

    Plotly draws the rows of an axis with two levels in this order, but does not sort the values with them.

    >>> columns_of([("a", "1"), ("b", "1"), ("a", "3"), ("b", "2"), ("b", "3")])
    [('a', '1'), ('a', '3'), ('b', '1'), ('b', '3'), ('b', '2')]
    """
    pairs = list(dict.fromkeys(found))
    placements = list(dict.fromkeys(placement for placement, _ in pairs))
    loads = list(dict.fromkeys(load for name in placements for placement, load in pairs if placement == name))
    return sorted(pairs, key=lambda pair: (placements.index(pair[0]), loads.index(pair[1])))


def summary_rows(data: PredictionMap) -> list[Row]:
    """For each scenario the number of points within the bounds, and the largest errors."""
    rows = []
    for name in dict.fromkeys(p.scenario for p in data.points):
        own = [p for p in data.points if p.scenario == name]
        row: Row = {"scenario": name, "points": len(own)}
        for measure, title in MEASURES.items():
            good, of = within(own, measure, BOUNDS[measure])
            worst = max((abs(e) for p in own if (e := error(p, measure)) is not None), default=None)
            row[f"{title} within {share_text(BOUNDS[measure])}"] = f"{good} of {of}"
            row[f"{title}, worst"] = or_dash(worst, share_text)
        rows.append(row)
    return rows


def point_rows(data: PredictionMap) -> list[dict[str, str]]:
    """Every point with its numbers, formatted for a table."""
    return [_row(p) for p in data.points]


def _row(p: MapPoint) -> dict[str, str]:
    return {
        "scenario": p.scenario,
        "placement": p.placement,
        "load": p.load,
        "executors busy": share_text(p.servers),
        "link busy": share_text(p.link),
        "split": share_text(p.split),
        "mean predicted": time_text(p.mean_s.predicted),
        "mean simulated": _interval(p.mean_s),
        "error": _signed(error(p, "mean_s")),
        "p95 predicted": time_text(p.p95_s.predicted),
        "p95 simulated": _interval(p.p95_s),
        "p95 error": _signed(error(p, "p95_s")),
        "formula's error": _signed(error(p, "formula_s")),
        "SLO missed, predicted": "–" if p.miss is None else or_dash(p.miss.predicted, share_text),
        "SLO missed, simulated": "–" if p.miss is None else or_dash(p.miss.simulated, share_text),
    }


def _interval(found: Comparison) -> str:
    if found.simulated is None:
        return "–"
    half = "" if found.ci95 is None else f" ± {format_time(found.ci95)}"
    return f"{format_time(found.simulated)}{half}"


def _signed(value: float | None) -> str:
    return "–" if value is None else share_text(value, 1, "+")


WHICH = (
    "The map compares two predictions. The optimiser's *formula* uses mean waits, so that its optimum can be "
    "certified; the *response* samples jobs with random waits and gives the mean, the 95th percentile and "
    "the share of SLO misses. The pages show the response next to the certificate."
)


def title(data: PredictionMap, measure: Measure = "mean_s") -> str:
    """The main finding in one sentence."""
    good, of = within(data.points, measure, BOUNDS[measure])
    name = {
        "mean_s": "predicted mean",
        "p95_s": "predicted 95th percentile",
        "formula_s": "mean by the optimiser's formula",
    }[measure]
    bound = f"{100 * BOUNDS[measure]:.0f} %"
    return f"The {name} is within {bound} of the simulation at {good} of {of} points"


def findings(data: PredictionMap) -> list[str]:
    """The number of points in each band, the worst point, and the uncertainty of its simulation."""
    points = data.points
    lines = []
    for measure, name in MEASURES.items():
        counts = [(bound, within(points, measure, bound)[0]) for bound in BANDS]
        of = within(points, measure, 1.0)[1]
        parts = ", ".join(f"{count} within {100 * bound:.0f} %" for bound, count in counts)
        lines.append(f"{name}: {parts}, of {of} points.")
    errors = [(abs(e), p) for p in points if (e := error(p, "mean_s")) is not None]
    if errors:
        _, worst = max(errors, key=lambda pair: pair[0])
        half = half_width(worst, "mean_s")
        lines.append(
            f"The mean has its largest error in {worst.scenario}, {worst.placement}, {worst.load}: "
            f"{share_text(error(worst, 'mean_s') or 0.0, sign='+')}"
            + ("." if half is None else f"; the simulated mean has ± {share_text(half)}.")
        )
    sure = sum(surely_outside(p, "mean_s", BOUNDS["mean_s"]) for p in points)
    lines.append(
        f"At {sure} points the error of the mean is above {100 * BOUNDS['mean_s']:.0f} % for every value in "
        "the simulation's interval."
    )
    unsteady = sum(p.state != "stable" for p in points)
    if unsteady:
        lines.append(f"{unsteady} points had no steady state in the simulation and are left out.")
    return lines


def provenance(data: PredictionMap) -> str:
    """The provenance of the stored map."""
    about = data.about
    seed = "the scenarios' own seeds" if about.seed is None else f"seed {about.seed}"
    return (
        f"Made by {about.command} (version {about.version}, {about.made}, "
        f"{about.seconds / 60:.0f} min): {about.replications} runs of about {about.tasks:,} tasks "
        f"at each point, {seed}. Loads are those of the most loaded executors and links."
    )


def map_text(data: PredictionMap) -> str:
    """The map for a terminal."""
    rows = []
    for p in data.points:
        e, e95, old = error(p, "mean_s"), error(p, "p95_s"), error(p, "formula_s")
        half = half_width(p, "mean_s")
        rows.append(
            {
                "scenario": p.scenario,
                "placement": p.placement,
                "load": p.load,
                "servers": f"{p.servers:.2f}",
                "link": f"{p.link:.2f}",
                "mean": "–" if e is None else f"{e:+.1%}",
                "±": "–" if half is None else f"{half:.1%}",
                "p95": "–" if e95 is None else f"{e95:+.1%}",
                "formula": "–" if old is None else f"{old:+.1%}",
            }
        )
    head = tuple(rows[0]) if rows else ()
    return "\n".join([text_table(rows, head), "", title(data), *findings(data), provenance(data)])
