"""Figure: SLOs kept over the number of nodes, a line per policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from nona.report.figures.compare import scaled
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text


def nodes_figure(report: Mapping[str, Any]) -> go.Figure:
    """Every count tried with its 95 % interval, the fewest ringed, the target dashed."""
    made = figure(340)
    for name, policy in report["policies"].items():
        known = [t for t in policy["tried"] if t["slo_hit_rate"]["mean"] is not None]
        hits = [100 * t["slo_hit_rate"]["mean"] for t in known]
        spans = [scaled(t["slo_hit_rate"]["ci95"], 100) or [h, h] for t, h in zip(known, hits, strict=True)]
        best, style = policy["found"], scheduler_style(name)
        sizes = [15 if best is not None and t["nodes"] == best["nodes"] else 8 for t in known]
        made.add_scatter(
            x=[t["nodes"] for t in known],
            y=hits,
            error_y={
                "type": "data",
                "symmetric": False,
                "array": [min(100.0, s[1]) - h for s, h in zip(spans, hits, strict=True)],
                "arrayminus": [h - max(0.0, s[0]) for s, h in zip(spans, hits, strict=True)],
                "thickness": 1.5,
                "width": 4,
            },
            name=text(name),
            mode="lines+markers",
            line={"color": style.colour, "width": 2, "dash": style.dash},
            marker={"symbol": style.symbol, "size": sizes, "color": style.colour},
            customdata=[t["usd_hour"] for t in known],
            hovertemplate="%{x} nodes: %{y:.2f} %, $%{customdata:.2f} an hour<extra>"
            + text(name)
            + "</extra>",
        )
    made.add_hline(
        y=100 * report["target"],
        line={"color": QUIET, "dash": "dash", "width": 1},
        annotation_text="target",
        annotation_position="bottom right",
    )
    made.update_xaxes(title="nodes, the found one larger", rangemode="tozero")
    made.update_yaxes(title="SLOs kept, %", range=[0, 102])
    return made
