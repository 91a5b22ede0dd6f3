"""Figure of the warm-up: where the start-up ends, by eye and by MSER-5."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.style import QUIET, colours, figure, text
from nona.results.simulation.series import WarmupSeries


def warmup_figure(series: WarmupSeries) -> go.Figure:
    """Above: mean JCT of pilot runs from their first job on. Below: MSER statistic over its minimum.

    A dot marks each scheduler's own cut, the vertical line the common one: the latest of them.
    """
    made = figure(420)
    for name, colour in colours(series.schedulers).items():
        curve = series.schedulers[name]
        label = text(name) + (" (too short)" if curve.too_short else "")
        line = {"color": colour, "width": 2, "dash": "dot" if curve.too_short else "solid"}
        made.add_scatter(
            x=curve.at,
            y=[1e3 * v for v in curve.jct_s],
            name=label,
            legendgroup=name,
            mode="lines",
            line=line,
            hovertemplate="%{fullData.name}: %{y:.4g} ms at job %{x:.0f}<extra></extra>",
        )
        made.add_scatter(
            x=curve.statistic_at,
            y=curve.statistic,
            name=label,
            legendgroup=name,
            showlegend=False,
            mode="lines",
            line=line,
            yaxis="y2",
            hovertemplate="%{fullData.name}: %{y:.4g} times the minimum, %{x:.0f} jobs cut<extra></extra>",
        )
        if curve.statistic and not curve.too_short:
            made.add_scatter(
                x=[curve.cut],
                y=[1.0],
                name=label,
                legendgroup=name,
                showlegend=False,
                mode="markers",
                marker={"color": colour, "size": 9},
                yaxis="y2",
                hovertemplate="%{fullData.name}: minimum at %{x:.0f} jobs<extra></extra>",
            )
    at = series.jobs
    made.add_shape(type="line", x0=at, x1=at, y0=0, y1=1, yref="paper", line={"color": QUIET, "dash": "dash"})
    made.add_annotation(
        x=at, y=1, yref="paper", text=f"warm-up: {at:,} jobs", showarrow=False, xanchor="left", yanchor="top"
    )
    made.update_xaxes(title="jobs since the empty start", rangemode="tozero", anchor="y2")
    made.update_layout(
        yaxis={"domain": [0.45, 1.0], "title": "mean JCT, ms", "rangemode": "tozero"},
        yaxis2={
            "domain": [0.0, 0.38],
            "title": "MSER / minimum",
            "type": "log",
            "gridcolor": "rgba(128,128,128,.22)",
            "automargin": True,
        },
    )
    return made
