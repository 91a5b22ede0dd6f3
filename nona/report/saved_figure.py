"""The figure of saved items: one measure of several, side by side."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import PALETTE, add_points, capped, figure, log_axis, spread_wide, text
from nona.report.saved import SHOWN
from nona.results.document import Estimate
from nona.results.saved import SavedAnswer, SavedComparison, Unit
from nona.tables.formats import mean_text

SYMBOLS = ("circle", "diamond", "square", "triangle-up")
_SCALES: dict[Unit, float] = {"s": 1e3, "share": 100.0, "number": 1.0}
_AXES: dict[Unit, str] = {"s": "ms", "share": "%", "number": ""}
_ROW, _APART = 56, 0.19


def answers_figure(comparison: SavedComparison) -> go.Figure:
    """The answers of one measure; items are distinguished by marker and number, not by colour alone.

    A value that is not there, as the mean of an overloaded run, has no marker; the table shows a dash.
    """
    answers = comparison.answers
    unit = answers[0].unit
    scale = _SCALES[unit]
    values = [v.mean * scale for a in answers for v in a.values if v.mean is not None]
    log = unit == "s" and spread_wide(values)
    chart = figure(110 + _ROW * len(answers), legend=True)
    for number, item in enumerate(comparison.items):
        _add(chart, f"{number + 1} · {text(item.name, 30)}", number, answers, log)
    names = [text(a.subject, 24) for a in answers]
    chart.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=names,
        range=[len(names) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )
    title = ", ".join(word for word in (answers[0].measure, _AXES[unit]) if word)
    if log:
        log_axis(chart, values, title)
    else:
        chart.update_xaxes(title=title, nticks=6, rangemode="tozero")
        if unit == "share":
            low = min(values, default=0.0)
            chart.update_xaxes(range=capped(0.0 if low < 50.0 else low, 100.0))
    return chart


def _add(made: go.Figure, name: str, number: int, answers: tuple[SavedAnswer, ...], log: bool) -> None:
    """The markers of one item."""
    colour, shown = PALETTE[number], SHOWN[answers[0].unit]
    middle = (len(answers[0].values) - 1) / 2
    for row, answer in enumerate(answers):
        value = answer.values[number]
        add_points(
            made,
            name,
            [None if value.mean is None else value.mean * _SCALES[answer.unit]],
            [row + (number - middle) * _APART],
            Look(colour, "solid", SYMBOLS[number]),
            f"{name}<br>{text(answer.subject, 24)}: {mean_text(value, shown)}",
            legendgroup=name,
            showlegend=row == 0,
            across=[_span(value, answer.unit, log)],
        )


def _span(value: Estimate, unit: Unit, log: bool) -> list[float] | None:
    if value.mean is None or value.ci95 is None:
        return None
    scale, (low, high) = _SCALES[unit], value.ci95
    ends = max(low, value.mean * 1e-3 if log else 0.0), min(high, 1.0) if unit == "share" else high
    return [end * scale for end in ends]
