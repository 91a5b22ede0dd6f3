"""Figures of sweeps: curves, crosses where they end, the line of the SLO target; two numbers as a map."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import plotly.graph_objects as go

from nona.core.document import Estimate
from nona.core.figures import (
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
from nona.core.registry import ChartStyle
from nona.core.tables import kept_text, share_text, times_text
from nona.core.text import join_words
from nona.core.units import format_number, format_time
from nona.queries.sweeps import findings as sweep_findings
from nona.queries.sweeps.findings import target_text, there_text
from nona.queries.sweeps.grids import NO_LEAD, GridCell, Measure, cells
from nona.queries.sweeps.report import axis_scale, by_ratio, value_text
from nona.queries.sweeps.results import SweepGrid, SweepReport, SweptCurve, SweptPoint

HEIGHT = 470
FORMULA_DASH = "3px,3px"
HITS = "SLO hits"
TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
TARGET_ROOM = 0.25  # below the lowest curve and above the highest


@dataclass(frozen=True, slots=True)
class DrawnQuantity:
    """A quantity to draw: ``get`` gives it for a point, ``place`` puts it on the axis, ``show`` writes it.

    ``formula`` gives values and what the formula says there, of a curve and the reference's. ``within``
    names the range of a curve, for the legend; ``finish`` sets the axis of what is drawn.
    """

    title: str
    get: Callable[[SweptPoint], Estimate]
    place: Callable[[float], float]
    show: Callable[[float], str]
    within: Callable[[SweptCurve, SweepReport], str]
    finish: Callable[[go.Figure, SweepReport], None]
    log: bool = False
    formula: Callable[[SweptCurve, SweptCurve], Sequence[tuple[float, float | None]]] | None = None


def views(report: SweepReport) -> dict[str, DrawnQuantity]:
    """Name → quantity of a sweep that can be drawn."""
    base = report.reference
    return {
        "JCT": DrawnQuantity(
            "mean JCT, ms",
            lambda p: p.jct_s,
            lambda value_s: 1e3 * value_s,
            format_time,
            _stable_text,
            _mark_slo,
            log=True,
            formula=lambda curve, base: [(f.value, f.jct_s) for f in curve.formula or ()],
        ),
        HITS: DrawnQuantity(
            "SLO hits, % (a line up: ten times fewer misses)",
            lambda p: p.slo_hit_rate,
            nines,
            kept_text,
            sweep_findings.holds_text,
            _add_target,
        ),
        "Utilisation": DrawnQuantity(
            "busiest link, % of time",
            lambda p: Estimate(mean=p.utilization.network, ci95=None),
            lambda share: 100 * share,
            lambda v: share_text(v, 1),
            _stable_text,
            lambda chart, report: chart.update_yaxes(range=[0, 103]),
        ),
        f"Ratio to {base}": DrawnQuantity(
            f"mean JCT relative to {text(base)}",
            lambda p: p.ratio,
            float,
            times_text,
            _stable_text,
            lambda chart, report: chart.add_hline(y=1, line={"color": QUIET, "width": 1}),
            log=True,
            formula=_formula_ratios,
        ),
    }


def sweep_figure(report: SweepReport, view: str = "JCT", cursor: float | None = None) -> go.Figure:
    """One of :func:`views` over the swept number; ``cursor``: the selected value."""
    drawn, chart = views(report)[view], figure(HEIGHT)
    factor, unit = axis_scale(report.unit)
    for name, curve in report.schedulers.items():
        _add_curve(chart, name, curve, drawn, report)
        _add_formula(chart, name, drawn, report)
    chart.update_xaxes(
        title=text(report.label) + (f", {unit}" if unit else ""),
        type="log" if by_ratio(report.unit) else "linear",
    )
    for name, curve in report.schedulers.items():
        _add_crosses(chart, name, curve, drawn, report)
    chart.update_yaxes(title=drawn.title)
    if drawn.log:
        _set_log_range(chart, drawn.title)
    drawn.finish(chart, report)
    if cursor is not None:
        chart.add_vline(x=factor * cursor, line={"color": QUIET, "width": 1})
    return chart


def _add_curve(
    chart: go.Figure, name: str, curve: SweptCurve, view: DrawnQuantity, report: SweepReport
) -> None:
    """Draw joined points, with a gap where there is no steady state."""
    factor = axis_scale(report.unit)[0]
    means = [(p, view.get(p).mean if p.steady else None) for p in curve.points]
    shown = [(p, mean) for p, mean in means if mean is not None or not p.steady]
    within = view.within(curve, report)
    legend = f"{name} · {within}" if within else name
    add_points(
        chart,
        legend if any(mean is not None for _, mean in shown) else f"{name} (nothing to draw)",
        [factor * p.value for p, _ in shown],
        [None if mean is None else view.place(mean) for _, mean in shown],
        scheduler_style(name),
        f"{text(name)}: %{{customdata}}",
        size=7,
        joined=True,
        legendgroup=name,
        # Beside the swept values lie many more near edges: their bars would hide the curves.
        spans=[_reach(mean, view.get(p), view) if p.value in report.values else None for p, mean in shown],
        bar=1,
        customdata=[_hover_text(p, mean, view, report) for p, mean in shown],
    )


def _reach(mean: float | None, value: Estimate, view: DrawnQuantity) -> tuple[float, float] | None:
    """Both ends of an interval as drawn; on a log axis it ends at a tenth of the mean."""
    if mean is None or value.ci95 is None:
        return None
    low, high = value.ci95
    return view.place(max(low, mean / 10) if view.log else max(low, 0.0)), view.place(high)


def _hover_text(point: SweptPoint, mean: float | None, view: DrawnQuantity, report: SweepReport) -> str:
    interval = view.get(point).ci95
    span = "" if interval is None else "<br>95 %: {} to {}".format(*map(view.show, interval))
    backlog = "<br>ended with a backlog" if point.state == "backlogged" else ""
    where = f"{text(report.label)} {value_text(point.value, report.unit)}"
    return f"{'' if mean is None else view.show(mean)}<br>{where}{span}{backlog}"


def _add_formula(chart: go.Figure, name: str, view: DrawnQuantity, report: SweepReport) -> None:
    curves = report.schedulers
    values = view.formula(curves[name], curves[report.reference]) if view.formula is not None else ()
    if not values:
        return
    add_line(
        chart,
        f"{name} by formula",
        [axis_scale(report.unit)[0] * x for x, _ in values],
        [None if value is None else view.place(value) for _, value in values],
        replace(scheduler_style(name), dash=FORMULA_DASH),
        f"{text(name)}: %{{customdata}} by formula",
        width=1.5,
        legendgroup=name,
        showlegend=False,
        customdata=["" if value is None else view.show(value) for _, value in values],
    )


def _formula_ratios(curve: SweptCurve, base: SweptCurve) -> list[tuple[float, float | None]]:
    beside = {f.value: f.jct_s for f in base.formula or ()}
    pairs = [(f.value, f.jct_s, beside[f.value]) for f in curve.formula or () if f.value in beside]
    return [(v, None if of is None or to is None else of / to) for v, of, to in pairs if curve is not base]


def _add_crosses(
    chart: go.Figure, name: str, curve: SweptCurve, view: DrawnQuantity, report: SweepReport
) -> None:
    """Draw a cross for every well-known edge, at the height of the last point before it."""
    span = report.values[-1] - report.values[0]
    close = max(sweep_findings.NEAR * span, 1.0 if report.unit == "count" else 0.0)
    look = replace(scheduler_style(name), symbol=UNSTABLE_SYMBOL)
    steady = [p for p in curve.points if p.steady]
    for low, high in sweep_findings.unstable_spans(curve):
        label = _edge_label(low, high, report.unit)
        before = [] if low is None else [p for p in reversed(steady) if p.value < low]
        after = [] if high is None else [p for p in steady if p.value > high]
        for end, beside in ((low, before), (high, after)):
            heights = [mean for p in beside if (mean := view.get(p).mean) is not None]
            if end is not None and heights and abs(end - beside[0].value) <= close:
                x, y = axis_scale(report.unit)[0] * end, view.place(heights[0])
                shown, hover = f"{name}: {label}", f"{text(name)}: {text(label)}"
                add_points(chart, shown, [x], [y], look, hover, legendgroup=name, showlegend=False)


def _edge_label(low: float | None, high: float | None, unit: str) -> str:
    """Return the labels at the ends of a range without a steady state; ``None``: it has no end there.

    >>> _edge_label(0.6, None, "fraction"), _edge_label(None, 12.0, "count")
    ('unstable ≥ 60 %', 'unstable ≤ 12')
    """
    if low is None or high is None:
        end = value_text(low if low is not None else high or 0.0, unit)
        return f"unstable {'≤' if low is None else '≥'} {end}"
    return f"unstable {value_text(low, unit)} to {value_text(high, unit)}"


def _stable_text(curve: SweptCurve, report: SweepReport) -> str:
    spans = sweep_findings.unstable_spans(curve)
    if len(spans) == 1 and spans[0][0] is not None and spans[0][1] is None:
        return f"to {value_text(spans[0][0], report.unit)}"
    return sweep_findings.stability_text(curve, report.unit) if spans else ""


def _set_log_range(chart: go.Figure, title: str) -> None:
    """Set the range of a logarithmic axis by the simulated curves, as the formula has a pole."""
    drawn = [v for t in chart.data if t.mode != "lines" for v in t.y if v is not None]
    log_axis(chart, drawn, title, "y")
    if drawn:
        chart.update_yaxes(range=[math.log10(min(drawn) / 1.4), math.log10(max(drawn) * 1.7)])


def _mark_slo(chart: go.Figure, report: SweepReport) -> None:
    if report.slo_s is not None:
        rule(chart, 1e3 * report.slo_s, f"SLO {format_time(report.slo_s)}")


def nines(share: float) -> float:
    """Return the number of nines of a share: one for every ten times fewer misses, at most four.

    >>> [round(nines(share), 2) for share in (0.5, 0.99, 1.0)]
    [0.3, 2.0, 4.0]
    """
    return -math.log10(max(1 - share, 1e-4))


def _add_target(chart: go.Figure, report: SweepReport) -> None:
    """Draw the target as a line, a hollow marker where a curve crosses it, and the axis in per cent."""
    goal, target = nines(report.target), target_text(report.target)
    drawn = [v for t in chart.data for v in t.y if v is not None]
    chart.update_yaxes(
        range=[min([*drawn, goal]) - TARGET_ROOM, max([*drawn, goal]) + TARGET_ROOM],
        tickvals=[nines(share) for share in TICKS],
        ticktext=[*(f"{100 * share:g}" for share in TICKS[:-1]), f"≥ {100 * TICKS[-1]:g}"],
    )
    if not drawn:
        return
    rule(chart, goal, f"target {target}")
    for name, curve in report.schedulers.items():
        crossed = sweep_findings.crossings(curve, report.target)
        add_points(
            chart,
            f"{name} crosses the target",
            [axis_scale(report.unit)[0] * c.value for c in crossed],
            [goal for _ in crossed],
            replace(scheduler_style(name), symbol="circle-open"),
            f"{text(name)}: {target} %{{customdata}}",
            size=13,
            legendgroup=name,
            showlegend=False,
            customdata=[
                f"{'holds up to' if c.falls else 'holds from'} {there_text(c.value, report)}" for c in crossed
            ],
        )


_CELL, _MOST_TEXTS = 46, 160
_PALE, _FULL = "rgba(99,102,241,.06)", "rgba(99,102,241,.9)"
_Row = list[float | None]
_Rows = Sequence[Sequence[GridCell | None]]
Heat = Callable[..., None]


def grid_figure(grid: SweepGrid, measure: Measure, scheduler: str = "") -> go.Figure:
    """Return the first number from left to right, the second upwards, one cell for each pair of values.

    Without a ``scheduler`` a cell has the colour and the name of the best by ``measure``; with one, its
    value. The line is where the SLO hits of what the cells show pass the target.
    """
    first = grid.rows[0].sweep
    by_pair = cells(grid, measure, scheduler)
    rows = [[by_pair.get((x, y)) for x in first.values] for y in grid.values]
    first_names = [f"{text(first.label)} {there_text(v, first)}" for v in first.values]
    second_names = [f"{text(grid.label)} {value_text(v, grid.unit)}" for v in grid.values]
    chart = figure(150 + _CELL * len(grid.values))
    few = len(grid.values) * len(first.values) <= _MOST_TEXTS
    heat = partial(
        add_heat,
        chart,
        text=[[_cell_text(c, measure, not scheduler) if few else "" for c in row] for row in rows],
        texttemplate="%{text}",
        customdata=[
            [_cell_hover(c, f"{x}, {y}") for x, c in zip(first_names, row, strict=True)]
            for y, row in zip(second_names, rows, strict=True)
        ],
    )
    if scheduler:
        _add_values(heat, rows, measure)
    else:
        for name in _add_winners(heat, rows):
            add_points(chart, name, [None], [None], replace(_chart_style(name), symbol="square"))
    _add_target_line(chart, rows, first.target)
    chart.update_xaxes(
        title=text(first.label),
        tickvals=list(range(len(first.values))),
        ticktext=[there_text(v, first) for v in first.values],
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


def _cell_text(cell: GridCell | None, measure: Measure, named: bool) -> str:
    if cell is None:
        return ""
    name = f"{text(cell.leader, 14)}<br>" if named and cell.point.steady else ""
    return f"{name}{cell.text(measure)}"


def _cell_hover(cell: GridCell | None, where: str) -> str:
    if cell is None:
        return f"{where}<br>not simulated yet"
    both = f"mean JCT {cell.text('Mean JCT')}<br>SLO hits {cell.text('SLO hits')}"
    level = f"<br>not clearly apart: {text(join_words(cell.level))}" if cell.level else ""
    return f"{text(cell.scheduler)}<br>{where}<br>{both}{level}"


def _add_winners(heat: Heat, rows: _Rows) -> list[str]:
    """Colour each cell as the scheduler that wins it, and return the winners."""
    winners = [[c.leader if c and c.point.steady else None for c in row] for row in rows]
    names = list(dict.fromkeys(name for row in winners for name in row if name is not None))
    z: list[_Row] = [[None if name is None else names.index(name) for name in row] for row in winners]
    count = max(len(names), 1)
    scale: list[list[float | str]] = [
        [edge / count, _chart_style(name).colour] for i, name in enumerate(names) for edge in (i, i + 1)
    ]
    heat(z, scale, (-0.5, count - 0.5))
    return names


def _chart_style(name: str) -> ChartStyle:
    style = scheduler_style(name)
    return replace(style, colour=QUIET) if name == NO_LEAD else style


def _add_values(heat: Heat, rows: _Rows, measure: Measure) -> None:
    def value(cell: GridCell | None) -> float | None:
        if cell is None or not cell.point.steady:
            return None
        if measure == "SLO hits":
            return None if cell.point.kept is None else 100 * cell.point.kept
        mean = cell.point.jct_s.mean
        return None if mean is None or mean <= 0 else math.log10(1e3 * mean)

    z = [[value(c) for c in row] for row in rows]
    numbers = [v for row in z for v in row if v is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    bar = {
        "title": {"text": "SLO hits, %" if measure == "SLO hits" else "mean JCT, ms, log"},
        "thickness": 12,
    }
    if measure == "Mean JCT" and numbers:
        ticks = [t for t in log_ticks(10**low, 10**high) if low <= math.log10(t) <= high]
        bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [format_number(t) for t in ticks]}
    span = (low, high if high > low else low + 1)
    heat(z, [[0, _PALE], [1, _FULL]], span, colorbar=bar)


def _add_target_line(chart: go.Figure, rows: _Rows, target: float) -> None:
    """Draw the border, dark on light, between the cells that keep the target and those that miss it."""
    x, y = _border(
        [[None if c is None or c.point.kept is None else c.point.kept >= target for c in row] for row in rows]
    )
    if not x:
        return
    for colour, width, shown in (("#ffffff", 6, False), ("#14172b", 3, True)):
        name, look = f"{target_text(target)} of the SLOs", ChartStyle(colour, "solid", "circle")
        add_line(chart, name, x, y, look, width=width, legendgroup="target", showlegend=shown)


def _border(flags: Sequence[Sequence[bool | None]]) -> tuple[_Row, _Row]:
    """Return the sides between neighbouring cells whose flags differ, as lines with gaps; cells are 1 wide.

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
