"""Figure: parts of the completion times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text

Row = Mapping[str, Any]
LABELS = (
    ("compute", "compute", PALETTE[0]),
    ("transfer", "transfer", PALETTE[1]),
    ("link_wait", "wait at links", PALETTE[2]),
    ("server_wait", "wait at servers", PALETTE[7]),
)


def parts_figure(schedulers: Mapping[str, Row], model: str = "all") -> go.Figure:
    """Mean JCT of each scheduler, for one model or ``"all"``, stacked by its parts.

    An overloaded scheduler has no bar and says so.
    """
    made = figure(140 + 34 * len(schedulers))
    made.update_layout(margin={"l": 8, "r": 8, "t": 40, "b": 8})
    of = {n: (s if model == "all" else s["models"][model])["parts_s"] for n, s in schedulers.items()}
    names = [text(n) + (" (overloaded)" if s["state"] == "overloaded" else "") for n, s in schedulers.items()]
    for key, label, colour in LABELS:
        made.add_bar(
            y=names,
            x=[None if parts[key] is None else parts[key] * 1e3 for parts in of.values()],
            name=label,
            orientation="h",
            marker_color=colour,
            hovertemplate=f"{label}: %{{x:.4g}} ms<extra>%{{y}}</extra>",
        )
    made.update_layout(barmode="stack")
    made.update_xaxes(title="mean JCT, ms", rangemode="tozero")
    made.update_yaxes(autorange="reversed")
    return made
