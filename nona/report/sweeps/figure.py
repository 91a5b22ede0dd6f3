"""Figures of a sweep: every scheduler's curve on one chart, ended with a cross where it becomes unstable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, rule, text
from nona.report.sweeps.ends import curve_ends
from nona.report.sweeps.figure_ends import add_crosses, add_labels, set_log_range
from nona.report.sweeps.figure_target import add_target, nines
from nona.report.sweeps.targets import holds_text
from nona.report.sweeps.values import axis_scale, by_ratio, value_text
from nona.report.text import share_text
from nona.results.estimate import Estimate
from nona.results.sweep import FormulaPoint, SweepReport, SweptCurve, SweptPoint
from nona.units import format_time

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
    made = figure(HEIGHT)
    for name, curve in report.schedulers.items():
        _add_curve(made, name, curve, drawn, report)
        if drawn.formula is not None and curve.formula:
            _add_formula(made, name, curve, drawn, report)
    made.update_xaxes(
        title=text(report.label) + (f", {unit}" if unit else ""),
        type="log" if by_ratio(report.unit) else "linear",
    )
    made.update_yaxes(title=drawn.title, type="log" if drawn.log else "linear")
    ends = curve_ends(report, drawn.get, drawn.place)
    add_crosses(made, ends)
    if drawn.log:
        set_log_range(made)
    elif view == HITS:
        add_target(made, report)
    else:
        made.update_yaxes(range=[0, 103])
    add_labels(made, ends, report, drawn.log, HEIGHT - AROUND)
    _add_marks(made, report, view)
    if cursor is not None:
        made.add_vline(x=factor * cursor, line={"color": QUIET, "width": 1})
    return made


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
            lambda v: f"{v:.3g} ×",
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
        return f"{text(name)} (nothing to draw)"
    holds = holds_text(curve, report) if view.place is nines else ""
    return f"{text(name)} · {holds}" if holds else text(name)


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
        y.append(None if mean is None else view.place(mean))
        # Beside the swept values lie many more near edges: their bars would hide the curves.
        above, below = _reach(value, view) if mean is not None and p.value in report.values else (0.0, 0.0)
        up.append(above)
        down.append(below)
        backlog = "<br>ended with a backlog" if p.state == "backlogged" else ""
        told = "" if mean is None else view.show(mean)
        where = f"{text(report.label)} {value_text(p.value, report.unit)}"
        shown.append(f"{told}<br>{where}{_span(value, view)}{backlog}")
    made.add_scatter(
        x=x,
        y=y,
        name=_name(name, curve, view, report),
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
        hovertemplate=f"{text(name)}: %{{customdata}}<extra></extra>",
    )


def _reach(value: Estimate, view: View) -> tuple[float, float]:
    """Lengths of an error bar upwards and downwards; on a log axis it ends at a tenth of the mean."""
    if value.ci95 is None or value.mean is None:
        return 0.0, 0.0
    low, high = value.ci95
    low = max(low, value.mean / 10) if view.log else max(low, 0.0)
    here = view.place(value.mean)
    return max(view.place(high) - here, 0.0), max(here - view.place(low), 0.0)


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
        made.add_scatter(
            x=x,
            y=y,
            name=f"{text(name)} by formula",
            legendgroup=name,
            showlegend=False,
            mode="lines",
            connectgaps=False,
            line={"color": scheduler_style(name).colour, "width": 1.5, "dash": FORMULA_DASH},
            customdata=shown,
            hovertemplate=f"{text(name)}: %{{customdata}} by formula<extra></extra>",
        )


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},.5)"


def _add_marks(made: go.Figure, report: SweepReport, view: str) -> None:
    """The SLO, if all classes share one, and the line of equal times."""
    if view == "JCT" and report.slo_s is not None:
        rule(made, 1e3 * report.slo_s, f"SLO {format_time(report.slo_s)}")
    if view.startswith("Ratio"):
        made.add_hline(y=1, line={"color": QUIET, "width": 1})
