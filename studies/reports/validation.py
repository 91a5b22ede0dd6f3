"""Modelled times beside published latencies: tables and figure."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.cost.validation import SliceRatio, ValidationRow, ValidationSummary
from nona.registry import Look
from nona.report.figures import DASHED, PALETTE, QUIET, add_line, add_points, figure, text
from nona.results.document import number
from nona.tables import COUNT, FACTOR, SHARE, TIME, Column, Kind, Table
from nona.units import format_time

RATIO = Kind("{:.2f}".format)
LATENCIES = Table[ValidationRow](
    "",
    (
        Column("model", lambda r: r.model),
        Column("device", lambda r: r.executor),
        Column("precision", lambda r: r.precision),
        Column("stack", lambda r: r.stack),
        Column("published", lambda r: r.measured_s, TIME),
        Column("predicted", lambda r: r.predicted_s, TIME),
        Column("predicted / published", lambda r: r.ratio, RATIO),
        Column("use", lambda r: r.use),
        Column("group", lambda r: r.group),
        Column("note", lambda r: r.note),
        Column("source", lambda r: r.source),
    ),
)
GROUPS = Table[ValidationSummary](
    "",
    (
        Column("group", lambda s: s.group),
        Column("latencies", lambda s: s.rows, COUNT),
        Column("MAPE", lambda s: s.mape, SHARE),
        Column("bias", lambda s: s.bias, RATIO),
        Column("Spearman", lambda s: number(s.spearman), Kind("{:.3f}".format)),
        Column("log σ", lambda s: number(s.log_sigma), RATIO),
    ),
)
SLICES = Table[SliceRatio](
    "",
    (
        Column("model", lambda s: s.model),
        Column("slice", lambda s: s.executor),
        Column("published", lambda s: s.measured, FACTOR),
        Column("predicted", lambda s: s.predicted, FACTOR),
    ),
)
VALIDATION_SYMBOLS = {"counted": "circle", "in-sample": "circle-open"}
GREY = ("x", "cross", "diamond-tall")  # groups that only stand there for comparison


def validation_figure(rows: Sequence[ValidationRow]) -> go.Figure:
    """Predicted against published latency (ms), logarithmic axes, one trace per group, with the diagonal.

    Groups that only stand there for comparison are grey; open circles are in sample.
    """
    chart = figure(580)
    times_ms = [1e3 * t for r in rows for t in (r.measured_s, r.predicted_s)]
    ends = [min(times_ms) * 0.8, max(times_ms) * 1.25] if times_ms else [0.1, 10.0]
    add_line(chart, "predicted = published", ends, ends, DASHED, width=1.5)
    groups = dict.fromkeys(r.group for r in rows)
    coloured = [g for g in groups if any(r.group == g and r.use != "shown" for r in rows)]
    others = [g for g in groups if g not in coloured]
    for group in groups:
        own = [r for r in rows if r.group == group]
        x, y = [1e3 * r.measured_s for r in own], [1e3 * r.predicted_s for r in own]
        name, colour = f"{group} (not counted)", QUIET
        symbols: str | list[str] = GREY[others.index(group) % len(GREY)] if group in others else ""
        if group in coloured:
            name, colour = group, PALETTE[coloured.index(group) % len(PALETTE)]
            symbols = [VALIDATION_SYMBOLS.get(r.use, GREY[0]) for r in own]
        look, hovers = Look(colour, "solid", "circle"), [_validation_hover(r) for r in own]
        add_points(chart, name, x, y, look, "%{customdata}", customdata=hovers)
        chart.data[-1].marker.symbol = symbols
    chart.update_xaxes(type="log", title="published, ms", dtick=1)
    chart.update_yaxes(type="log", title="predicted, ms", dtick=1)
    return chart


def _validation_hover(row: ValidationRow) -> str:
    return (
        f"{text(row.model)} on {text(row.executor)}, {row.precision}, {row.stack}<br>"
        f"published {format_time(row.measured_s)}, predicted {format_time(row.predicted_s)}"
    )
