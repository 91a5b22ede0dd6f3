"""SLOs kept over the number of nodes, for each policy."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.results.serverless.nodes import NodesReport


def nodes_figure(report: NodesReport) -> go.Figure:
    """Every count tried with its interval, up to 100 %; the target as a line, the answer as a larger marker.

    ``report`` is that of ``nona serverless --nodes-for``; its title is
    :func:`nona.report.serverless.nodes.nodes_finding`.
    """
    made = figure(340)
    for name, policy in report.policies.items():
        style = scheduler_style(name)
        tried = [t for t in policy.tried if t.slo_hit_rate.mean is not None]
        y = [100 * (t.slo_hit_rate.mean or 0.0) for t in tried]
        ends = [t.slo_hit_rate.ci95 or (v / 100, v / 100) for t, v in zip(tried, y, strict=True)]
        made.add_scatter(
            x=[t.nodes for t in tried],
            y=y,
            name=text(name),
            mode="lines+markers",
            line={"color": style.colour, "dash": style.dash, "width": 2},
            marker={
                "color": style.colour,
                "symbol": style.symbol,
                "size": [13 if t == policy.found else 7 for t in tried],
            },
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [min(100 * e[1], 100.0) - v for e, v in zip(ends, y, strict=True)],
                "arrayminus": [v - max(100 * e[0], 0.0) for e, v in zip(ends, y, strict=True)],
                "color": style.colour,
                "thickness": 1.5,
            },
            customdata=[t.usd_hour for t in tried],
            hovertemplate=text(name)
            + ": %{y:.2f} % kept with %{x} nodes, $%{customdata:.2f} an hour<extra></extra>",
        )
    made.add_hline(
        y=100 * report.target,
        line={"color": QUIET, "dash": "dash", "width": 1},
        annotation_text="target",
        annotation_position="bottom right",
    )
    made.update_xaxes(title="nodes", rangemode="tozero")
    shown = [t.slo_hit_rate.mean for p in report.policies.values() for t in p.tried]
    low = max(0.0, 10 * (min((100 * s for s in shown if s is not None), default=0.0) // 10 - 1))
    made.update_yaxes(title="SLOs kept, %", range=[low, 100 + 0.04 * (100 - low)])
    return made
