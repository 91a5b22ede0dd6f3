"""A run compared with its baseline: for each scheduler the old and the new value with intervals."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.compare import ROW, log_axis, rows, scaled, spread_wide, whiskers
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.report.means import mean_text
from nona.report.simulations.compared.text import points
from nona.results.simulation.compared import Change, Changes, Measure
from nona.units import format_time

SCALES: Mapping[Measure, float] = {"jct_s": 1e3, "slo_hit_rate": 100.0, "compute": 100.0, "network": 100.0}
AXES: Mapping[Measure, str] = {
    "jct_s": "mean JCT, ms",
    "slo_hit_rate": "SLO hit rate, %",
    "compute": "executors busy, %",
    "network": "busiest link busy, %",
}


def dumbbell_figure(changes: Mapping[str, Changes], measure: Measure) -> go.Figure:
    """One row per scheduler: the baseline hollow and grey, the run in colour, a line between them.

    ``changes`` is that of :func:`~nona.report.simulations.compared.baseline.changes`. A value that is not
    there, as the mean of an overloaded run, is said in words.
    """
    made = figure(74 + ROW * len(changes), legend=False)
    scale = SCALES[measure]
    of = {name: row.of(measure) for name, row in changes.items()}
    values = [scale * v.mean for r in of.values() for v in (r.old, r.new) if v.mean is not None]
    for name, row in of.items():
        _add(made, name, row, scale)
    rows(made, list(of), [_label(r, measure) for r in of.values()])
    if measure == "jct_s" and spread_wide(values):
        log_axis(made, values, AXES[measure])
    else:
        made.update_xaxes(type="linear", title=AXES[measure], nticks=6, rangemode="tozero")
    return made


def _label(row: Change, measure: Measure) -> str:
    """The change in words: the label below the scheduler's name."""
    missing = [word for word, v in (("before", row.old), ("now", row.new)) if v.mean is None]
    if missing:
        return f"no value {' and '.join(missing)}"
    show = format_time if measure == "jct_s" else points
    sign = "+" if row.change.mean is not None and row.change.mean > 0 else ""
    return sign + mean_text(row.change, show)


def _add(made: go.Figure, name: str, row: Change, scale: float) -> None:
    style, label = scheduler_style(name), text(name, 24)
    if row.old.mean is not None and row.new.mean is not None:
        made.add_scatter(
            x=[scale * row.old.mean, scale * row.new.mean],
            y=[label, label],
            mode="lines",
            line={"color": style.colour, "width": 2},
            hoverinfo="skip",
        )
    for value, colour, symbol, word in (
        (row.old, QUIET, "circle-open", "baseline"),
        (row.new, style.colour, style.symbol, "this run"),
    ):
        mean = value.mean
        if mean is None:
            made.add_scatter(x=[None], y=[label])
            continue
        span = scaled(value.ci95 or (mean, mean), scale) or []
        made.add_scatter(
            x=[scale * mean],
            y=[label],
            mode="markers",
            cliponaxis=False,
            marker={"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}},
            error_x=whiskers(scale * mean, span, colour),
            hovertemplate=f"{label}, {word}: %{{x:.4g}}<extra></extra>",
        )
