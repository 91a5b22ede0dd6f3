"""Missed SLOs over the number of servers."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.results.capacity import CapacityReport


def capacity_figure(report: CapacityReport) -> go.Figure:
    """Predicted share of missed SLOs, ± two standard errors, at every count tried, and the target."""
    made = figure(300, legend=len(report.devices) > 1)
    for device in report.devices:
        known = [(t, t.miss) for t in device.tried if t.miss is not None]
        made.add_scatter(
            x=[t.servers for t, _ in known],
            y=[100 * miss for _, miss in known],
            error_y={
                "type": "data",
                "array": [200 * t.error for t, _ in known],
                "width": 4,
                "thickness": 1.5,
            },
            name=text(device.gpu),
            mode="lines+markers",
            line={"color": scheduler_style("nona").colour, "width": 2},
            hovertemplate="%{x} servers: %{y:.3g} % missed<extra></extra>",
        )
    made.update_xaxes(title="servers", rangemode="tozero")
    made.update_yaxes(title="SLOs missed (predicted), %", rangemode="tozero")
    made.add_hline(
        y=100 * (1 - report.target_hit_rate),
        line={"color": QUIET, "dash": "dash", "width": 1},
        annotation_text="allowed",
        annotation_position="top right",
    )
    return made
