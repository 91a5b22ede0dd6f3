"""Common style of all figures: colours, fonts, escaped text. Figures are pure functions."""

from __future__ import annotations

import html
import math
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
# One type face, size and note for all charts; the live charts' style says the same in its own words.
FONT, HOVER = "Inter, 'Source Sans', sans-serif", "#2b3150"
TOOLS_PX = 28  # the strip above a chart in which its tool bar appears
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

    >>> [number_text(v) for v in (0.02, 12.34, 123.44, 12345.6)]
    ['0.02', '12.3', '123.4', '12,346']
    """
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.{4 if size >= 100 else 3}g}"


def figure(height: int = 320, legend: bool = True) -> go.Figure:
    """An empty figure in the common style; ``height`` in pixels, tool bar and legend included."""
    made = go.Figure()
    made.update_layout(
        height=height,
        font={"family": FONT, "size": TEXT_PX},
        margin={"l": 8, "r": 8, "t": TOOLS_PX, "b": 8},
        showlegend=legend,
        legend={
            "orientation": "h",
            "traceorder": "normal",
            "yref": "container",  # below the tool bar, which has the strip above to itself
            "y": 1 - TOOLS_PX / height,
            "yanchor": "top",
            "x": 0,
            "font": {"size": TEXT_PX},
        },
        hoverlabel={
            "bgcolor": HOVER,
            "bordercolor": HOVER,
            "align": "left",
            "font": {"family": FONT, "size": TEXT_PX, "color": "#ffffff"},
        },
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hovermode="closest",
        uirevision="keep",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": PALETTE[0]},
    )
    axis = {
        "automargin": True,
        "gridcolor": "rgba(128,128,128,.22)",
        "zeroline": False,
        "tickfont": {"size": SMALL_PX},
    }
    made.update_xaxes(axis)
    made.update_yaxes(axis)
    return made


def rule(made: go.Figure, at: float, word: str, of: str = "y") -> None:
    """A dashed line across the chart at a value that counts (an SLO, a target), with its word.

    Draw it after the axis has its type: on a logarithmic one notes stand at the logarithm.
    """
    axis = made.layout.yaxis if of == "y" else made.layout.xaxis
    place = math.log10(at) if axis.type == "log" else at
    line = {"color": QUIET, "dash": "dash", "width": 1.5}
    note = {"text": text(word), "showarrow": False, "font": {"size": SMALL_PX}}
    if of == "y":
        made.add_hline(y=at, line=line)
    else:
        made.add_vline(x=at, line=line)
    if word and of == "y":
        made.add_annotation(x=0, xref="x domain", xanchor="left", y=place, yanchor="bottom", **note)
    elif word:
        # Above the chart: what is drawn along the line would lie on the word.
        made.add_annotation(y=1, yref="y domain", yanchor="bottom", x=place, xanchor="center", **note)


def finished(made: go.Figure) -> go.Figure:
    """The figure with the titles of its axes as small as their numbers, whatever they were set to."""
    made.update_xaxes(title_font={"size": SMALL_PX})
    made.update_yaxes(title_font={"size": SMALL_PX})
    return made
