"""A line of means with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.look import Look
from nona.report.figures.compare import whiskers
from nona.report.figures.style import text


def interval_line(
    made: go.Figure,
    name: str,
    x: Sequence[float],
    means: Sequence[float],
    spans: Sequence[Sequence[float]],
    look: Look,
    hover: str,
) -> None:
    """Add a line through the means, with a whisker from ``span[0]`` to ``span[1]`` at each; NaN: none.

    >>> made, look = go.Figure(), Look("#123456", "solid", "circle")
    >>> interval_line(made, "a", [1, 2], [3.0, 4.0], [(2.5, 3.5), (4.0, 4.5)], look, "%{y}")
    >>> made.data[0].error_y.array, made.data[0].error_y.arrayminus
    ((0.5, 0.5), (0.5, 0.0))
    """
    ends = list(zip(means, spans, strict=True))
    made.add_scatter(
        x=list(x),
        y=list(means),
        name=text(name),
        mode="lines+markers",
        error_y=whiskers(0.0, [0.0, 0.0], look.colour)
        | {
            "array": [max(0.0, span[1] - mean) for mean, span in ends],
            "arrayminus": [max(0.0, mean - span[0]) for mean, span in ends],
        },
        line={"color": look.colour, "dash": look.dash, "width": 2},
        marker={"color": look.colour, "symbol": look.symbol, "size": 9},
        hovertemplate=f"{text(name)}, {hover}<extra></extra>",
    )
