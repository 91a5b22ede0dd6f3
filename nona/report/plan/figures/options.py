"""Options of a plan by cost and by how well they keep the targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis, spread_wide
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import GOOD, figure, rule, text
from nona.report.plan.budget import LEAST_USED, tightest
from nona.report.plan.figures.marks import BUDGET, SYMBOLS, marker
from nona.report.plan.words import money, servers_text
from nona.results.plan import PlanOption, PlanReport

Measure = Literal["Error budget", "p99"]
MEASURES: tuple[Measure, ...] = ("Error budget", "p99")


def options_figure(
    report: PlanReport, measure: Measure = "Error budget", pinned: Sequence[int] = ()
) -> go.Figure:
    """Every simulated option: its cost, and its error budget or p99.

    The marker is the verdict, the colour the scheduler.

    ``pinned`` are indices of options that are named in the chart, as the answer is.
    """
    made = figure(400)
    shown = [(i, o) for i, o in enumerate(report.options) if _value(report, o, measure) is not None]
    for name in dict.fromkeys(o.scheduler for _, o in shown):
        for verdict in SYMBOLS:
            alike = [p for p in shown if (p[1].scheduler, p[1].verdict) == (name, verdict)]
            _options(made, report, measure, alike)
    costs = [o.cost_per_hour for _, o in shown]
    if spread_wide(costs):
        log_axis(made, costs, f"{report.currency} per hour")
    else:
        made.update_xaxes(title=f"{report.currency} per hour", rangemode="tozero")
    title = BUDGET if measure == "Error budget" else "p99 of the slowest model, ms"
    least = [1.0] if measure == "Error budget" else []
    values = [v for _, o in shown if (v := _value(report, o, measure)) is not None]
    log_axis(made, [*values, *least], title, of="y")
    if measure == "Error budget" and shown:
        rule(made, 1.0, "all that the targets allow")
    for index in dict.fromkeys([*([report.answer.option] if report.answer else []), *pinned]):
        _name(made, report, index, measure)
    return made


def _value(report: PlanReport, option: PlanOption, measure: Measure) -> float | None:
    if measure == "p99":
        known = [1000 * m.p99_s for m in option.models.values() if m.p99_s is not None]
        return max(known, default=None)
    found = tightest(report.targets, option.shares)
    return None if found is None else max(found.used, LEAST_USED)


def _options(
    made: go.Figure, report: PlanReport, measure: Measure, shown: Sequence[tuple[int, PlanOption]]
) -> None:
    if not shown:
        return
    option = shown[0][1]
    look = scheduler_style(option.scheduler)
    made.add_scatter(
        x=[o.cost_per_hour for _, o in shown],
        y=[_value(report, o, measure) for _, o in shown],
        mode="markers",
        name=text(f"{option.scheduler}, {option.verdict}"),
        cliponaxis=False,
        marker=marker(option.verdict, look.colour),
        customdata=[[i, _hover(report, o)] for i, o in shown],
        hovertemplate="%{customdata[1]}<extra></extra>",
    )


def _hover(report: PlanReport, option: PlanOption) -> str:
    found = tightest(report.targets, option.shares)
    lines = [
        f"{servers_text(option.servers)}, {option.scheduler}",
        f"{money(option.cost_per_hour, report.currency)} per hour: {option.verdict}",
        *([found.text, found.used_text] if found else []),
    ]
    return "<br>".join(text(line, 90) for line in lines)


def _name(made: go.Figure, report: PlanReport, index: int, measure: Measure) -> None:
    """The servers of an option beside its marker."""
    option = report.options[index]
    value = _value(report, option, measure)
    if value is None:
        return
    made.add_scatter(
        x=[option.cost_per_hour],
        y=[value],
        mode="markers",
        marker={"size": 20, "symbol": "circle-open", "color": GOOD, "line": {"width": 2}},
        showlegend=False,
        hoverinfo="skip",
        cliponaxis=False,
    )
    made.add_annotation(
        x=math.log10(option.cost_per_hour) if made.layout.xaxis.type == "log" else option.cost_per_hour,
        y=math.log10(value),
        text=text(servers_text(option.servers), 40),
        ax=-24,  # what is cheaper and keeps better would be the answer: there is room
        ay=36,
        xanchor="right",
        arrowcolor=GOOD,
        arrowwidth=1.5,
        arrowhead=0,
        standoff=10,
    )
