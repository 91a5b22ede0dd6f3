"""Figures of sweeps: curves, crosses where they end, the line of the SLO target; two numbers as a map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import plotly.graph_objects as go

from nona.registry import Look
from nona.report import sweep_findings
from nona.report.figures import (
    QUIET,
    UNSTABLE_SYMBOL,
    add_heat,
    add_line,
    add_points,
    figure,
    log_axis,
    log_ticks,
    rule,
    scheduler_style,
    text,
)
from nona.report.sweep_findings import target_text
from nona.report.sweep_grids import Cells, Measure, cells, first_text
from nona.report.sweeps import axis_scale, by_ratio, value_text
from nona.results.document import Estimate
from nona.results.sweeps import FormulaPoint, SweepGrid, SweepReport, SweptCurve, SweptPoint
from nona.tables import share_text, times_text
from nona.units import format_number, format_time


@dataclass(frozen=True, slots=True)
class CurveEnd:
    """A cross at (``x``, ``y``), as on the axes."""

    name: str
    x: float
    y: float
    label: str


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
    close = max(sweep_findings.NEAR * span, 1.0 if report.unit == "count" else 0.0)
    ends = []
    for name, curve in report.schedulers.items():
        for low, high in sweep_findings.merged_spans(curve):
            label = _edge_label(low, high, report.unit)
            for beyond, rightwards in ((low, True), (high, False)):
                last = None if beyond is None else _nearest(curve, beyond, rightwards)
                if beyond is None or last is None or abs(beyond - last.value) > close:
                    continue
                drawn = _drawn(curve, last.value, rightwards, get)
                if drawn is not None:
                    ends.append(CurveEnd(name, factor * beyond, place(drawn), label))
    return ends


def _nearest(curve: SweptCurve, beyond: float, before: bool) -> SweptPoint | None:
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


def _add_crosses(chart: go.Figure, ends: Sequence[CurveEnd]) -> None:
    for end in ends:
        look, hover = (
            replace(scheduler_style(end.name), symbol=UNSTABLE_SYMBOL),
            f"{text(end.name)}: {text(end.label)}",
        )
        name = f"{end.name}: {end.label}"
        add_points(chart, name, [end.x], [end.y], look, hover, legendgroup=end.name, showlegend=False)


def _set_log_range(chart: go.Figure, title: str) -> None:
    """The simulated curves set the range of a logarithmic axis; the formula may leave it near its pole."""
    drawn = [v for t in chart.data if t.mode != "lines" for v in t.y if v is not None]
    log_axis(chart, drawn, title, "y")
    if drawn:
        chart.update_yaxes(range=[math.log10(min(drawn) / 1.4), math.log10(max(drawn) * 1.7)])


TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
TARGET_ROOM = 0.25  # below the lowest curve and above the highest


def nines(share: float) -> float:
    """Return the number of nines of a share: one for every ten times fewer misses, at most four.

    >>> [round(nines(share), 2) for share in (0.5, 0.99, 1.0)]
    [0.3, 2.0, 4.0]
    """
    return -math.log10(max(1 - share, 1e-4))


def _add_target(chart: go.Figure, report: SweepReport) -> None:
    """The target as a line, a hollow marker where a curve crosses it, and the axis in per cent."""
    drawn = [v for t in chart.data for v in t.y if v is not None]
    goal = nines(report.target)
    _set_hits_axis(chart, [*drawn, goal])
    if not drawn:
        return
    rule(chart, goal, f"target {sweep_findings.target_text(report.target)}")
    factor = axis_scale(report.unit)[0]
    for name, curve in report.schedulers.items():
        crossed = sweep_findings.crossings(curve, report.target)
        words = [
            f"{'holds up to' if c.falls else 'holds from'} {sweep_findings.there_text(c.value, report)}"
            for c in crossed
        ]
        add_points(
            chart,
            f"{name} crosses the target",
            [factor * c.value for c in crossed],
            [goal for _ in crossed],
            replace(scheduler_style(name), symbol="circle-open"),
            f"{text(name)}: {sweep_findings.target_text(report.target)} %{{customdata}}",
            size=13,
            legendgroup=name,
            showlegend=False,
            customdata=words,
        )


def _set_hits_axis(chart: go.Figure, drawn: Sequence[float]) -> None:
    low, high = min(drawn), max(drawn)
    chart.update_yaxes(
        range=[low - TARGET_ROOM, high + TARGET_ROOM],
        tickvals=[nines(share) for share in TICKS],
        ticktext=[*(f"{100 * share:g}" for share in TICKS[:-1]), f"≥ {100 * TICKS[-1]:g}"],
    )


HEIGHT = 470
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
    _add_crosses(chart, curve_ends(report, drawn.get, drawn.place))
    chart.update_yaxes(title=drawn.title)
    if drawn.log:
        _set_log_range(chart, drawn.title)
    elif view == HITS:
        _add_target(chart, report)
    else:
        chart.update_yaxes(range=[0, 103])
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
            "mean JCT, ms", lambda p: p.jct_s, milliseconds, format_time, True, lambda of, to: of.jct_s
        ),
        HITS: View(
            "SLO hits, % (a line up: ten times fewer misses)",
            lambda p: p.slo_hit_rate,
            nines,
            lambda v: share_text(v, 2),
        ),
        "Utilisation": View("busiest link, % of time", busy, percent, lambda v: share_text(v, 1)),
        f"Ratio to {base}": View(
            f"mean JCT relative to {text(base)}",
            lambda p: p.ratio,
            float,
            times_text,
            True,
            ratio,
        ),
    }


def _steady(curve: SweptCurve, view: View) -> list[SweptPoint]:
    return [p for p in curve.points if p.steady and view.get(p).mean is not None]


def _name(name: str, curve: SweptCurve, view: View, report: SweepReport) -> str:
    """The name in the legend with its range: of the target where SLO hits are drawn, else of stability."""
    if not _steady(curve, view):
        return f"{name} (nothing to draw)"
    within = (
        sweep_findings.holds_text(curve, report) if view.place is nines else _stable_text(curve, report.unit)
    )
    return f"{name} · {within}" if within else name


def _stable_text(curve: SweptCurve, unit: str) -> str:
    spans = sweep_findings.merged_spans(curve)
    if len(spans) == 1 and spans[0][0] is not None and spans[0][1] is None:
        return f"to {value_text(spans[0][0], unit)}"
    return sweep_findings.stability_text(curve, unit) if spans else ""


def _add_curve(chart: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
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
        chart,
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


def _add_formula(chart: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
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
            chart,
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


def _add_marks(chart: go.Figure, report: SweepReport, view: str) -> None:
    if view == "JCT" and report.slo_s is not None:
        rule(chart, 1e3 * report.slo_s, f"SLO {format_time(report.slo_s)}")
    if view.startswith("Ratio"):
        chart.add_hline(y=1, line={"color": QUIET, "width": 1})


_CELL, _MOST_TEXTS = 46, 160
_PALE, _FULL = "rgba(99,102,241,.06)", "rgba(99,102,241,.9)"
_Row = list[float | None]


def grid_figure(grid: SweepGrid, measure: Measure, scheduler: str = "") -> go.Figure:
    """The first number from left to right, the second upwards, one cell for each pair of values.

    Without a ``scheduler`` a cell has the colour and the name of the best by ``measure``; with one, its
    value. The line is where the SLO hits of what the cells show pass the target.
    """
    first = grid.rows[0].sweep
    by_pair = cells(grid, measure, scheduler)
    chart = figure(150 + _CELL * len(grid.values))
    if scheduler:
        _add_values(chart, by_pair, grid, measure)
    else:
        _add_winners(chart, by_pair, grid, measure)
    _add_target_line(chart, by_pair, grid)
    chart.update_xaxes(
        title=text(first.label),
        tickvals=list(range(len(first.values))),
        ticktext=[first_text(first, v) for v in first.values],
        showgrid=False,
        range=[-0.5, len(first.values) - 0.5],
    )
    chart.update_yaxes(
        title=text(grid.label),
        tickvals=list(range(len(grid.values))),
        ticktext=[value_text(v, grid.unit) for v in grid.values],
        showgrid=False,
        range=[-0.5, len(grid.values) - 0.5],
    )
    return chart


def _table(by_values: Cells, grid: SweepGrid) -> list[list[tuple[float, float]]]:
    return [[(x, y) for x in grid.rows[0].sweep.values] for y in grid.values]


def _hover(by_values: Cells, grid: SweepGrid) -> list[list[str]]:
    first = grid.rows[0].sweep

    def told(x: float, y: float) -> str:
        cell = by_values.get((x, y))
        where = f"{text(first.label)} {first_text(first, x)}, {text(grid.label)} {value_text(y, grid.unit)}"
        if cell is None:
            return f"{where}<br>not simulated yet"
        both = f"mean JCT {cell.text('Mean JCT')}<br>SLO hits {cell.text('SLO hits')}"
        return f"{text(cell.scheduler)}<br>{where}<br>{both}"

    return [[told(x, y) for x, y in row] for row in _table(by_values, grid)]


def _words(by_values: Cells, grid: SweepGrid, measure: Measure, named: bool) -> list[list[str]]:
    """Return the text of each cell; empty if there are too many cells."""
    few = len(grid.values) * len(grid.rows[0].sweep.values) <= _MOST_TEXTS

    def told(pair: tuple[float, float]) -> str:
        cell = by_values.get(pair)
        if cell is None or not few:
            return ""
        if not cell.point.steady:
            return "unstable"
        return f"{text(cell.scheduler, 14)}<br>{cell.text(measure)}" if named else cell.text(measure)

    return [[told(pair) for pair in row] for row in _table(by_values, grid)]


def _add_winners(chart: go.Figure, by_values: Cells, grid: SweepGrid, measure: Measure) -> None:
    names = list(dict.fromkeys(c.scheduler for c in by_values.values() if c.point.steady))
    place = {name: i for i, name in enumerate(names)}
    z: list[_Row] = [
        [place[c.scheduler] if (c := by_values.get(pair)) and c.point.steady else None for pair in row]
        for row in _table(by_values, grid)
    ]
    count = max(len(names), 1)
    scale: list[list[float | str]] = [
        [edge / count, scheduler_style(name).colour] for i, name in enumerate(names) for edge in (i, i + 1)
    ]
    words = _words(by_values, grid, measure, True)
    hover = _hover(by_values, grid)
    add_heat(chart, z, scale, (-0.5, count - 0.5), text=words, texttemplate="%{text}", customdata=hover)
    for name in names:
        add_points(chart, name, [None], [None], replace(scheduler_style(name), symbol="square"))


def _add_values(chart: go.Figure, by_values: Cells, grid: SweepGrid, measure: Measure) -> None:
    def value(pair: tuple[float, float]) -> float | None:
        cell = by_values.get(pair)
        if cell is None or not cell.point.steady:
            return None
        if measure == "SLO hits":
            return None if cell.hits is None else 100 * cell.hits
        mean = cell.point.jct_s.mean
        return None if mean is None or mean <= 0 else math.log10(1e3 * mean)

    z = [[value(pair) for pair in row] for row in _table(by_values, grid)]
    numbers = [v for row in z for v in row if v is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    words, hover = _words(by_values, grid, measure, False), _hover(by_values, grid)
    bar = {
        "title": {"text": "SLO hits, %" if measure == "SLO hits" else "mean JCT, ms, log"},
        "thickness": 12,
    }
    if measure == "Mean JCT" and numbers:
        ticks = [t for t in log_ticks(10**low, 10**high) if low <= math.log10(t) <= high]
        bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [format_number(t) for t in ticks]}
    span = (low, high if high > low else low + 1)
    scale = [[0, _PALE], [1, _FULL]]
    add_heat(chart, z, scale, span, text=words, texttemplate="%{text}", customdata=hover, colorbar=bar)


def _add_target_line(chart: go.Figure, by_values: Cells, grid: SweepGrid) -> None:
    """The border between the cells that keep the target and those that miss it.

    Dark on light, so that it is seen on every colour; nothing where all cells are on one side.
    """
    target = grid.rows[0].sweep.target
    kept = [
        [None if (c := by_values.get(pair)) is None or c.hits is None else c.hits >= target for pair in row]
        for row in _table(by_values, grid)
    ]
    x, y = _border(kept)
    if not x:
        return
    for colour, width, shown in (("#ffffff", 6, False), ("#14172b", 3, True)):
        name, look = f"{target_text(target)} of the SLOs", Look(colour, "solid", "circle")
        add_line(chart, name, x, y, look, width=width, legendgroup="target", showlegend=shown)


def _border(flags: Sequence[Sequence[bool | None]]) -> tuple[_Row, _Row]:
    """The sides between neighbouring cells whose flags differ, as lines with gaps; cells are 1 wide.

    >>> _border([[True, False]])
    ([0.5, 0.5, None], [-0.5, 0.5, None])
    """
    x: _Row = []
    y: _Row = []
    for j, row in enumerate(flags):
        for i, flag in enumerate(row):
            right = row[i + 1] if i + 1 < len(row) else None
            above = flags[j + 1][i] if j + 1 < len(flags) else None
            if None not in (flag, right) and flag != right:
                x += [i + 0.5, i + 0.5, None]
                y += [j - 0.5, j + 0.5, None]
            if None not in (flag, above) and flag != above:
                x += [i - 0.5, i + 0.5, None]
                y += [j + 0.5, j + 0.5, None]
    return x, y
