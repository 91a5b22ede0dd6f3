"""Figure: shares of time on each type of GPU, planned and received, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import figure, text
from nona.report.training.words import job_label
from nona.results.training.outcome import Received

ROW = 20
TOP = 96  # pixels above the rows: room for the chart's own buttons
COLOURS = ((0.0, "rgba(99,102,241,.06)"), (1.0, "rgba(99,102,241,.62)"))


def allocation_figure(rows: Sequence[Received], types: Sequence[str], names: Sequence[str]) -> go.Figure:
    """Two heat maps with the same rows (jobs) and colours: mean share X, and share of time received."""
    made = figure(TOP + 46 + ROW * max(1, len(rows)), legend=False)
    labels = [text(job_label(names[r.job]), 28) for r in rows]
    for axis, title, shares in (
        ("x", "allocation X", [[r.planned.get(t, 0.0) for t in types] for r in rows]),
        ("x2", "received", [[r.received.get(t, 0.0) for t in types] for r in rows]),
    ):
        made.add_heatmap(
            z=shares,
            x=list(types),
            y=labels,
            xaxis=axis,
            zmin=0,
            zmax=1,
            colorscale=COLOURS,
            showscale=False,
            hovertemplate=f"%{{y}} on %{{x}}: {title} %{{z:.3f}}<extra></extra>",
            xgap=2,
            ygap=2,
        )
        made.add_scatter(  # text of its own: it has the colour of the theme
            x=[t for _ in rows for t in types],
            y=[label for label in labels for _ in types],
            xaxis=axis,
            mode="text",
            text=[f"{v:.2f}" if v >= 0.005 else "" for row in shares for v in row],
            textfont={"size": 11},
            hoverinfo="skip",
        )
    span = [-0.5, len(types) - 0.5]
    made.update_layout(
        xaxis={
            "domain": [0, 0.48],
            "title": "allocation X",
            "type": "category",
            "side": "top",
            "range": span,
        },
        xaxis2={
            "domain": [0.52, 1],
            "title": "received",
            "type": "category",
            "side": "top",
            "anchor": "y",
            "range": span,
            "showgrid": False,
            "tickfont": {"size": 11},
        },
        margin={"t": TOP},
    )
    made.update_yaxes(type="category", range=[len(rows) - 0.5, -0.5], showgrid=False)
    return made
