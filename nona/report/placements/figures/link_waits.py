"""Mean wait of a message by role of links, one bar each."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import BAD, PALETTE, figure, text
from nona.report.placements.links import bottleneck
from nona.report.text import percent_text, time_text
from nona.results.placement.prediction import PredictedLink


def link_waits_figure(links: Sequence[PredictedLink]) -> go.Figure:
    """Mean wait of a message at each role, times the share that crosses it, so that the bars add up.

    In the order of the way; the bottleneck in another colour, overloaded links without a bar.
    """
    made = figure(80 + 34 * len(links), legend=False)
    worst = bottleneck(links).name
    made.add_bar(
        y=[text(r.name) for r in links],
        x=[1e3 * r.share * (r.wait_s or 0.0) for r in links],
        orientation="h",
        marker_color=[BAD if r.name == worst else PALETTE[2] for r in links],
        text=[f"{percent_text(r.utilization)} busy" for r in links],
        textposition="auto",
        customdata=[[percent_text(r.share), time_text(r.wait_s)] for r in links],
        hovertemplate="%{y}: crossed by %{customdata[0]} of messages, which wait %{customdata[1]}"
        "<extra></extra>",
    )
    made.update_yaxes(autorange="reversed", type="category")
    made.update_xaxes(title="mean wait per message, ms", rangemode="tozero")
    return made
