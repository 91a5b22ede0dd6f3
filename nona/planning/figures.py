"""Figures of a plan: options, costs, growth, week."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import plotly.graph_objects as go

from nona.cluster.prices import breaks_after
from nona.core.document import Verdict
from nona.core.figures import (
    BAD,
    DASHED,
    GOOD,
    PALETTE,
    PLAIN,
    QUIET,
    add_bars,
    add_line,
    add_points,
    capped,
    figure,
    fitting_axis,
    log_axis,
    rule,
    scheduler_style,
    spread_wide,
    text,
    zero_or_close,
)
from nona.core.registry import ChartStyle
from nona.core.tables import currency_sign, money, per_hour
from nona.planning.report_plan import LEAST_USED, ErrorBudget, headroom_text, servers_text, tightest
from nona.planning.report_plan_options import CostBreakdown, bills
from nona.planning.results import PlanLoad, PlanOption, PlanReport, PlanWeek

BUDGET = "error budget used (1 = all)"
SYMBOLS: Mapping[Verdict, str] = {"keeps": "circle", "misses": "x-thin", "open": "diamond-open"}
COLOURS: Mapping[Verdict, str] = {"keeps": GOOD, "misses": BAD, "open": QUIET}


Measure = Literal["Error budget", "p99"]
MEASURES: tuple[Measure, ...] = ("Error budget", "p99")


def options_figure(
    report: PlanReport, measure: Measure = "Error budget", pinned: Sequence[int] = ()
) -> go.Figure:
    """Every simulated option: its cost, or its count where one group grows, and its error budget or p99.

    The marker is the verdict, the colour the scheduler.

    ``pinned`` are indices of options that are named in the chart, as the answer is.
    """
    chart = figure(400)
    shown = [(i, o) for i, o in enumerate(report.options) if _value(report, o, measure) is not None]
    for rank, name in enumerate(dict.fromkeys(o.scheduler for _, o in shown)):
        size = 11 if report.group is None else max(7, 17 - 3 * rank)  # counts of several may coincide
        for verdict in SYMBOLS:
            alike = [p for p in shown if (p[1].scheduler, p[1].verdict) == (name, verdict)]
            _options(chart, report, measure, alike, size)
    places = [_place(o) for _, o in shown]
    if report.group is None:
        fitting_axis(chart, places, f"{currency_sign(report.currency)} per hour")
    elif min(places, default=0) > 0.5 * max(places, default=0):
        zero_or_close(chart, places)
        chart.update_xaxes(title="servers counted")
    else:
        log_axis(chart, places, "servers counted")
    title = BUDGET if measure == "Error budget" else "p99 of the slowest model, ms"
    least = [1.0] if measure == "Error budget" else []
    values = [v for _, o in shown if (v := _value(report, o, measure)) is not None]
    log_axis(chart, [*values, *least], title, of="y")
    if measure == "Error budget" and shown:
        rule(chart, 1.0, "all that the targets allow")
    named = dict.fromkeys([*([report.answer.option] if report.answer else []), *pinned])
    for line, index in enumerate(named):
        at_right = 2 * _place(report.options[index]) > max(places, default=0.0)
        _name(chart, report, index, measure, at_right, line)
    return chart


def _place(option: PlanOption) -> float:
    return option.cost_per_hour if option.grown is None else option.grown.count


def _value(report: PlanReport, option: PlanOption, measure: Measure) -> float | None:
    if measure == "p99":
        p99_ms = [1000 * m.p99_s for m in option.models.values() if m.p99_s is not None]
        return max(p99_ms, default=None)
    budget = tightest(report.targets, option.shares)
    return None if budget is None else max(budget.used, LEAST_USED)


def _options(
    chart: go.Figure, report: PlanReport, measure: Measure, shown: Sequence[tuple[int, PlanOption]], size: int
) -> None:
    if not shown:
        return
    option = shown[0][1]
    add_points(
        chart,
        f"{option.scheduler_text}, {option.verdict}",
        [_place(o) for _, o in shown],
        [_value(report, o, measure) for _, o in shown],
        replace(scheduler_style(option.scheduler), symbol=SYMBOLS[option.verdict]),
        "%{customdata[1]}",
        size=size,
        customdata=[[i, _hover(report, o)] for i, o in shown],
    )


def _hover(report: PlanReport, option: PlanOption) -> str:
    budget = tightest(report.targets, option.shares)
    lines = [
        f"{servers_text(option.servers)}, {option.scheduler_text}",
        f"{per_hour(option.cost_per_hour, report.currency)}: {option.verdict}",
        *([budget.text, budget.used_text] if budget else []),
    ]
    return "<br>".join(text(line, 90) for line in lines)


def _name(
    chart: go.Figure, report: PlanReport, index: int, measure: Measure, at_right: bool, line: int
) -> None:
    """Name an option towards the middle of the chart; each name on a line of its own below its marker."""
    option = report.options[index]
    value = _value(report, option, measure)
    if value is None:
        return
    ring = ChartStyle(GOOD, "solid", "circle-open")
    place = _place(option)
    add_points(chart, "", [place], [value], ring, size=20)
    chart.add_annotation(
        x=math.log10(place) if chart.layout.xaxis.type == "log" else place,
        y=math.log10(value),
        text=_label(servers_text(option.servers), SHORT),
        ax=-24 if at_right else 24,
        ay=36 + 30 * line,
        xanchor="right" if at_right else "left",
        arrowcolor=GOOD,
        arrowwidth=1.5,
        arrowhead=0,
        standoff=10,
    )


LINE, SHORT = 32, 20  # letters of a line of an option's name, beside an axis and within a chart


def costs_figure(report: PlanReport, pinned: Sequence[int] = ()) -> go.Figure:
    """Draw the cost per hour of the answer and other options that keep, by servers, link and data moved."""
    chosen_bills = bills(report, pinned)
    chart = figure(120 + 44 * len(chosen_bills))
    parts = list(dict.fromkeys(c.part for bill in chosen_bills for c in bill.costs))
    for number, part in enumerate(parts):
        _part(chart, report, chosen_bills, part, PALETTE[number % len(PALETTE)])
    chart.update_layout(barmode="stack")
    chart.update_xaxes(title=f"{currency_sign(report.currency)} per hour", rangemode="tozero")
    chart.update_yaxes(autorange="reversed", showgrid=False)
    return chart


def _label(name: str, line: int = LINE) -> str:
    """Return the whole name in short lines: names cut to a length would make one bar of two options.

    >>> _label("1 × a100-40gb (7 × 1g.5gb) + 3 × l4, least-loaded")
    '1 × a100-40gb (7 × 1g.5gb) + 3 ×<br>l4, least-loaded'
    """
    return "<br>".join(text(part, line) for part in textwrap.wrap(name, line, break_on_hyphens=False))


def _part(
    chart: go.Figure, report: PlanReport, chosen: Sequence[CostBreakdown], part: str, colour: str
) -> None:
    amounts = [sum(c.per_hour for c in bill.costs if c.part == part) for bill in chosen]
    names, prices = [_label(bill.name) for bill in chosen], [money(a, report.currency) for a in amounts]
    add_bars(
        chart, part, names, amounts, colour, f"{text(part)}: %{{customdata}} per hour", customdata=prices
    )


LoadMeasure = Literal["Error budget", "In time", "p99", "Cost per million"]
LOAD_MEASURES: tuple[LoadMeasure, ...] = ("Error budget", "In time", "p99", "Cost per million")


@dataclass(frozen=True, slots=True)
class TrafficDot:
    """A factor on the traffic with its value as drawn, the ends of its interval, and what hovering says."""

    load: PlanLoad
    value: float
    low: float
    high: float
    hover: str


def cliff_figure(report: PlanReport, measure: LoadMeasure = "Error budget") -> go.Figure:
    """One measure of the answer over the traffic, with the headroom; markers are verdicts."""
    chart = figure(340)
    dots = [d for c in report.curve if (d := _traffic_dot(report, c, measure)) is not None]
    add_line(chart, "", [d.load.factor for d in dots], [d.value for d in dots], PLAIN, width=1.5)
    for verdict in SYMBOLS:
        _dots(chart, [d for d in dots if d.load.verdict == verdict])
    factors = [d.load.factor for d in dots]
    if spread_wide(factors):
        log_axis(chart, factors, "traffic, times that of today")
    else:
        zero_or_close(chart, factors)
        chart.update_xaxes(title="traffic, times that of today")
    _axis(chart, report, measure, [v for d in dots for v in (d.low, d.value)])
    if report.answer is not None and report.answer.headroom is not None:
        headroom, half = report.answer.headroom, sum((min(factors), max(factors))) / 2 if factors else 0.0
        word = f"shown up to {headroom_text(headroom)}"
        rule(chart, headroom, word, of="x", anchor="right" if headroom > half else "left")
    return chart


def _axis(chart: go.Figure, report: PlanReport, measure: LoadMeasure, values: Sequence[float]) -> None:
    if measure == "Error budget":
        log_axis(chart, [1.0, *values], BUDGET, of="y")
        rule(chart, 1.0, "all that the targets allow")
    elif measure == "In time":
        chart.update_yaxes(
            title="jobs in time for the tightest target, %", range=capped(min(values, default=0.0), 100.0)
        )
    elif measure == "p99":
        fitting_axis(chart, values, "p99 of the slowest model, ms", of="y")
    else:
        chart.update_yaxes(title=f"{currency_sign(report.currency)} per million queries", rangemode="tozero")


def _traffic_dot(report: PlanReport, load: PlanLoad, measure: LoadMeasure) -> TrafficDot | None:
    """Return a simulated load's point for a measure, with its interval; ``None`` without a value."""
    budget = tightest(report.targets, load.shares)
    if budget is None:
        return None
    hover = _load_hover(report, load, budget)
    if measure == "Error budget":
        value = max(budget.used, LEAST_USED)
        low, high = budget.estimate.ci95 or (value, value)
        return TrafficDot(load, value, min(max(low, LEAST_USED), value), max(high, value), hover)
    if measure == "In time":
        if budget.share is None:
            return None  # a mean is asked
        value = 100 * (budget.share.mean or 0.0)
        low, high = budget.share.ci95 or (value / 100, value / 100)
        return TrafficDot(load, value, 100 * low, 100 * high, hover)
    if measure == "p99":
        p99_ms = [1000 * m.p99_s for m in load.models.values() if m.p99_s is not None]
        return TrafficDot(load, max(p99_ms), max(p99_ms), max(p99_ms), hover) if p99_ms else None
    return TrafficDot(load, load.cost_per_million, load.cost_per_million, load.cost_per_million, hover)


def _dots(chart: go.Figure, dots: Sequence[TrafficDot]) -> None:
    if not dots:
        return
    verdict, values = dots[0].load.verdict, [d.value for d in dots]
    look, spans = ChartStyle(COLOURS[verdict], "solid", SYMBOLS[verdict]), [(d.low, d.high) for d in dots]
    add_points(
        chart,
        verdict,
        [d.load.factor for d in dots],
        values,
        look,
        "%{customdata}",
        size=11,
        spans=spans,
        customdata=[d.hover for d in dots],
    )


def _load_hover(report: PlanReport, load: PlanLoad, budget: ErrorBudget) -> str:
    lines = [f"{load.factor:.4g} × the traffic: {load.verdict}", budget.text, budget.used_text]
    months = breaks_after(load.factor, report.growth)
    if months is not None and load.factor > 1:
        lines.append(f"growth passes it in month {months}")
    lines.append(f"{money(load.cost_per_million, report.currency)} per million queries")
    return "<br>".join(text(line, 90) for line in lines)


HOURS = 24


def week_figure(week: PlanWeek) -> go.Figure:
    """Traffic by hour above, servers by hour below: constant for the peak, and as each hour needs."""
    chart = figure(360)
    hours = list(range(len(week.factors)))
    add_steps = partial(add_line, chart, steps=True, customdata=[_hour_text(h) for h in hours])
    traffic, hover = ChartStyle(PALETTE[4], "solid", "circle"), "%{customdata}: %{y:.3g} × the traffic"
    add_steps("traffic", hours, week.factors, traffic, hover, fill="tozeroy")
    for name, counts, look in (
        ("constant", [max(week.servers)] * len(hours), DASHED),
        ("by hour", week.servers, ChartStyle(GOOD, "solid", "circle")),
    ):
        hover = f"%{{customdata}}: %{{y}} servers, {name}"
        add_steps(f"servers of {week.gpu}, {name}", hours, counts, look, hover, yaxis="y2")
    ticks = list(range(0, len(hours), HOURS if len(hours) > HOURS else 6))
    chart.update_xaxes(
        tickvals=ticks,
        ticktext=[
            _hour_text(h).split()[0] if len(hours) > HOURS else _hour_text(h).split()[-1] for h in ticks
        ],
        anchor="y2",
        title="day of the week" if len(hours) > HOURS else "hour of the day",
    )
    chart.update_yaxes(title="traffic, times the stated", domain=[0.56, 1], rangemode="tozero")
    lower = chart.layout.yaxis.to_plotly_json()
    chart.update_layout(
        yaxis2={**lower, "title": "servers", "domain": [0, 0.46], "rangemode": "tozero", "tickformat": "d"}
    )
    return chart


def _hour_text(hour: int) -> str:
    """Return an hour of the week; hour 0 is Monday 0:00.

    >>> _hour_text(0), _hour_text(34)
    ('Mon 0:00', 'Tue 10:00')
    """
    return f"{('Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun')[hour // HOURS % 7]} {hour % HOURS}:00"
