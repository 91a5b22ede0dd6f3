"""Figures of the study of decisions: every ratio, and the largest by link and background."""

from __future__ import annotations

from statistics import median

import plotly.graph_objects as go

from evidence.reports.decisions import QUESTIONS, compared, heat, ratio_words, where
from evidence.results import DecisionStudy, QuestionKey
from nona.core.figures import BAD, GOOD, PALETTE, QUIET, add_heat, add_points, figure, rule, text
from nona.core.registry import ChartStyle
from nona.core.tables import share_text

FULL = 1.25  # a ratio from which on a cell has the full colour
SYMBOLS = (
    *("circle", "square", "diamond", "cross", "triangle-up"),
    *("x", "star", "pentagon", "hexagon", "bowtie"),
)


def ratios_figure(data: DecisionStudy, key: QuestionKey) -> go.Figure:
    """Every cell's ratio with its interval, sorted; colour and symbol show the family.

    On a logarithmic axis twice as long and half as long are equally far from 1; the dashed line is the goal.
    """
    cells = sorted(compared(data, key), key=lambda c: c.answer.ratio)
    families = list(dict.fromkeys(n.family for n in data.networks.values()))
    colour = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(families)}
    chart = figure(430)
    for number, family in enumerate(families):
        own = [(rank, c) for rank, c in enumerate(cells, 1) if data.networks[c.cell.network].family == family]
        if own:
            ratios = [c.answer.ratio for _, c in own]
            spans = [c.answer.estimate.ci95 for _, c in own]
            add_points(
                chart,
                family,
                [rank for rank, _ in own],
                ratios,
                ChartStyle(colour[family], "solid", SYMBOLS[number % len(SYMBOLS)]),
                "%{customdata}",
                size=6,
                spans=spans,
                bar=1,
                customdata=[
                    f"{text(where(c.cell))}<br>{ratio_words(c.answer)} {c.answer.best}" for _, c in own
                ],
            )
    chart.update_xaxes(title="cells, sorted by ratio")
    chart.update_yaxes(
        type="log", title=f"mean JCT of {QUESTIONS[key].name} over that of the best rival (log)"
    )
    chart.add_hline(y=1.0, line={"color": QUIET, "width": 1})
    rule(chart, QUESTIONS[key].goal, "")
    return chart


def heat_figure(data: DecisionStudy, key: QuestionKey) -> go.Figure:
    """Link bandwidth on x, its background load on y: the largest ratio; the median when pointed at."""
    links, backgrounds, ratios = heat(data, key)
    chart = figure(150 + 62 * len(backgrounds), legend=False)
    largest = [[max(cell_ratios, default=None) for cell_ratios in row] for row in ratios]
    add_heat(
        chart,
        largest,
        [(0.0, GOOD), (0.5, QUIET), (1.0, BAD)],
        (2.0 - FULL, FULL),
        "%{x}, background %{y}<br>%{customdata}",
        x=[f"{link:g} Gbit/s" for link in links],
        y=[share_text(b) for b in backgrounds],
        text=[[_cell_text(cell_ratios) for cell_ratios in row] for row in ratios],
        texttemplate="%{text}",
        customdata=[[_hover_text(cell_ratios) for cell_ratios in row] for row in ratios],
        hoverongaps=False,
        colorbar={"title": {"text": "largest", "side": "top"}, "thickness": 10},
    )
    chart.update_xaxes(title="link bandwidth", showgrid=False, type="category")
    chart.update_yaxes(title="background load of the link", showgrid=False, type="category")
    return chart


def _cell_text(ratios: list[float]) -> str:
    """Return the largest.

    >>> _cell_text([0.5, 1.0, 1.2])
    '1.20'
    """
    return f"{max(ratios):.2f}" if ratios else ""


def _hover_text(ratios: list[float]) -> str:
    """Return the same as a sentence.

    >>> _hover_text([0.5, 1.0, 1.2])
    'median 1.00, largest 1.20, of 3 cells'
    """
    return f"median {median(ratios):.2f}, largest {max(ratios):.2f}, of {len(ratios)} cells" if ratios else ""
