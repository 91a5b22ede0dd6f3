"""The map of the formula beside simulation: rows and findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from evidence.presented import Presented, Shown, grouped
from nona.core.document import Estimate
from nona.core.figures import add_heat, figure, text
from nona.core.tables import CHANGE, COUNT, SHARE, TIME, WHOLE_SHARE, Column, FilledTable, Table, share_text
from nona.queries.study_results import MapPoint, PredictionMap
from nona.queries.workflows.tested_range import BOUND, error

BANDS = (0.05, 0.10, 0.20)


def half_width(point: MapPoint) -> float | None:
    """Return the simulation's 95 % half-width over its value."""
    if not point.simulated_s or point.ci95_s is None:
        return None
    return point.ci95_s / point.simulated_s


def _errors(points: Sequence[MapPoint]) -> list[float]:
    return [abs(e) for p in points if (e := error(p)) is not None]


def within(points: Sequence[MapPoint], bound: float) -> tuple[int, int]:
    """The number of points with an error of at most ``bound``, and the number of points with an error."""
    errors = _errors(points)
    return sum(e <= bound for e in errors), len(errors)


def surely_outside(point: MapPoint, bound: float) -> bool:
    """Return whether the error is above ``bound`` for every value in the simulation's interval.

    False where there is no interval.
    """
    e, half = error(point), half_width(point)
    if e is None or half is None:
        return False
    predicted = 1.0 + e
    nearest = min(max(predicted, 1.0 - half), 1.0 + half)
    return abs(predicted / nearest - 1.0) > bound if nearest > 0 else True


def columns_of(cells: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """(placement, load) pairs, each once, by placement, then by load; both in order of appearance.

    Plotly draws the rows of an axis with two levels in this order, but does not sort the values with them.

    >>> columns_of([("a", "1"), ("b", "1"), ("a", "3"), ("b", "2"), ("b", "3")])
    [('a', '1'), ('a', '3'), ('b', '1'), ('b', '3'), ('b', '2')]
    """
    pairs = list(dict.fromkeys(cells))
    placements = list(dict.fromkeys(placement for placement, _ in pairs))
    loads = list(dict.fromkeys(load for name in placements for placement, load in pairs if placement == name))
    return sorted(pairs, key=lambda pair: (placements.index(pair[0]), loads.index(pair[1])))


def _simulated(point: MapPoint) -> Estimate:
    mean, half = point.simulated_s, point.ci95_s
    return Estimate(mean=mean, ci95=None if mean is None or half is None else (mean - half, mean + half))


def _near(points: list[MapPoint]) -> str:
    good, of = within(points, BOUND)
    return f"{good} of {of}"


SUMMARY = Table[list[MapPoint]](
    "scenario",
    (
        Column("points", len, COUNT),
        Column(f"within {share_text(BOUND)}", _near),
        Column("worst", lambda points: max(_errors(points), default=None), WHOLE_SHARE),
    ),
)


def summary(data: PredictionMap) -> FilledTable:
    """For each scenario the number of points within the bound, and the largest error."""
    return SUMMARY.fill(grouped(data.points, lambda p: p.scenario))


POINTS = Table[MapPoint](
    "",
    (
        Column("scenario", lambda p: p.scenario),
        Column("placement", lambda p: p.placement),
        Column("load", lambda p: p.load),
        Column("executors busy", lambda p: p.servers, WHOLE_SHARE),
        Column("link busy", lambda p: p.link, WHOLE_SHARE),
        Column("split", lambda p: p.split, WHOLE_SHARE),
        Column("by formula", lambda p: p.formula_s, TIME),
        Column("simulated", _simulated, TIME, interval=True),
        Column("error", error, CHANGE),
        Column("±", half_width, SHARE, "half_width"),
    ),
)
PRINTED = ("scenario", "placement", "load", "executors busy", "link busy", "error", "half_width")


WHICH = (
    "The formula uses mean waits, and at a join the largest of the means: where paths cross many joins the "
    "simulated time is longer. So the formula proposes placements, and simulation decides between them."
)


def title(data: PredictionMap) -> str:
    """Return the main finding in one sentence."""
    good, of = within(data.points, BOUND)
    return f"The mean by formula is within {100 * BOUND:.0f} % of the simulation at {good} of {of} points"


def findings(data: PredictionMap) -> list[str]:
    """Return the number of points in each band, the worst point, and the uncertainty of its simulation."""
    points = data.points
    counts = [(bound, within(points, bound)[0]) for bound in BANDS]
    of = within(points, 1.0)[1]
    parts = ", ".join(f"{count} within {100 * bound:.0f} %" for bound, count in counts)
    lines = [f"Of {of} points {parts}."]
    worst = max(points, key=lambda p: abs(error(p) or 0.0), default=None)
    if worst is not None and error(worst) is not None:
        half = half_width(worst)
        lines.append(
            f"The largest error is in {worst.scenario}, {worst.placement}, {worst.load}: "
            f"{share_text(error(worst) or 0.0, sign='+')}"
            + ("." if half is None else f"; the simulated mean has ± {share_text(half)}.")
        )
    sure = sum(surely_outside(p, BOUND) for p in points)
    lines.append(
        f"At {sure} points the error is above {100 * BOUND:.0f} % for every value in the simulation's "
        "interval."
    )
    unsteady = sum(p.state != "stable" for p in points)
    if unsteady:
        lines.append(f"{unsteady} points had no steady state in the simulation and are left out.")
    return lines


def presented(data: PredictionMap) -> Presented:
    """Return the map with its tables: scenarios, and every point."""
    rows = POINTS.fill(data.points)
    tables = (
        Shown("prediction-map", "Points within the bound, by scenario", summary(data)),
        Shown("prediction-points", "Every point of the map", rows, folded=True, printed=PRINTED),
    )
    about = data.about
    seed = "the scenarios' own seeds" if about.seed is None else f"seed {about.seed}"
    provenance = (
        f"Made by {about.command} (version {about.version}, {about.made}, {about.seconds / 60:.0f} min): "
        f"{about.replications} runs of about {about.tasks:,} tasks at each point, {seed}. Loads are those of "
        "the most loaded executors and links."
    )
    return Presented(title(data), findings(data), tables, WHICH, provenance)


COLOURS = ("#14a394", "#9ccc65", "#e0a81e", "#e25555")  # within 5, 10, 20 %, and beyond


def band(value: float) -> int:
    """Return the number of the band that contains an error.

    >>> [band(e) for e in (0.0, -0.07, 0.15, 0.4)]
    [0, 1, 2, 3]
    """
    return sum(abs(value) > bound for bound in BANDS)


def map_figure(data: PredictionMap) -> go.Figure:
    """Placements and loads as rows, scenarios as columns; the number is the signed error in per cent."""
    points = data.points
    scenarios = list(dict.fromkeys(p.scenario for p in points))
    columns = columns_of((p.placement, p.load) for p in points)
    by_cell = {(p.scenario, p.placement, p.load): p for p in points}
    rows = [[by_cell.get((s, *c)) for s in scenarios] for c in columns]
    errors = [[None if p is None else error(p) for p in row] for row in rows]
    chart = figure(210 + 21 * len(columns), legend=False)
    steps = [(end, colour) for i, colour in enumerate(COLOURS) for end in (i / 4, (i + 1) / 4)]
    add_heat(
        chart,
        [[None if e is None else band(e) + 0.5 for e in row] for row in errors],
        steps,
        (0, 4),
        x=[text(s) for s in scenarios],
        y=[[c[0] for c in columns], [c[1] for c in columns]],
        text=[["" if e is None else _whole(e) for e in row] for row in errors],
        texttemplate="%{text}",
        customdata=[[_hover(p) for p in row] for row in rows],
        hoverongaps=False,
        colorbar={
            "tickvals": [0.5, 1.5, 2.5, 3.5],
            "ticktext": ["≤ 5 %", "≤ 10 %", "≤ 20 %", "> 20 %"],
            "title": {"text": "off by", "side": "top"},
            "orientation": "h",
            "thickness": 10,
            "y": 1.02,
            "yanchor": "bottom",
        },
    )
    chart.update_yaxes(autorange="reversed", showgrid=False)
    chart.update_xaxes(showgrid=False, tickangle=-60, side="bottom")
    return chart


def _whole(value: float) -> str:
    """Per cent with its sign, none for 0.

    >>> _whole(0.104), _whole(-0.004)
    ('+10', '0')
    """
    rounded = round(100 * value)
    return f"{rounded:+d}" if rounded else "0"


def _hover(point: MapPoint | None) -> str:
    value = None if point is None else error(point)
    if point is None or value is None:
        return ""
    half = half_width(point)
    sure = "" if half is None else f", simulation ± {share_text(half, 1)}"
    return (
        f"{text(point.scenario)}, {point.placement}, {point.load}<br>"
        f"executors {share_text(point.servers)}, link {share_text(point.link)}<br>"
        f"{share_text(value, 1, '+')}{sure}"
    )
