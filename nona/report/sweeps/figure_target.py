"""The SLO target on the chart of a sweep: the axis of hits, the target's line, every crossing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import rule, text
from nona.report.sweeps.targets import crossings, target_text, there_text
from nona.report.sweeps.values import axis_scale
from nona.results.sweep import SweepReport

TICKS = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)
ROOM = 0.25  # below the lowest curve and above the highest


def nines(share: float) -> float:
    """How many nines a share has: one for every ten times fewer misses, at most four.

    >>> [round(nines(share), 2) for share in (0.5, 0.99, 1.0)]
    [0.3, 2.0, 4.0]
    """
    return -math.log10(max(1 - share, 1e-4))


def add_target(made: go.Figure, report: SweepReport) -> None:
    """The target as a line, a hollow marker where a curve crosses it, and the axis in per cent."""
    drawn = [v for t in made.data for v in t.y if v is not None]
    goal = nines(report.target)
    set_hits_axis(made, [*drawn, goal])
    if not drawn:
        return
    rule(made, goal, f"target {target_text(report.target)}")
    factor = axis_scale(report.unit)[0]
    for name, curve in report.schedulers.items():
        found = crossings(curve, report.target)
        style = scheduler_style(name)
        words = [f"{'holds until' if c.falls else 'holds from'} {there_text(c.value, report)}" for c in found]
        made.add_scatter(
            x=[factor * c.value for c in found],
            y=[goal for _ in found],
            name=f"{text(name)} crosses the target",
            legendgroup=name,
            showlegend=False,
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": 13,
                "color": style.colour,
                "line": {"width": 2, "color": style.colour},
            },
            customdata=words,
            hovertemplate=f"{text(name)}: {target_text(report.target)} %{{customdata}}<extra></extra>",
        )


def set_hits_axis(made: go.Figure, drawn: Sequence[float]) -> None:
    """Per cent at the places that :func:`nines` gives, over the range of what is drawn."""
    low, high = min(drawn), max(drawn)
    made.update_yaxes(
        range=[low - ROOM, high + ROOM],
        tickvals=[nines(share) for share in TICKS],
        ticktext=[*(f"{100 * share:g}" for share in TICKS[:-1]), f"≥ {100 * TICKS[-1]:g}"],
    )
