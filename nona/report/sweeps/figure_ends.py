"""Crosses and labels where the curves of a sweep end, and the range of its logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from nona.report.figures.scheduler_styles import UNSTABLE_SYMBOL, scheduler_style
from nona.report.figures.style import number_text, text
from nona.report.sweeps.ends import CurveEnd, off_curves, round_ticks, spread_labels
from nona.report.sweeps.values import axis_scale, by_ratio
from nona.results.sweep import SweepReport

ABOVE_PX, ASIDE_PX = 16.0, 12
WIDTH_PX, LETTER_PX = 700.0, 6.0  # of the chart and of a letter, about: what a label may cover
ROOM = 0.72  # of the width: a label that begins beyond it has no room on its right


def add_crosses(made: go.Figure, ends: Sequence[CurveEnd]) -> None:
    """A cross where each curve ends."""
    for end in ends:
        style = scheduler_style(end.name)
        made.add_scatter(
            x=[end.x],
            y=[end.y],
            name=f"{text(end.name)}: {end.label}",
            legendgroup=end.name,
            showlegend=False,
            mode="markers",
            marker={"symbol": UNSTABLE_SYMBOL, "size": 11, "color": style.colour},
            hovertemplate=f"{text(end.name)}: {text(end.label)}<extra></extra>",
        )


def set_log_range(made: go.Figure) -> None:
    """The simulated curves set the range of a logarithmic axis; the formula may leave it near its pole."""
    drawn = [v for t in made.data if t.mode != "lines" for v in t.y if v is not None]
    if drawn:
        low, high = min(drawn) / 1.4, max(drawn) * 1.7
        ticks = round_ticks(low, high)
        made.update_yaxes(
            range=[math.log10(low), math.log10(high)],
            tickvals=ticks,
            ticktext=[number_text(t) for t in ticks],
        )


def add_labels(
    made: go.Figure, ends: Sequence[CurveEnd], report: SweepReport, log: bool, height_px: float
) -> None:
    """Label each cross on the side where its curve does not continue; if that is full, above the curve."""
    factor, ratio = axis_scale(report.unit)[0], by_ratio(report.unit)
    place = math.log10 if ratio else float
    values = report.values
    first, last = place(factor * values[0]), place(factor * values[-1])
    low, high = made.layout.yaxis.range or _reach_of(made)
    scaled = [(math.log10(e.y) if log else e.y) for e in ends]
    shares = [(place(end.x) - first) / max(last - first, 1e-9) for end in ends]
    full = [s > ROOM if e.rightwards else s < 1 - ROOM for s, e in zip(shares, ends, strict=True)]
    lifts = [ABOVE_PX if crowded else 0.0 for crowded in full]
    scale = height_px / max(high - low, 1e-9)
    rights = [e.rightwards != crowded for e, crowded in zip(ends, full, strict=True)]
    beside = [
        _beside(made, end, right, (place, (last - first) / WIDTH_PX), log)
        for end, right in zip(ends, rights, strict=True)
    ]
    heights = [scale * (y - low) for y in scaled]
    places = _places(heights, lifts, [[(scale * (a - low), scale * (b - low)) for a, b in s] for s in beside])
    moved = [place - height for place, height in zip(places, heights, strict=True)]
    for end, y, right, shift in zip(ends, scaled, rights, moved, strict=True):
        colour = scheduler_style(end.name).colour
        made.add_annotation(
            x=place(end.x),
            y=y,
            text=text(end.label),
            font={"size": 11, "color": colour},
            xanchor="left" if right else "right",
            ax=ASIDE_PX if right else -ASIDE_PX,
            ay=-shift,
            arrowwidth=1,
            arrowhead=0,
            arrowcolor=colour,
            standoff=5,
        )


def _places(
    heights: Sequence[float], lifts: Sequence[float], taken: Sequence[Sequence[tuple[float, float]]]
) -> list[float]:
    """Where labels stand: apart first, then off the curves."""
    wished = [h + lift for h, lift in zip(heights, lifts, strict=True)]
    apart = [h + shift for h, shift in zip(wished, spread_labels(wished), strict=True)]
    return [h + shift for h, shift in zip(apart, off_curves(apart, taken), strict=True)]


def _beside(
    made: go.Figure, end: CurveEnd, right: bool, axis: tuple[Callable[[float], float], float], log: bool
) -> list[tuple[float, float]]:
    """The heights, as on the axis, that curves have where the label of an end stands.

    ``axis``: what places a value on the horizontal axis, and how much of it a pixel is.
    """
    place, pixel = axis
    side = pixel if right else -pixel
    first = place(end.x) + side * ASIDE_PX
    across = np.linspace(first, first + side * LETTER_PX * len(end.label), 9)
    found = []
    for trace in made.data:
        known = [(place(x), y) for x, y in zip(trace.x, trace.y, strict=True) if y is not None]
        if "lines" not in trace.mode or len(known) < 2:
            continue
        x, y = np.array(sorted(known)).T
        inside = across[(across >= x[0]) & (across <= x[-1])]
        if len(inside):
            heights = np.interp(inside, x, np.log10(y) if log else y)
            found.append((float(heights.min()), float(heights.max())))
    return found


def _reach_of(made: go.Figure) -> tuple[float, float]:
    drawn = [v for t in made.data for v in t.y if v is not None]
    return min(drawn), max(drawn)
