"""Figures of models and hardware: the possible gain of splitting, time per kind of operator."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text


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


def provenance_text(shares: Mapping[str, float]) -> str:
    """The origin of the times in words.

    >>> provenance_text({"modelled": 0.75, "measured": 0.25})
    'times: 75 % modelled, 25 % measured'
    """
    ordered = sorted(shares.items(), key=lambda s: (-s[1], s[0]))
    return "times: " + ", ".join(f"{100 * share:.3g} % {kind}" for kind, share in ordered)
