"""The answer of a plan under more traffic than today: what it keeps, how long jobs take, what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from nona.planning.money import breaks_after
from nona.report.figures.compare import log_axis
from nona.report.figures.style import QUIET, figure, rule, text
from nona.report.plan.budget import LEAST_USED, Budget, tightest
from nona.report.plan.figures.marks import BUDGET, COLOURS, SYMBOLS, marker
from nona.report.plan.words import headroom_text, money
from nona.results.plan import PlanLoad, PlanReport

LoadMeasure = Literal["Error budget", "In time", "p99", "Cost per million"]
LOAD_MEASURES: tuple[LoadMeasure, ...] = ("Error budget", "In time", "p99", "Cost per million")


@dataclass(frozen=True, slots=True)
class Dot:
    """A factor on the traffic with its value as drawn, the ends of its interval, and what hovering says."""

    load: PlanLoad
    value: float
    low: float
    high: float
    hover: str


def cliff_figure(report: PlanReport, measure: LoadMeasure = "Error budget") -> go.Figure:
    """One measure of the answer over the traffic, with the headroom; markers are verdicts."""
    made = figure(340)
    dots = [d for c in report.curve if (d := _dot(report, c, measure)) is not None]
    made.add_scatter(
        x=[d.load.factor for d in dots],
        y=[d.value for d in dots],
        mode="lines",
        line={"color": QUIET, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    for verdict in SYMBOLS:
        _dots(made, [d for d in dots if d.load.verdict == verdict])
    made.update_xaxes(title="traffic, times that of today", tickformat=".3~g")
    _axis(made, report, measure, [d.value for d in dots])
    if report.answer is not None and report.answer.headroom is not None:
        rule(made, report.answer.headroom, f"headroom {headroom_text(report.answer.headroom)}", of="x")
    return made


def _axis(made: go.Figure, report: PlanReport, measure: LoadMeasure, values: Sequence[float]) -> None:
    if measure == "Error budget":
        log_axis(made, [1.0, *values], BUDGET, of="y")
        rule(made, 1.0, "all that the targets allow")
    elif measure == "In time":
        made.update_yaxes(title="jobs in time for the tightest target, %")
    elif measure == "p99":
        made.update_yaxes(title="p99 of the slowest model, ms", rangemode="tozero")
    else:
        made.update_yaxes(title=f"{report.currency} per million queries", rangemode="tozero")


def _dot(report: PlanReport, load: PlanLoad, measure: LoadMeasure) -> Dot | None:
    found = tightest(report.targets, load.shares)
    if found is None:
        return None
    hover = _hover(report, load, found)
    if measure == "Error budget":
        value = max(found.used, LEAST_USED)
        low, high = found.interval or (value, value)
        return Dot(load, value, min(max(low, LEAST_USED), value), max(high, value), hover)
    if measure == "In time":
        value = 100 * (found.share.mean or 0.0)
        low, high = found.share.ci95 or (value / 100, value / 100)
        return Dot(load, value, 100 * low, 100 * high, hover)
    if measure == "p99":
        known = [1000 * m.p99_s for m in load.models.values() if m.p99_s is not None]
        return Dot(load, max(known), max(known), max(known), hover) if known else None
    return Dot(load, load.cost_per_million, load.cost_per_million, load.cost_per_million, hover)


def _dots(made: go.Figure, dots: Sequence[Dot]) -> None:
    if not dots:
        return
    verdict = dots[0].load.verdict
    made.add_scatter(
        x=[d.load.factor for d in dots],
        y=[d.value for d in dots],
        mode="markers",
        name=verdict,
        marker=marker(verdict, COLOURS[verdict]),
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [d.high - d.value for d in dots],
            "arrayminus": [d.value - d.low for d in dots],
            "color": COLOURS[verdict],
            "thickness": 2,
        },
        customdata=[d.hover for d in dots],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _hover(report: PlanReport, load: PlanLoad, budget: Budget) -> str:
    lines = [f"{load.factor:.4g} × the traffic: {load.verdict}", budget.text, budget.used_text]
    months = breaks_after(load.factor, report.growth)
    if months is not None and load.factor > 1:
        lines.append(f"reached in month {months} at {100 * report.growth:.4g} % a month")
    lines.append(f"{money(load.cost_per_million, report.currency)} per million queries")
    return "<br>".join(text(line, 90) for line in lines)
