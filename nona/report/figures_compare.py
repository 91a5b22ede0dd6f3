"""Dots with intervals: one row per scheduler, a marker at the mean, a line over its 95 % interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from nona.report.figures import QUIET, figure, text
from nona.report.scheduler_styles import scheduler_style

FAR = 20.0  # values that many times apart are drawn on a logarithmic axis
ROW = 34


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval, both as drawn; ``note`` stands in place of a value that is not there."""

    name: str
    value: float | None
    interval: Sequence[float] | None
    label: str
    note: str = ""


def dots_figure(dots: Sequence[Dot], axis: str, zero: bool = False, most: float | None = None) -> go.Figure:
    """The dots below each other, the first on top.

    ``axis`` titles the values; ``zero`` draws a line at 0 and keeps it in view, as differences need it;
    intervals are cut off at ``most`` (of a rate in per cent: 100) and, without ``zero``, at 0.
    """
    made = figure(64 + ROW * len(dots), legend=False)
    log = not zero and most is None and spread_wide([d.value for d in dots])
    for dot in dots:
        _add(made, dot, most, zero, log)
    made.update_yaxes(
        categoryorder="array", categoryarray=[text(d.name, 24) for d in dots][::-1], showgrid=False
    )
    made.update_xaxes(title=axis + (", log" if log else ""), type="log" if log else "linear", nticks=6)
    if zero:
        made.add_vline(x=0, line={"color": QUIET, "width": 1.5})
    if most is not None:
        made.update_xaxes(rangemode="tozero" if _low(dots) < 0.5 * most else "normal")
    return made


def spread_wide(values: Sequence[float | None]) -> bool:
    """Whether values, all positive, lie so far apart that only a logarithmic axis shows them all.

    >>> spread_wide([1.0, 50.0]), spread_wide([1.0, None, 3.0])
    (True, False)
    """
    known = [v for v in values if v is not None]
    return bool(known) and min(known) > 0 and max(known) > FAR * min(known)


def _low(dots: Sequence[Dot]) -> float:
    return min((d.value for d in dots if d.value is not None), default=0.0)


def _add(made: go.Figure, dot: Dot, most: float | None, zero: bool, log: bool) -> None:
    style, row = scheduler_style(dot.name), text(dot.name, 24)
    if dot.value is None:
        made.add_scatter(x=[None], y=[row], showlegend=False)
        made.add_annotation(
            x=0,
            xref="paper",
            y=row,
            text=text(dot.note),
            showarrow=False,
            xanchor="left",
            font={"color": QUIET},
        )
        return
    span = list(dot.interval) if dot.interval is not None else [dot.value, dot.value]
    if not zero:
        span[0] = max(span[0], dot.value * 1e-3 if log else 0.0)
    if most is not None:
        span[1] = min(span[1], most)
    made.add_scatter(
        x=[dot.value],
        y=[row],
        mode="markers+text",
        text=[text(dot.label)],
        textposition="top center",
        textfont={"size": 12},
        cliponaxis=False,
        marker={"color": style.colour, "symbol": style.symbol, "size": 11, "line": {"width": 1.5}},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [span[1] - dot.value],
            "arrayminus": [dot.value - span[0]],
            "color": style.colour,
            "thickness": 2,
            "width": 5,
        },
        hovertemplate=f"{text(dot.name)}: {text(dot.label)}<extra></extra>",
    )


def scaled(interval: Sequence[float] | None, factor: float) -> list[float] | None:
    """An interval in another unit.

    >>> scaled([0.5, 1.0], 100), scaled(None, 100)
    ([50.0, 100.0], None)
    """
    return None if interval is None else [factor * v for v in interval]


def by_name(names: Sequence[str], rows: Mapping[str, Dot]) -> list[Dot]:
    """The dots of ``names``, in that order, those that are there."""
    return [rows[n] for n in names if n in rows]
