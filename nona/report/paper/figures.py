"""Figures of the paper's evaluation: the ratio in overload over the length of the run."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.results.studies.paper import PaperStudy


def growth_figure(data: PaperStudy) -> go.Figure:
    """Ratio of the mean JCT to nona's over the jobs in the run, log-log, and the paper's number."""
    made = figure(360)
    for row in data.overload.schedulers:
        style = scheduler_style(row.scheduler)
        made.add_scatter(
            x=[r.jobs for r in row.runs],
            y=[r.ratio for r in row.runs],
            name=text(row.scheduler),
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 2},
            marker={"symbol": style.symbol, "size": 8, "color": style.colour},
            hovertemplate=text(row.scheduler) + ": %{y:.3g} × at %{x:,} jobs<extra></extra>",
        )
    made.update_xaxes(type="log", title="jobs in the run (log)", dtick=1)
    made.update_yaxes(type="log", title="mean JCT relative to nona (log)", dtick=1)
    made.add_hline(y=data.claim, line={"color": QUIET, "dash": "dash", "width": 1})
    made.add_annotation(  # on a logarithmic axis a text stands at the logarithm
        x=0,
        xref="paper",
        xanchor="left",
        y=math.log10(data.claim),
        yanchor="bottom",
        text=f"{data.claim:.0f} ×",
        showarrow=False,
    )
    return made
