"""Figures of the study of decisions: all ratios, sorted, with intervals, and where they are large."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

import plotly.graph_objects as go

from nona.report.decisions.rows import heat, ratio_words, where
from nona.report.decisions.verdicts import QUESTIONS, compared, family_of
from nona.report.figures.style import QUIET, colours, figure, text
from nona.report.text import share_text
from nona.results.studies.decisions import DecisionStudy, QuestionKey, RatioToBest

FULL = 1.25  # a ratio from which on a cell has the full colour
SYMBOLS = (
    "circle",
    "square",
    "diamond",
    "cross",
    "triangle-up",
    "x",
    "star",
    "pentagon",
    "hexagon",
    "bowtie",
)


def ratios_figure(data: DecisionStudy, key: QuestionKey) -> go.Figure:
    """Every cell's ratio with its interval, sorted; colour and symbol show the family.

    On a logarithmic axis twice as long and half as long are equally far from 1; the dashed line is the goal.
    """
    cells = sorted(compared(data, key), key=lambda c: c.answer.ratio)
    families = list(dict.fromkeys(n.family for n in data.networks.values()))
    colour = colours(families)
    made = figure(430)
    for number, family in enumerate(families):
        own = [(rank, c) for rank, c in enumerate(cells, 1) if family_of(data, c.cell) == family]
        if own:
            made.add_scatter(
                x=[rank for rank, _ in own],
                y=[c.answer.ratio for _, c in own],
                error_y=_whiskers([c.answer for _, c in own]),
                name=text(family),
                mode="markers",
                marker={"size": 7, "color": colour[family], "symbol": SYMBOLS[number % len(SYMBOLS)]},
                customdata=[
                    f"{text(where(c.cell))}<br>{ratio_words(c.answer)} {c.answer.best}" for _, c in own
                ],
                hovertemplate="%{customdata}<extra></extra>",
            )
    made.update_xaxes(title="cells, sorted by ratio")
    made.update_yaxes(
        type="log", title=f"mean JCT of {QUESTIONS[key].name} over that of the best rival (log)"
    )
    made.add_hline(y=1.0, line={"color": QUIET, "width": 1})
    made.add_hline(y=QUESTIONS[key].goal, line={"color": QUIET, "dash": "dash", "width": 1})
    return made


def _whiskers(answers: Sequence[RatioToBest]) -> dict[str, Any]:
    up = [0.0 if a.high is None else a.high - a.ratio for a in answers]
    down = [0.0 if a.low is None else a.ratio - a.low for a in answers]
    return {
        "type": "data",
        "symmetric": False,
        "array": up,
        "arrayminus": down,
        "thickness": 1,
        "width": 0,
    }


def heat_figure(data: DecisionStudy, key: QuestionKey) -> go.Figure:
    """Link bandwidth on x, its background load on y: the largest ratio; the median when pointed at."""
    links, backgrounds, ratios = heat(data, key)
    made = figure(150 + 62 * len(backgrounds), legend=False)
    largest = [[max(found, default=None) for found in row] for row in ratios]
    made.add_heatmap(
        x=[f"{link:g} Gbit/s" for link in links],
        y=[share_text(b) for b in backgrounds],
        z=largest,
        zmid=1.0,
        zmin=2.0 - FULL,
        zmax=FULL,
        colorscale=[(0.0, "#14a394"), (0.5, "#8390a6"), (1.0, "#e25555")],
        text=[[_cell_text(found) for found in row] for row in ratios],
        texttemplate="%{text}",
        textfont={"size": 12},
        customdata=[[_hover_text(found) for found in row] for row in ratios],
        hovertemplate="%{x}, background %{y}<br>%{customdata}<extra></extra>",
        hoverongaps=False,
        xgap=2,
        ygap=2,
        colorbar={"title": {"text": "largest", "side": "top"}, "thickness": 10},
    )
    made.update_xaxes(title="link bandwidth", showgrid=False, type="category")
    made.update_yaxes(title="background load of the link", showgrid=False, type="category")
    return made


def _cell_text(found: list[float]) -> str:
    """The largest.

    >>> _cell_text([0.5, 1.0, 1.2])
    '1.20'
    """
    return f"{max(found):.2f}" if found else ""


def _hover_text(found: list[float]) -> str:
    """The same as a sentence.

    >>> _hover_text([0.5, 1.0, 1.2])
    'median 1.00, largest 1.20, of 3 cells'
    """
    return f"median {median(found):.2f}, largest {max(found):.2f}, of {len(found)} cells" if found else ""
