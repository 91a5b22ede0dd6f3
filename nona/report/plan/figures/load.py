"""The answer of a plan under more traffic than there is today."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.planning.money import breaks_after
from nona.report.figures.compare import log_axis
from nona.report.figures.style import QUIET, figure, rule, text
from nona.report.plan.budget import LEAST_USED, Budget, tightest
from nona.report.plan.figures.marks import BUDGET, COLOURS, SYMBOLS, marker
from nona.report.plan.text import money
from nona.results.plan import PlanLoad, PlanReport


def cliff_figure(report: PlanReport) -> go.Figure:
    """The error budget of the answer over the traffic, with the headroom; markers are verdicts."""
    made = figure(340)
    budgets = [(c, found) for c in report.curve if (found := tightest(report.targets, c.shares)) is not None]
    made.add_scatter(
        x=[c.factor for c, _ in budgets],
        y=[max(b.used, LEAST_USED) for _, b in budgets],
        mode="lines",
        line={"color": QUIET, "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    for verdict in SYMBOLS:
        _loads(made, report, [p for p in budgets if p[0].verdict == verdict])
    made.update_xaxes(title="traffic, times that of today", tickformat=".3~g")
    log_axis(made, [1.0, *(max(b.used, LEAST_USED) for _, b in budgets)], BUDGET, of="y")
    if budgets:
        rule(made, 1.0, "all that the targets allow")
    if report.answer is not None and report.answer.headroom is not None:
        rule(made, report.answer.headroom, f"headroom {report.answer.headroom:.3g}×", of="x")
    return made


def _loads(made: go.Figure, report: PlanReport, shown: Sequence[tuple[PlanLoad, Budget]]) -> None:
    if not shown:
        return
    verdict = shown[0][0].verdict
    spans = [_span(b) for _, b in shown]
    middle = [max(b.used, LEAST_USED) for _, b in shown]
    made.add_scatter(
        x=[c.factor for c, _ in shown],
        y=middle,
        mode="markers",
        name=verdict,
        marker=marker(verdict, COLOURS[verdict]),
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [high - m for (_, high), m in zip(spans, middle, strict=True)],
            "arrayminus": [m - low for (low, _), m in zip(spans, middle, strict=True)],
            "color": COLOURS[verdict],
            "thickness": 2,
        },
        customdata=[_load_hover(report, c, b) for c, b in shown],
        hovertemplate="%{customdata}<extra></extra>",
    )


def _span(budget: Budget) -> tuple[float, float]:
    """The ends of the interval, as far as a logarithmic axis shows them."""
    middle = max(budget.used, LEAST_USED)
    low, high = budget.interval or (middle, middle)
    return min(max(low, LEAST_USED), middle), max(high, middle)


def _load_hover(report: PlanReport, load: PlanLoad, budget: Budget) -> str:
    lines = [f"{load.factor:.4g} × the traffic: {load.verdict}", budget.text]
    months = breaks_after(load.factor, report.growth)
    if months is not None and load.factor > 1:
        lines.append(f"reached in month {months} at {100 * report.growth:.4g} % a month")
    lines.append(f"{money(load.cost_per_million, report.currency)} per million queries")
    return "<br>".join(text(line, 90) for line in lines)
