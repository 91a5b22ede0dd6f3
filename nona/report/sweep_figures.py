"""Figures of a sweep: curves, crosses where they end, the line of the SLO target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import plotly.graph_objects as go

from nona.report.figures import (
    QUIET,
    UNSTABLE_SYMBOL,
    add_line,
    add_points,
    figure,
    rule,
    scheduler_style,
    text,
)
from nona.report.sweep_findings import NEAR, crossings, holds_text, merged_spans, target_text, there_text
from nona.report.sweeps import axis_scale, by_ratio, value_text
from nona.results.document import Estimate
from nona.results.sweeps import FormulaPoint, SweepReport, SweptCurve, SweptPoint
from nona.tables.formats import share_text, times_text
from nona.units import format_number, format_time

GAP = 16.0  # pixels between the middles of two lines of small text
FAR = 70.0  # pixels by which a label may be moved to keep off curves


@dataclass(frozen=True, slots=True)
class CurveEnd:
    """A cross at (``x``, ``y``), as on the axes; ``rightwards``: its curve comes from the left."""

    name: str
    x: float
    y: float
    label: str
    rightwards: bool


def curve_ends(
    report: SweepReport,
    get: Callable[[SweptPoint], Estimate],
    place: Callable[[float], float] = float,
) -> list[CurveEnd]:
    """One for every well-known edge, at the height of the last point drawn before it.

    ``get`` gives what is drawn of a point, which ``place`` puts on the axis.
    """
    factor = axis_scale(report.unit)[0]
    span = report.values[-1] - report.values[0]
    close = max(NEAR * span, 1.0 if report.unit == "count" else 0.0)
    ends = []
    for name, curve in report.schedulers.items():
        for low, high in merged_spans(curve):
            label = _edge_label(low, high, report.unit)
            for beyond, rightwards in ((low, True), (high, False)):
                last = None if beyond is None else _nearest(curve, beyond, rightwards)
                if beyond is None or last is None or abs(beyond - last.value) > close:
                    continue
                drawn = _drawn(curve, last.value, rightwards, get)
                if drawn is not None:
                    ends.append(CurveEnd(name, factor * beyond, place(drawn), label, rightwards))
    return ends


def _nearest(curve: SweptCurve, beyond: float, before: bool) -> SweptPoint | None:
    """The stable point next to ``beyond``, before or after it."""
    stable = [p for p in curve.points if p.steady and (p.value < beyond if before else p.value > beyond)]
    return (stable[-1] if before else stable[0]) if stable else None


def _drawn(
    curve: SweptCurve, value: float, before: bool, get: Callable[[SweptPoint], Estimate]
) -> float | None:
    """The height of the drawn point at ``value``, or of the next one away from the edge."""
    heights = [
        (abs(p.value - value), mean)
        for p in curve.points
        if p.steady
        and (mean := get(p).mean) is not None
        and (p.value <= value if before else p.value >= value)
    ]
    return min(heights)[1] if heights else None


def _edge_label(low: float | None, high: float | None, unit: str) -> str:
    """The labels at the ends of a range without a steady state; ``None``: it has no end there.

    >>> _edge_label(0.6, None, "fraction"), _edge_label(None, 12.0, "count")
    ('unstable ≥ 60 %', 'unstable ≤ 12')
    """
    if low is None or high is None:
        end = value_text(low if low is not None else high or 0.0, unit)
        return f"unstable {'≤' if low is None else '≥'} {end}"
    return f"unstable {value_text(low, unit)} to {value_text(high, unit)}"


def round_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two positive numbers; powers alone over many decades.

    >>> round_ticks(3.0, 60.0)
    [5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{k}e{power}") for power in range(first, last + 1) for k in steps]
    return [t for t in ticks if low <= t <= high]


def spread_labels(heights: Sequence[float], gap: float = GAP) -> list[float]:
    """The upward shift (pixels) of each label that keeps all of them ``gap`` apart.

    Labels keep their order; a crowd is centred on where it stood.

    >>> spread_labels([100.0, 100.0, 300.0])
    [-8.0, 8.0, 0.0]
    """
    order = sorted(range(len(heights)), key=lambda i: (heights[i], i))
    crowds: list[tuple[float, list[int]]] = []  # (sum of wished bottoms, members), bottom to top
    for i in order:
        crowds.append((heights[i], [i]))
        while len(crowds) > 1 and _top(crowds[-2], gap) + gap > _bottom(crowds[-1]):
            (upper, above), (lower, below) = crowds.pop(), crowds.pop()
            crowds.append((lower + upper - gap * len(below) * len(above), below + above))
    moved = [0.0] * len(heights)
    for crowd in crowds:
        for place, i in enumerate(crowd[1]):
            moved[i] = _bottom(crowd) + gap * place - heights[i]
    return moved


def _bottom(crowd: tuple[float, list[int]]) -> float:
    """The position of a group's lowest label: the mean of the positions that its members prefer."""
    return crowd[0] / len(crowd[1])


def _top(crowd: tuple[float, list[int]], gap: float) -> float:
    return _bottom(crowd) + gap * (len(crowd[1]) - 1)


def off_curves(
    heights: Sequence[float], taken: Sequence[Sequence[tuple[float, float]]], gap: float = GAP
) -> list[float]:
    """The upward shift (pixels) of each label that keeps it off curves and ``gap`` from all others.

    ``taken`` are the spans of height that curves have beside each label. From the lowest on, a label takes
    the nearest free place; where that is beyond ``FAR``, it keeps clear of labels alone.

    >>> off_curves([100.0, 120.0], [[(98.0, 101.0)], []])
    [9.0, 5.0]
    """
    moved, placed = [0.0] * len(heights), list[tuple[float, float]]()
    for i in sorted(range(len(heights)), key=lambda i: (heights[i], i)):
        here = _nearest_free(heights[i], [*placed, *taken[i]], gap)
        if abs(here - heights[i]) > FAR:
            here = _nearest_free(heights[i], placed, gap)
        placed.append((here - gap / 2, here + gap / 2))
        moved[i] = here - heights[i]
    return moved


def _nearest_free(wished: float, taken: Sequence[tuple[float, float]], gap: float) -> float:
    """The middle nearest to the wished one whose ``gap`` overlaps no span that is taken."""

    def free(middle: float) -> bool:
        return all(middle + gap / 2 <= low + 1e-9 or middle - gap / 2 >= high - 1e-9 for low, high in taken)

    beside = [middle for low, high in taken for middle in (low - gap / 2, high + gap / 2)]
    return min((m for m in (wished, *beside) if free(m)), key=lambda m: (abs(m - wished), -m))


ABOVE_PX, ASIDE_PX = 16.0, 12
WIDTH_PX, LETTER_PX = 700.0, 6.0  # of the chart and of a letter, about: what a label may cover
LABEL_ROOM = 0.72  # of the width: a label that begins beyond it has no room on its right


def _add_crosses(made: go.Figure, ends: Sequence[CurveEnd]) -> None:
    """A cross where each curve ends."""
    for end in ends:
        look, hover = (
            replace(scheduler_style(end.name), symbol=UNSTABLE_SYMBOL),
            f"{text(end.name)}: {text(end.label)}",
        )
        name = f"{end.name}: {end.label}"
        add_points(made, name, [end.x], [end.y], look, hover, legendgroup=end.name, showlegend=False)


def _set_log_range(made: go.Figure) -> None:
    """The simulated curves set the range of a logarithmic axis; the formula may leave it near its pole."""
    drawn = [v for t in made.data if t.mode != "lines" for v in t.y if v is not None]
    if drawn:
        low, high = min(drawn) / 1.4, max(drawn) * 1.7
        ticks = round_ticks(low, high)
        made.update_yaxes(
            range=[math.log10(low), math.log10(high)],
            tickvals=ticks,
            ticktext=[format_number(t) for t in ticks],
        )


def _add_labels(
    made: go.Figure, ends: Sequence[CurveEnd], report: SweepReport, log: bool, height_px: float
) -> None:
    """Label each cross on the side where its curve does not continue; if that is full, above the curve."""
    factor, ratio = axis_scale(report.unit)[0], by_ratio(report.unit)
    place = math.log10 if ratio else float
    values = report.values
    first, last = place(factor * values[0]), place(factor * values[-1])
    low, high = made.layout.yaxis.range or _reach_of(made)
    scaled = [(math.log10(e.y) if log else e.y) for e in ends]
    shares = [(place(end.x) - first) / max(last - first, 1e-9) for end in ends]
    full = [s > LABEL_ROOM if e.rightwards else s < 1 - LABEL_ROOM for s, e in zip(shares, ends, strict=True)]
    lifts = [ABOVE_PX if crowded else 0.0 for crowded in full]
    scale = height_px / max(high - low, 1e-9)
    rights = [e.rightwards != crowded for e, crowded in zip(ends, full, strict=True)]
    beside = [
        _beside(made, end, right, (place, (last - first) / WIDTH_PX), log)
        for end, right in zip(ends, rights, strict=True)
    ]
    heights = [scale * (y - low) for y in scaled]
    places = _places(heights, lifts, [[(scale * (a - low), scale * (b - low)) for a, b in s] for s in beside])
    moved = [place - height for place, height in zip(places, heights, strict=True)]
    for end, y, right, shift in zip(ends, scaled, rights, moved, strict=True):
        colour = scheduler_style(end.name).colour
        made.add_annotation(
            x=place(end.x),
            y=y,
            text=text(end.label),
            font={"size": 11, "color": colour},
            xanchor="left" if right else "right",
            ax=ASIDE_PX if right else -ASIDE_PX,
            ay=-shift,
            arrowwidth=1,
            arrowhead=0,
            arrowcolor=colour,
            standoff=5,
        )


def _places(
    heights: Sequence[float], lifts: Sequence[float], taken: Sequence[Sequence[tuple[float, float]]]
) -> list[float]:
    """Place the labels: apart first, then off the curves."""
    wished = [h + lift for h, lift in zip(heights, lifts, strict=True)]
    apart = [h + shift for h, shift in zip(wished, spread_labels(wished), strict=True)]
    return [h + shift for h, shift in zip(apart, off_curves(apart, taken), strict=True)]


def _beside(
    made: go.Figure, end: CurveEnd, right: bool, axis: tuple[Callable[[float], float], float], log: bool
) -> list[tuple[float, float]]:
    """The heights, as on the axis, that curves have where the label of an end stands.

    ``axis``: what places a value on the horizontal axis, and how much of it a pixel is.
    """
    place, pixel = axis
    side = pixel if right else -pixel
    first = place(end.x) + side * ASIDE_PX
    across = np.linspace(first, first + side * LETTER_PX * len(end.label), 9)
    spans = []
    for trace in made.data:
        points = [(place(x), y) for x, y in zip(trace.x, trace.y, strict=True) if y is not None]
        if "lines" not in trace.mode or len(points) < 2:
            continue
        x, y = np.array(sorted(points)).T
        inside = across[(across >= x[0]) & (across <= x[-1])]
        if len(inside):
            heights = np.interp(inside, x, np.log10(y) if log else y)
            spans.append((float(heights.min()), float(heights.max())))
    return spans


def _reach_of(made: go.Figure) -> tuple[float, float]:
    drawn = [v for t in made.data for v in t.y if v is not None]
    return min(drawn), max(drawn)


TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
TARGET_ROOM = 0.25  # below the lowest curve and above the highest


def nines(share: float) -> float:
    """Return the number of nines of a share: one for every ten times fewer misses, at most four.

    >>> [round(nines(share), 2) for share in (0.5, 0.99, 1.0)]
    [0.3, 2.0, 4.0]
    """
    return -math.log10(max(1 - share, 1e-4))


def _add_target(made: go.Figure, report: SweepReport) -> None:
    """The target as a line, a hollow marker where a curve crosses it, and the axis in per cent."""
    drawn = [v for t in made.data for v in t.y if v is not None]
    goal = nines(report.target)
    _set_hits_axis(made, [*drawn, goal])
    if not drawn:
        return
    rule(made, goal, f"target {target_text(report.target)}")
    factor = axis_scale(report.unit)[0]
    for name, curve in report.schedulers.items():
        crossed = crossings(curve, report.target)
        words = [
            f"{'holds up to' if c.falls else 'holds from'} {there_text(c.value, report)}" for c in crossed
        ]
        add_points(
            made,
            f"{name} crosses the target",
            [factor * c.value for c in crossed],
            [goal for _ in crossed],
            replace(scheduler_style(name), symbol="circle-open"),
            f"{text(name)}: {target_text(report.target)} %{{customdata}}",
            size=13,
            legendgroup=name,
            showlegend=False,
            customdata=words,
        )


def _set_hits_axis(made: go.Figure, drawn: Sequence[float]) -> None:
    """Per cent at the places that :func:`nines` gives, over the range of what is drawn."""
    low, high = min(drawn), max(drawn)
    made.update_yaxes(
        range=[low - TARGET_ROOM, high + TARGET_ROOM],
        tickvals=[nines(share) for share in TICKS],
        ticktext=[*(f"{100 * share:g}" for share in TICKS[:-1]), f"≥ {100 * TICKS[-1]:g}"],
    )


HEIGHT, AROUND = 470, 130  # all of it, and what legend and axis take
FORMULA_DASH = "3px,3px"
HITS = "SLO hits"


@dataclass(frozen=True, slots=True)
class View:
    """A quantity to draw: ``get`` gives it for a point, ``place`` puts it on the axis, ``show`` writes it.

    ``formula`` gives it for what the formula says of a scheduler and of the reference.
    """

    title: str
    get: Callable[[SweptPoint], Estimate]
    place: Callable[[float], float]
    show: Callable[[float], str]
    log: bool = False
    formula: Callable[[FormulaPoint, FormulaPoint], float | None] | None = None


def sweep_figure(report: SweepReport, view: str = "JCT", cursor: float | None = None) -> go.Figure:
    """One of :func:`views` over the swept number; ``cursor``: the selected value."""
    drawn = views(report)[view]
    factor, unit = axis_scale(report.unit)
    chart = figure(HEIGHT)
    for name, curve in report.schedulers.items():
        _add_curve(chart, name, curve, drawn, report)
        if drawn.formula is not None and curve.formula:
            _add_formula(chart, name, curve, drawn, report)
    chart.update_xaxes(
        title=text(report.label) + (f", {unit}" if unit else ""),
        type="log" if by_ratio(report.unit) else "linear",
    )
    chart.update_yaxes(title=drawn.title, type="log" if drawn.log else "linear")
    ends = curve_ends(report, drawn.get, drawn.place)
    _add_crosses(chart, ends)
    if drawn.log:
        _set_log_range(chart)
    elif view == HITS:
        _add_target(chart, report)
    else:
        chart.update_yaxes(range=[0, 103])
    _add_labels(chart, ends, report, drawn.log, HEIGHT - AROUND)
    _add_marks(chart, report, view)
    if cursor is not None:
        chart.add_vline(x=factor * cursor, line={"color": QUIET, "width": 1})
    return chart


def views(report: SweepReport) -> dict[str, View]:
    """Name → quantity of a sweep that can be drawn."""
    base = report.reference

    def ratio(of: FormulaPoint, to: FormulaPoint) -> float | None:
        return None if of.jct_s is None or to.jct_s is None else of.jct_s / to.jct_s

    def milliseconds(value_s: float) -> float:
        return 1e3 * value_s

    def percent(share: float) -> float:
        return 100 * share

    def busy(p: SweptPoint) -> Estimate:
        return Estimate(mean=p.utilization.network, ci95=None)

    return {
        "JCT": View(
            "mean JCT, ms, log", lambda p: p.jct_s, milliseconds, format_time, True, lambda of, to: of.jct_s
        ),
        HITS: View(
            "SLO hits, % (a line up: ten times fewer misses)",
            lambda p: p.slo_hit_rate,
            nines,
            lambda v: share_text(v, 2),
        ),
        "Utilisation": View("busiest link, % of time", busy, percent, lambda v: share_text(v, 1)),
        f"Ratio to {base}": View(
            f"mean JCT relative to {text(base)}, log",
            lambda p: p.ratio,
            float,
            times_text,
            True,
            ratio,
        ),
    }


def _steady(curve: SweptCurve, view: View) -> list[SweptPoint]:
    """The points that are drawn: those with a steady state and a number."""
    return [p for p in curve.points if p.steady and view.get(p).mean is not None]


def _name(name: str, curve: SweptCurve, view: View, report: SweepReport) -> str:
    """The name in the legend; where SLO hits are drawn, with the range in which they reach the target."""
    if not _steady(curve, view):
        return f"{name} (nothing to draw)"
    holds = holds_text(curve, report) if view.place is nines else ""
    return f"{name} · {holds}" if holds else name


def _add_curve(made: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
    style, factor = scheduler_style(name), axis_scale(report.unit)[0]
    x: list[float] = []
    y: list[float | None] = []
    spans: list[tuple[float, float] | None] = []
    shown: list[str] = []
    for p in curve.points:
        value = view.get(p)
        mean = value.mean if p.steady else None
        if mean is None and p.steady:
            continue
        x.append(factor * p.value)
        y.append(None if mean is None else view.place(mean))
        # Beside the swept values lie many more near edges: their bars would hide the curves.
        spans.append(_reach(value, view) if mean is not None and p.value in report.values else None)
        backlog = "<br>ended with a backlog" if p.state == "backlogged" else ""
        mean_text = "" if mean is None else view.show(mean)
        where = f"{text(report.label)} {value_text(p.value, report.unit)}"
        shown.append(f"{mean_text}<br>{where}{_span(value, view)}{backlog}")
    add_points(
        made,
        _name(name, curve, view, report),
        x,
        y,
        style,
        f"{text(name)}: %{{customdata}}",
        size=7,
        joined=True,
        legendgroup=name,
        spans=spans,
        bar=1,
        customdata=shown,
    )


def _reach(value: Estimate, view: View) -> tuple[float, float] | None:
    """Both ends of an interval as drawn; on a log axis it ends at a tenth of the mean."""
    if value.ci95 is None or value.mean is None:
        return None
    low, high = value.ci95
    return view.place(max(low, value.mean / 10) if view.log else max(low, 0.0)), view.place(high)


def _span(value: Estimate, view: View) -> str:
    if value.ci95 is None or value.mean is None:
        return ""
    low, high = (view.show(v) for v in value.ci95)
    return f"<br>95 %: {low} to {high}"


def _add_formula(made: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
    beside = {f.value: f for f in report.schedulers[report.reference].formula or ()}
    if view.formula is None:
        return
    x, y, shown = [], [], []
    ratio = view.place is float
    for f in curve.formula or ():
        to = beside.get(f.value)
        if ratio and to is None:
            continue
        value = view.formula(f, to or f)
        x.append(axis_scale(report.unit)[0] * f.value)
        y.append(None if value is None else view.place(value))
        shown.append("" if value is None else view.show(value))
    if not ratio or name != report.reference:
        add_line(
            made,
            f"{name} by formula",
            x,
            y,
            replace(scheduler_style(name), dash=FORMULA_DASH),
            f"{text(name)}: %{{customdata}} by formula",
            width=1.5,
            legendgroup=name,
            showlegend=False,
            customdata=shown,
        )


def _add_marks(made: go.Figure, report: SweepReport, view: str) -> None:
    """The SLO, if all classes share one, and the line of equal times."""
    if view == "JCT" and report.slo_s is not None:
        rule(made, 1e3 * report.slo_s, f"SLO {format_time(report.slo_s)}")
    if view.startswith("Ratio"):
        made.add_hline(y=1, line={"color": QUIET, "width": 1})
