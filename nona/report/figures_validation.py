"""The figure of the cost model's validation: every published latency beside its prediction."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.cost.validation import ValidationRow
from nona.report.figures import PALETTE, QUIET, figure, text
from nona.units import format_time

SYMBOLS = {"counted": "circle", "in-sample": "circle-open", "shown": "x"}


def validation_figure(rows: Sequence[ValidationRow]) -> go.Figure:
    """Predicted over published milliseconds on logarithmic axes, one trace per group, with the diagonal.

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
    for group in groups:
        own = [r for r in rows if r.group == group]
        made.add_scatter(
            x=[1e3 * r.measured_s for r in own],
            y=[1e3 * r.predicted_s for r in own],
            mode="markers",
            name=text(group) + (" (not counted)" if group not in coloured else ""),
            marker={
                "color": PALETTE[coloured.index(group) % len(PALETTE)] if group in coloured else QUIET,
                "symbol": [SYMBOLS[r.use] for r in own],
                "size": 9,
            },
            text=[_hover(r) for r in own],
            hovertemplate="%{text}<extra></extra>",
        )
    made.update_xaxes(type="log", title="published, ms", dtick=1)
    made.update_yaxes(type="log", title="predicted, ms", dtick=1)
    return made


def _hover(row: ValidationRow) -> str:
    return (
        f"{text(row.model)} on {text(row.executor)}, {row.precision}, {row.stack}<br>"
        f"published {format_time(row.measured_s)}, predicted {format_time(row.predicted_s)}"
    )
