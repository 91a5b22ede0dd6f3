"""Figures of models and hardware: what splitting can gain, where the time goes, MIG slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from nona.hardware.mig import MigLayout
from nona.report.figures import PALETTE, QUIET, figure, text
from nona.units import format_time


def parallelism_figure(total_s: float, critical_s: float) -> go.Figure:
    """T₁ beside T∞: all operators one after the other, and the longest chain of them."""
    made = figure(150, legend=False)
    names = ["longest chain (T∞)", "one after the other (T₁)"]
    values = [critical_s, total_s]
    made.add_bar(
        y=names,
        x=[v * 1e3 for v in values],
        orientation="h",
        marker_color=[PALETTE[1], PALETTE[0]],
        text=[format_time(v) for v in values],
        textposition="auto",
        hovertemplate="%{y}: %{x:.4g} ms<extra></extra>",
    )
    made.update_xaxes(title="ms", rangemode="tozero")
    return made


def time_by_kind_figure(kinds: Mapping[str, float], most: int = 10) -> go.Figure:
    """Seconds per kind of operator, the largest first; the rest together."""
    ordered = sorted(kinds.items(), key=lambda k: (-k[1], k[0]))
    rest = sum(v for _, v in ordered[most:])
    shown = ordered[:most] + ([("all others", rest)] if rest > 0 else [])
    made = figure(max(180, 28 * len(shown) + 60), legend=False)
    made.add_bar(
        y=[text(k) for k, _ in shown][::-1],
        x=[v * 1e3 for _, v in shown][::-1],
        orientation="h",
        marker_color=PALETTE[0],
        hovertemplate="%{y}: %{x:.4g} ms<extra></extra>",
    )
    made.update_xaxes(title="ms")
    return made


def mig_figure(layout: MigLayout) -> go.Figure:
    """The slices of one GPU on its memory axis; grey cells belong to no slice."""
    cells = layout.memory_map
    made = figure(110, legend=False)
    for i, owner in enumerate(cells):
        if owner < 0:
            _box(made, i, i + 1, QUIET, 0.18)
    for number, (piece, profile) in enumerate(zip(layout.slices, layout.profiles, strict=True)):
        end = piece.start + profile.memory_slices
        _box(made, piece.start, end, PALETTE[number % len(PALETTE)], 0.75)
        made.add_annotation(
            x=(piece.start + end) / 2, y=0.5, text=text(piece.profile), showarrow=False, font_color="white"
        )
    made.update_xaxes(
        range=[0, len(cells)],
        tickvals=list(range(len(cells) + 1)),
        title="memory slices",
        showgrid=False,
        fixedrange=True,
    )
    made.update_yaxes(range=[0, 1], visible=False, fixedrange=True)
    made.update_layout(margin={"l": 8, "r": 8, "t": 4, "b": 8})
    return made


def _box(made: go.Figure, x0: float, x1: float, colour: str, opacity: float) -> None:
    made.add_shape(
        type="rect",
        x0=x0 + 0.04,
        x1=x1 - 0.04,
        y0=0.08,
        y1=0.92,
        fillcolor=colour,
        opacity=opacity,
        line={"width": 0},
        layer="below",
    )


def provenance_text(shares: Mapping[str, float]) -> str:
    """Where times come from, in words.

    >>> provenance_text({"modelled": 0.75, "measured": 0.25})
    'times: 75 % modelled, 25 % measured'
    """
    ordered: Sequence[Any] = sorted(shares.items(), key=lambda s: (-s[1], s[0]))
    return "times: " + ", ".join(f"{100 * share:.3g} % {kind}" for kind, share in ordered)
