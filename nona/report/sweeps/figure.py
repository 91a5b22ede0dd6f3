"""Figures of a sweep: every scheduler's curve on one chart, ended with a cross where it becomes unstable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.report.sweeps.ends import curve_ends
from nona.report.sweeps.figure_ends import add_crosses, add_labels, set_log_range
from nona.report.sweeps.values import axis_scale, by_ratio, value_text
from nona.results.estimate import Estimate
from nona.results.sweep import FormulaPoint, SweepReport, SweptCurve, SweptPoint

HEIGHT, TOP = 470, 48
FORMULA_DASH = "3px,3px"


@dataclass(frozen=True, slots=True)
class View:
    """A quantity to draw: ``get`` gives it for a point, times ``scale`` on the axis.

    ``formula`` gives it for what the formula says of a scheduler and of the reference.
    """

    title: str
    get: Callable[[SweptPoint], Estimate]
    scale: float
    log: bool
    formula: Callable[[FormulaPoint, FormulaPoint], float | None] | None = None
    hover: str = "%{y:.4g}"


def sweep_figure(report: SweepReport, view: str = "JCT", cursor: float | None = None) -> go.Figure:
    """One of :func:`views` over the swept number; ``cursor``: the selected value."""
    drawn = views(report)[view]
    factor, unit = axis_scale(report.unit)
    made = figure(HEIGHT)
    made.update_layout(margin={"t": TOP})
    for name, curve in report.schedulers.items():
        _add_curve(made, name, curve, drawn, report)
        if drawn.formula is not None and curve.formula:
            _add_formula(made, name, curve, drawn, report)
    made.update_xaxes(
        title=text(report.label) + (f", {unit}" if unit else ""),
        type="log" if by_ratio(report.unit) else "linear",
    )
    made.update_yaxes(
        title=drawn.title + (" (log)" if drawn.log else ""), type="log" if drawn.log else "linear"
    )
    ends = curve_ends(report, drawn.get, drawn.scale)
    add_crosses(made, ends)
    if drawn.log:
        set_log_range(made)
    else:
        made.update_yaxes(range=[0, 103])
    add_labels(made, ends, report, drawn.log, HEIGHT - TOP - 60)
    _add_marks(made, report, view)
    if cursor is not None:
        made.add_vline(x=factor * cursor, line={"color": QUIET, "width": 1})
    return made


def views(report: SweepReport) -> dict[str, View]:
    """Name → quantity of a sweep that can be drawn."""
    base = report.reference

    def ratio(of: FormulaPoint, to: FormulaPoint) -> float | None:
        return None if of.jct_s is None or to.jct_s is None else of.jct_s / to.jct_s

    return {
        "JCT": View("mean JCT, ms", lambda p: p.jct_s, 1e3, True, lambda of, to: of.jct_s, "%{y:.4g} ms"),
        "SLO hits": View("SLO hits, %", lambda p: p.slo_hit_rate, 100.0, False, None, "%{y:.1f} %"),
        "Utilisation": View(
            "busiest link, % of time",
            lambda p: Estimate(mean=p.utilization.network, ci95=None),
            100.0,
            False,
            None,
            "%{y:.1f} %",
        ),
        f"Ratio to {base}": View(
            f"mean JCT relative to {text(base)}", lambda p: p.ratio, 1.0, True, ratio, "%{y:.3g} ×"
        ),
    }


def _steady(curve: SweptCurve, view: View) -> list[SweptPoint]:
    """The points that are drawn: those with a steady state and a number."""
    return [p for p in curve.points if p.steady and view.get(p).mean is not None]


def _add_curve(made: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
    style, factor = scheduler_style(name), axis_scale(report.unit)[0]
    x: list[float] = []
    y: list[float | None] = []
    up: list[float] = []
    down: list[float] = []
    shown: list[str] = []
    for p in curve.points:
        value = view.get(p)
        mean = value.mean if p.steady else None
        if mean is None and p.steady:
            continue
        x.append(factor * p.value)
        y.append(None if mean is None else view.scale * mean)
        # Beside the swept values lie many more near edges: their bars would hide the curves.
        above, below = _reach(value, view) if mean is not None and p.value in report.values else (0.0, 0.0)
        up.append(above)
        down.append(below)
        backlog = "<br>ended with a backlog" if p.state == "backlogged" else ""
        shown.append(f"{value_text(p.value, report.unit)}{_span(value, view)}{backlog}")
    made.add_scatter(
        x=x,
        y=y,
        name=text(name) + ("" if _steady(curve, view) else " (nothing to draw)"),
        legendgroup=name,
        mode="lines+markers",
        connectgaps=False,
        line={"color": style.colour, "width": 2, "dash": style.dash},
        marker={"symbol": style.symbol, "size": 7, "color": style.colour},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": up,
            "arrayminus": down,
            "thickness": 1,
            "width": 2,
            "color": _faint(style.colour),
        },
        customdata=shown,
        hovertemplate=f"{view.hover}<br>{text(report.label)} %{{customdata}}<extra>{text(name)}</extra>",
    )


def _reach(value: Estimate, view: View) -> tuple[float, float]:
    """Lengths of an error bar upwards and downwards; on a log axis it ends at a tenth of the mean."""
    if value.ci95 is None or value.mean is None:
        return 0.0, 0.0
    low, high = value.ci95
    mean = value.mean
    if view.log:
        low = max(low, mean / 10)
    elif view.scale == 100.0:
        low, high = max(low, 0.0), min(high, 1.0)
    return view.scale * max(high - mean, 0.0), view.scale * max(mean - low, 0.0)


def _span(value: Estimate, view: View) -> str:
    if value.ci95 is None or value.mean is None:
        return ""
    low, high = (f"{view.scale * v:.4g}" for v in value.ci95)
    return f"<br>95 %: {low} to {high}"


def _add_formula(made: go.Figure, name: str, curve: SweptCurve, view: View, report: SweepReport) -> None:
    beside = {f.value: f for f in report.schedulers[report.reference].formula or ()}
    if view.formula is None:
        return
    x, y = [], []
    ratio = view.scale == 1.0
    for f in curve.formula or ():
        to = beside.get(f.value)
        if ratio and to is None:
            continue
        value = view.formula(f, to or f)
        x.append(axis_scale(report.unit)[0] * f.value)
        y.append(None if value is None else view.scale * value)
    if not ratio or name != report.reference:
        made.add_scatter(
            x=x,
            y=y,
            name=f"{text(name)} by formula",
            legendgroup=name,
            showlegend=False,
            mode="lines",
            connectgaps=False,
            line={"color": scheduler_style(name).colour, "width": 1.5, "dash": FORMULA_DASH},
            hovertemplate=f"{view.hover} by formula<extra>{text(name)}</extra>",
        )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},.5)"


def _add_marks(made: go.Figure, report: SweepReport, view: str) -> None:
    """The SLO, if all classes share one, and the line of equal times."""
    if view == "JCT" and report.slo_s is not None:
        made.add_hline(
            y=1e3 * report.slo_s,
            line={"color": QUIET, "dash": "dash", "width": 1},
            annotation_text="SLO",
            annotation_position="top left",
        )
    if view.startswith("Ratio"):
        made.add_hline(y=1, line={"color": QUIET, "width": 1})
