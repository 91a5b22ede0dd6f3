"""The heat map of a sweep of two numbers, with the line where the target is passed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import add_heat, add_line, add_points, figure, log_ticks, scheduler_style, text
from nona.report.sweep_findings import target_text
from nona.report.sweep_grids import Cells, Measure, cells, first_text
from nona.report.sweeps import value_text
from nona.results.sweeps import SweepGrid
from nona.units import format_number

CELL, MOST_TEXTS = 46, 160
PALE, FULL = "rgba(99,102,241,.06)", "rgba(99,102,241,.9)"
Row = list[float | None]


def grid_figure(grid: SweepGrid, measure: Measure, scheduler: str = "") -> go.Figure:
    """The first number from left to right, the second upwards, one cell for each pair of values.

    Without a ``scheduler`` a cell has the colour and the name of the best by ``measure``; with one, its
    value. The line is where the SLO hits of what the cells show pass the target.
    """
    first = grid.rows[0].sweep
    by_pair = cells(grid, measure, scheduler)
    chart = figure(150 + CELL * len(grid.values))
    if scheduler:
        _add_values(chart, by_pair, grid, measure)
    else:
        _add_winners(chart, by_pair, grid, measure)
    _add_target(chart, by_pair, grid)
    chart.update_xaxes(
        title=text(first.label),
        tickvals=list(range(len(first.values))),
        ticktext=[first_text(first, v) for v in first.values],
        showgrid=False,
        range=[-0.5, len(first.values) - 0.5],
    )
    chart.update_yaxes(
        title=text(grid.label),
        tickvals=list(range(len(grid.values))),
        ticktext=[value_text(v, grid.unit) for v in grid.values],
        showgrid=False,
        range=[-0.5, len(grid.values) - 0.5],
    )
    return chart


def _table(by_values: Cells, grid: SweepGrid) -> list[list[tuple[float, float]]]:
    """The pairs of values, row by row from below."""
    return [[(x, y) for x in grid.rows[0].sweep.values] for y in grid.values]


def _hover(by_values: Cells, grid: SweepGrid) -> list[list[str]]:
    first = grid.rows[0].sweep

    def told(x: float, y: float) -> str:
        cell = by_values.get((x, y))
        where = f"{text(first.label)} {first_text(first, x)}, {text(grid.label)} {value_text(y, grid.unit)}"
        if cell is None:
            return f"{where}<br>not simulated yet"
        both = f"mean JCT {cell.text('Mean JCT')}<br>SLO hits {cell.text('SLO hits')}"
        return f"{text(cell.scheduler)}<br>{where}<br>{both}"

    return [[told(x, y) for x, y in row] for row in _table(by_values, grid)]


def _words(by_values: Cells, grid: SweepGrid, measure: Measure, named: bool) -> list[list[str]]:
    """Return the text of each cell; empty if there are too many cells."""
    few = len(grid.values) * len(grid.rows[0].sweep.values) <= MOST_TEXTS

    def told(pair: tuple[float, float]) -> str:
        cell = by_values.get(pair)
        if cell is None or not few:
            return ""
        if not cell.point.steady:
            return "unstable"
        return f"{text(cell.scheduler, 14)}<br>{cell.text(measure)}" if named else cell.text(measure)

    return [[told(pair) for pair in row] for row in _table(by_values, grid)]


def _add_winners(made: go.Figure, by_values: Cells, grid: SweepGrid, measure: Measure) -> None:
    names = list(dict.fromkeys(c.scheduler for c in by_values.values() if c.point.steady))
    place = {name: i for i, name in enumerate(names)}
    z: list[Row] = [
        [place[c.scheduler] if (c := by_values.get(pair)) and c.point.steady else None for pair in row]
        for row in _table(by_values, grid)
    ]
    count = max(len(names), 1)
    scale: list[list[float | str]] = [
        [edge / count, scheduler_style(name).colour] for i, name in enumerate(names) for edge in (i, i + 1)
    ]
    words = _words(by_values, grid, measure, True)
    hover = _hover(by_values, grid)
    add_heat(made, z, scale, (-0.5, count - 0.5), text=words, texttemplate="%{text}", customdata=hover)
    for name in names:
        add_points(made, name, [None], [None], replace(scheduler_style(name), symbol="square"))


def _add_values(made: go.Figure, by_values: Cells, grid: SweepGrid, measure: Measure) -> None:
    def value(pair: tuple[float, float]) -> float | None:
        cell = by_values.get(pair)
        if cell is None or not cell.point.steady:
            return None
        if measure == "SLO hits":
            return None if cell.hits is None else 100 * cell.hits
        mean = cell.point.jct_s.mean
        return None if mean is None or mean <= 0 else math.log10(1e3 * mean)

    z = [[value(pair) for pair in row] for row in _table(by_values, grid)]
    numbers = [v for row in z for v in row if v is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    words, hover = _words(by_values, grid, measure, False), _hover(by_values, grid)
    bar = {
        "title": {"text": "SLO hits, %" if measure == "SLO hits" else "mean JCT, ms, log"},
        "thickness": 12,
    }
    if measure == "Mean JCT" and numbers:
        ticks = [t for t in log_ticks(10**low, 10**high) if low <= math.log10(t) <= high]
        bar |= {"tickvals": [math.log10(t) for t in ticks], "ticktext": [format_number(t) for t in ticks]}
    span = (low, high if high > low else low + 1)
    scale = [[0, PALE], [1, FULL]]
    add_heat(made, z, scale, span, text=words, texttemplate="%{text}", customdata=hover, colorbar=bar)


def _add_target(made: go.Figure, by_values: Cells, grid: SweepGrid) -> None:
    """The border between the cells that keep the target and those that miss it.

    Dark on light, so that it is seen on every colour; nothing where all cells are on one side.
    """
    target = grid.rows[0].sweep.target
    kept = [
        [None if (c := by_values.get(pair)) is None or c.hits is None else c.hits >= target for pair in row]
        for row in _table(by_values, grid)
    ]
    x, y = border(kept)
    if not x:
        return
    for colour, width, shown in (("#ffffff", 6, False), ("#14172b", 3, True)):
        name, look = f"{target_text(target)} of the SLOs", Look(colour, "solid", "circle")
        add_line(made, name, x, y, look, width=width, legendgroup="target", showlegend=shown)


def border(flags: Sequence[Sequence[bool | None]]) -> tuple[Row, Row]:
    """The sides between neighbouring cells whose flags differ, as lines with gaps; cells are 1 wide.

    >>> border([[True, False]])
    ([0.5, 0.5, None], [-0.5, 0.5, None])
    """
    x: Row = []
    y: Row = []
    for j, row in enumerate(flags):
        for i, flag in enumerate(row):
            right = row[i + 1] if i + 1 < len(row) else None
            above = flags[j + 1][i] if j + 1 < len(flags) else None
            if None not in (flag, right) and flag != right:
                x += [i + 0.5, i + 0.5, None]
                y += [j - 0.5, j + 0.5, None]
            if None not in (flag, above) and flag != above:
                x += [i - 0.5, i + 0.5, None]
                y += [j + 0.5, j + 0.5, None]
    return x, y
