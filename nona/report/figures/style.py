"""Common style of all figures: colours, fonts, escaped text. Figures are pure functions."""

from __future__ import annotations

import html
from collections.abc import Iterable

import plotly.graph_objects as go

# Middle tones: they read on white and on near black.
PALETTE = (
    "#6366f1",
    "#14a394",
    "#e08a1e",
    "#e0529c",
    "#1f93d1",
    "#7fae1b",
    "#9b6cf2",
    "#e25555",
    "#12a5bd",
    "#8390a6",
)
TEXT_PX, SMALL_PX = 12, 11  # of legends and titles; of ticks and notes
GOOD, BAD, QUIET = "#14a394", "#e25555", "#8390a6"


def colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, in the order given.

    >>> colours(["a", "b"])["b"]
    '#14a394'
    """
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(dict.fromkeys(names))}


def text(value: object, longest: int = 60) -> str:
    """``value`` as text that a chart shows literally, not as markup.

    >>> text("<b>x</b>")
    '&lt;b&gt;x&lt;/b&gt;'
    """
    shown = str(value)
    return html.escape(shown if len(shown) <= longest else shown[: longest - 1] + "…", quote=False)


def number_text(value: float) -> str:
    """A number as axes and labels write it: three digits, four from a hundred on, thousands apart.

    >>> [number_text(v) for v in (0.02, 12.345, 123.45, 12345.6)]
    ['0.02', '12.3', '123.4', '12,346']
    """
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.{4 if size >= 100 else 3}g}"


def figure(height: int = 320, legend: bool = True) -> go.Figure:
    """An empty figure in the common style."""
    made = go.Figure()
    made.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 28, "b": 8},
        showlegend=legend,
        legend={"orientation": "h", "traceorder": "normal", "y": 1.02, "yanchor": "bottom", "x": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        uirevision="keep",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": PALETTE[0]},
    )
    made.update_xaxes(automargin=True, gridcolor="rgba(128,128,128,.22)", zeroline=False)
    made.update_yaxes(automargin=True, gridcolor="rgba(128,128,128,.22)", zeroline=False)
    return made


def rule(made: go.Figure, at: float, word: str, of: str = "y") -> None:
    """A dashed line across the chart at a value that counts (an SLO, a target), with its word."""
    line = {"color": QUIET, "dash": "dash", "width": 1.5}
    add = made.add_hline if of == "y" else made.add_vline
    add(
        **{of: at},
        line=line,
        annotation_text=text(word),
        annotation_position="top left" if of == "y" else "top right",
        annotation_font_size=SMALL_PX,
    )
