"""Figure: parts of the completion times."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text
from nona.report.simulations.tables.columns import PARTS
from nona.results.simulation.report import Schedulers

COLOURS = (PALETTE[0], PALETTE[1], PALETTE[2], PALETTE[7], PALETTE[4])
LABELS = tuple((key, label, colour) for (key, label), colour in zip(PARTS.items(), COLOURS, strict=True))


def parts_figure(schedulers: Schedulers, model: str = "all") -> go.Figure:
    """Mean JCT of each scheduler, for one model or ``"all"``, stacked by its parts.

    An overloaded scheduler has no bar and says so.
    """
    made = figure(140 + 34 * len(schedulers))
    of = [(s if model == "all" else s.models[model]).parts_s.by_name() for s in schedulers.values()]
    names = [text(n) + (" (overloaded)" if s.overloaded else "") for n, s in schedulers.items()]
    for key, label, colour in LABELS:
        values = [parts[key] for parts in of]
        made.add_bar(
            y=names,
            x=[None if v is None else v * 1e3 for v in values],
            name=label,
            orientation="h",
            marker_color=colour,
            hovertemplate=f"%{{y}}: {label} %{{x:.4g}} ms<extra></extra>",
        )
    made.update_layout(barmode="stack")
    made.update_xaxes(title="mean JCT, ms", rangemode="tozero")
    made.update_yaxes(autorange="reversed")
    return made
