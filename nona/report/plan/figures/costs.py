"""What options cost, stacked by part."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go

from nona.report.figures.style import PALETTE, figure, text
from nona.report.plan.costs import Bill, bills
from nona.report.plan.words import money
from nona.results.plan import PlanReport

LINE = 32  # letters of a line of an option's name


def costs_figure(report: PlanReport, pinned: Sequence[int] = ()) -> go.Figure:
    """What the answer and other options that keep cost per hour, by servers, link and data moved."""
    found = bills(report, pinned)
    made = figure(120 + 44 * len(found))
    parts = list(dict.fromkeys(c.part for bill in found for c in bill.costs))
    for number, part in enumerate(parts):
        _part(made, report, found, part, PALETTE[number % len(PALETTE)])
    made.update_layout(barmode="stack")
    made.update_xaxes(title=f"{report.currency} per hour", rangemode="tozero")
    made.update_yaxes(autorange="reversed", showgrid=False)
    return made


def _label(name: str) -> str:
    """The whole name in short lines: names cut to a length would make one bar of two options.

    >>> _label("1 × a100-40gb (7 × 1g.5gb) + 3 × l4, least-loaded")
    '1 × a100-40gb (7 × 1g.5gb) + 3 ×<br>l4, least-loaded'
    """
    return "<br>".join(text(line, LINE) for line in textwrap.wrap(name, LINE, break_on_hyphens=False))


def _part(made: go.Figure, report: PlanReport, found: Sequence[Bill], part: str, colour: str) -> None:
    amounts = [sum(c.per_hour for c in bill.costs if c.part == part) for bill in found]
    made.add_bar(
        x=amounts,
        y=[_label(bill.name) for bill in found],
        orientation="h",
        name=text(part, 40),
        marker={"color": colour},
        customdata=[money(a, report.currency) for a in amounts],
        hovertemplate=f"{text(part, 40)}: %{{customdata}} per hour<extra></extra>",
    )
