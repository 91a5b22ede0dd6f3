"""The figures of the validation: predicted over published latency; simulation against theory."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.cost.validation.latencies import ValidationRow
from nona.report.checks.theory import AGREES, UNCLEAR
from nona.report.figures.style import BAD, PALETTE, QUIET, figure, text
from nona.results.checks import ComparedRow
from nona.units import format_time

SYMBOLS = {"counted": "circle", "in-sample": "circle-open"}
GREY = ("x", "cross", "diamond-tall")  # groups that only stand there for comparison


def validation_figure(rows: Sequence[ValidationRow]) -> go.Figure:
    """Predicted against published latency (ms), logarithmic axes, one trace per group, with the diagonal.

    Groups that only stand there for comparison are grey; open circles are in sample.
    """
    made = figure(580)
    times_ms = [1e3 * t for r in rows for t in (r.measured_s, r.predicted_s)]
    ends = [min(times_ms) * 0.8, max(times_ms) * 1.25] if times_ms else [0.1, 10.0]
    made.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        name="predicted = published",
        line={"color": QUIET, "dash": "dash", "width": 1.5},
        hoverinfo="skip",
    )
    groups = dict.fromkeys(r.group for r in rows)
    coloured = [g for g in groups if any(r.group == g and r.use != "shown" for r in rows)]
    others = [g for g in groups if g not in coloured]
    for group in groups:
        own = [r for r in rows if r.group == group]
        made.add_scatter(
            x=[1e3 * r.measured_s for r in own],
            y=[1e3 * r.predicted_s for r in own],
            mode="markers",
            name=text(group) + (" (not counted)" if group not in coloured else ""),
            marker={
                "color": PALETTE[coloured.index(group) % len(PALETTE)] if group in coloured else QUIET,
                "symbol": [SYMBOLS.get(r.use, GREY[0]) for r in own]
                if group in coloured
                else GREY[others.index(group) % len(GREY)],
                "size": 9,
            },
            text=[_hover(r) for r in own],
            hovertemplate="%{text}<extra></extra>",
        )
    made.update_xaxes(type="log", title="published, ms", dtick=1)
    made.update_yaxes(type="log", title="predicted, ms", dtick=1)
    return made


def theory_figure(rows: Sequence[ComparedRow]) -> go.Figure:
    """Error of the simulated mean with its interval in per cent, one line per system and job class.

    Where theory gives bounds, between them there is no error. Means that differ are red.
    """
    labels = list(dict.fromkeys(_label(r) for r in rows))
    loads = sorted({r.load for r in rows})
    made = figure(110 + 26 * len(labels))
    for number, load in enumerate(loads):
        own = [r for r in rows if r.load == load]
        shift = (number - (len(loads) - 1) / 2) * 0.22
        made.add_scatter(
            x=[r.error_percent for r in own],
            y=[labels.index(_label(r)) + shift for r in own],
            error_x={
                "type": "data",
                "array": [r.half_width_percent for r in own],
                "thickness": 1.5,
                "width": 0,
            },
            mode="markers",
            name=f"load {load:.0%}",
            marker={
                "color": [PALETTE[number] if r.verdict in (AGREES, UNCLEAR) else BAD for r in own],
                "size": 7,
            },
            text=[_theory_hover(r) for r in own],
            hovertemplate="%{text}<extra></extra>",
        )
        made.data[-1].error_x.color = PALETTE[number]
    made.add_vline(x=0, line={"color": QUIET, "width": 1.5, "dash": "dash"})
    made.update_xaxes(title="simulated mean over theory − 1, %", ticksuffix=" %")
    made.update_yaxes(
        tickvals=list(range(len(labels))),
        ticktext=[text(label) for label in labels],
        range=[len(labels) - 0.4, -0.6],
        showgrid=False,
    )
    return made


def _label(row: ComparedRow) -> str:
    return f"{row.system}: {row.jobs}" if row.jobs else row.system


def _theory_hover(row: ComparedRow) -> str:
    upper = "" if row.to_ms is None else f" to {row.to_ms:.4g}"
    return (
        f"{text(_label(row))}, load {row.load:.0%}<br>theory {row.theory_ms:.4g}{upper} ms<br>"
        f"simulated {row.simulated_ms:.4g} ± {row.half_width_ms:.2g} ms: {text(row.verdict)}"
    )


def _hover(row: ValidationRow) -> str:
    return (
        f"{text(row.model)} on {text(row.executor)}, {row.precision}, {row.stack}<br>"
        f"published {format_time(row.measured_s)}, predicted {format_time(row.predicted_s)}"
    )
