"""Figures of serverless runs: policies, nodes, one number varied, GPU layouts, sharing.

Titles are in
:mod:`nona.serverless.report.findings`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import plotly.graph_objects as go

from nona.cluster.sharing.registry import SHARING_MODES
from nona.core.document import Estimate, Figure
from nona.core.figures import (
    DASHED,
    PALETTE,
    QUIET,
    EstimateDot,
    add_line,
    add_points,
    dot_of,
    figure,
    log_axis,
    rule,
    scaled,
    scheduler_style,
    text,
    zero_or_close,
)
from nona.core.registry import ChartStyle
from nona.core.tables import KEPT, TIME, WHOLE_SHARE, Column, FilledTable, Table, kept_text, per_hour
from nona.queries.sweeps.report import axis_scale
from nona.serverless.report.findings import (
    PER,
    USD,
    call_cost,
    cost_text,
    dollars,
    hit_rate,
    not_overloaded,
    ranked,
    rate_text,
)
from nona.serverless.report.layouts import DrawnBatch
from nona.serverless.report.over import over_value
from nona.serverless.results import (
    NodesReport,
    Oracle,
    OverPoint,
    OverReport,
    ServerlessPolicyResult,
    Spread,
    WaysReport,
)

COST_AXIS = f"$ per {PER:,} calls"
PUBLISHED_SEARCH_S = 0.010  # "less than 10 ms", slides on ESG


def pareto_figure(outcomes: Mapping[str, ServerlessPolicyResult], oracle: Oracle | None) -> go.Figure:
    """Hit rate against cost per call with both intervals, and the oracle's least cost for each hit rate.

    Up and to the left is better.
    """
    chart = figure(380)
    for name, outcome in outcomes.items():
        _pareto_point(chart, name, outcome)
    curve = () if oracle is None else oracle.curve
    if curve:
        x, y = [PER * usd for _, usd in curve], [100 * share for share, _ in curve]
        hover = "oracle: %{y:,.3~r} % cost at least $%{x:,.3~r}"
        add_line(chart, "oracle: lower bound of the cost", x, y, DASHED, hover, width=1.5)
    chart.update_xaxes(title=COST_AXIS)
    chart.update_yaxes(title="SLOs kept, %")
    _draw_frame(chart, outcomes, curve)
    return chart


def _draw_frame(
    chart: go.Figure, outcomes: Mapping[str, ServerlessPolicyResult], curve: Sequence[tuple[float, float]]
) -> None:
    points = [
        (hits, o.cost_per_call_usd.mean)
        for o in outcomes.values()
        if (hits := o.slo_hit_rate.mean) is not None
    ]
    costs = [PER * cost for _, cost in points if cost]
    least = min((100 * hits for hits, _ in points), default=0.0)
    low = max(0.0, 10 * (least // 10 - 1))
    chart.update_yaxes(range=[low, 100 + 0.03 * (100 - low)])
    costs += [PER * usd for share, usd in curve if share >= low / 100]
    zero_or_close(chart, costs)


def _pareto_point(chart: go.Figure, name: str, outcome: ServerlessPolicyResult) -> None:
    style, hits, cost = scheduler_style(name), outcome.slo_hit_rate, outcome.cost_per_call_usd
    if hits.mean is None or cost.mean is None:
        return
    x, y = PER * cost.mean, 100 * hits.mean
    over = " (overloaded)" if outcome.state == "overloaded" else ""
    add_points(
        chart,
        name + over,
        [x],
        [y],
        style,
        f"{text(name)}: {text(rate_text(hits))} of the SLOs, {text(cost_text(cost))} per {PER:,} calls",
        size=11,
        across=[scaled(cost.ci95, PER)],
        spans=[scaled(hits.ci95, 100)],
    )


def latency_figure(
    policies: Mapping[str, ServerlessPolicyResult], application: str | None = None
) -> go.Figure:
    """Boxes of latencies: 25th to 75th percentile with the median, whiskers from 5th to 95th, mean dashed.

    For one ``application``: one box per policy in milliseconds, with its SLO as a line. Without: all
    applications side by side, each divided by its SLO, so that the line is at 1.
    """
    chart = figure(380)
    for name, policy in policies.items():
        rows = policy.applications
        chosen = list(rows) if application is None else [application]
        drawn = [a for a in chosen if rows[a].latency_s.p50 is not None]
        if drawn:
            per = [1 / rows[a].slo_s if application is None else 1e3 for a in drawn]
            _add_latency_boxes(chart, name, drawn, [rows[a].latency_s for a in drawn], per)
    slo = 1.0
    if application is not None:
        slo = 1e3 * next(iter(policies.values())).applications[application].slo_s
    rule(chart, slo, "SLO")
    chart.update_layout(boxmode="group")
    chart.update_yaxes(title="latency / SLO" if application is None else "latency, ms", rangemode="tozero")
    return chart


def _add_latency_boxes(
    chart: go.Figure, name: str, labels: Sequence[str], rows: Sequence[Spread], per: Sequence[float]
) -> None:
    """Add a policy's box plots: percentiles 5, 25, 50, 75, 95 and mean of each row, times its ``per``."""
    style = scheduler_style(name)

    def drawn(of: Callable[[Spread], Figure]) -> list[Figure]:
        values = [(of(r), factor) for r, factor in zip(rows, per, strict=True)]
        return [None if v is None else v * factor for v, factor in values]

    chart.add_box(
        x=[text(label, 40) for label in labels],
        q1=drawn(lambda r: r.p25),
        median=drawn(lambda r: r.p50),
        q3=drawn(lambda r: r.p75),
        lowerfence=drawn(lambda r: r.p5),
        upperfence=drawn(lambda r: r.p95),
        mean=drawn(lambda r: r.mean),
        name=text(name),
        marker_color=style.colour,
        line={"color": style.colour, "width": 1.5},
    )


def search_figure(searches: Mapping[str, Spread], limit_s: float = PUBLISHED_SEARCH_S) -> go.Figure:
    """Search time per row: mean as a triangle, a line from the median to the 99th percentile, 95th marked.

    ``searches``: label → seconds, as ``search_s`` of a policy; its look is that of the policy whose name
    the label begins with.
    """
    chart = figure(90 + 40 * len(searches), legend=False)
    for label, row in searches.items():
        if row.mean is not None:
            _search_row(chart, label, row, row.mean)
    log_axis(chart, [1e3 * limit_s, *_positive(searches)], "search, ms")
    rule(chart, 1e3 * limit_s, "slides", "x")
    chart.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return chart


def _positive(searches: Mapping[str, Spread]) -> list[float]:
    values = [v for row in searches.values() for v in (row.mean, row.p50, row.p95, row.p99)]
    return [1e3 * v for v in values if v is not None and v > 0]


def _search_row(chart: go.Figure, label: str, row: Spread, mean_s: float) -> None:
    style = scheduler_style(label.split(",")[0].split(" ")[0])
    shown = text(label)
    points = (("median", row.p50), ("95th percentile", row.p95), ("99th percentile", row.p99))
    marks = [(what, 1e3 * v) for what, v in points if v is not None and v > 0]
    x, words = [v for _, v in marks], [what for what, _ in marks]
    look, hover = ChartStyle(style.colour, "solid", "line-ns-open"), shown + ", %{customdata}: %{x:,.3~r} ms"
    add_points(chart, "", x, [shown] * len(x), look, hover, size=12, joined=True, customdata=words)
    if mean_s > 0:
        look = replace(look, symbol="triangle-up")
        add_points(chart, "", [1e3 * mean_s], [shown], look, shown + ", mean: %{x:,.3~r} ms", size=10)


def nodes_figure(report: NodesReport) -> go.Figure:
    """Every count tried with its interval, up to 100 %; the target as a line, the answer as a larger marker.

    ``report`` is that of ``nona serverless --nodes-for``; its title is
    :func:`nona.serverless.report.findings.nodes_finding`.
    """
    chart = figure(340)
    for name, policy in report.policies.items():
        style = scheduler_style(name)
        tried = [t for t in policy.tried if t.slo_hit_rate.mean is not None]
        y = [100 * (t.slo_hit_rate.mean or 0.0) for t in tried]
        add_points(
            chart,
            name,
            [t.nodes for t in tried],
            y,
            style,
            text(name) + ": %{y:.1f} % kept with %{x} nodes, %{customdata}",
            size=[13 if t == policy.found else 7 for t in tried],
            joined=True,
            spans=[_span(t.slo_hit_rate, t.slo_hit_rate.mean or 0.0, 100, 1.0) for t in tried],
            customdata=[per_hour(t.usd_hour, "USD") for t in tried],
        )
    rule(chart, 100 * report.target, "target")
    chart.update_xaxes(title="nodes", rangemode="tozero")
    shown = [t.slo_hit_rate.mean for p in report.policies.values() for t in p.tried]
    low = max(0.0, 10 * (min((100 * s for s in shown if s is not None), default=0.0) // 10 - 1))
    chart.update_yaxes(title="SLOs kept, %", range=[low, 100 + 0.04 * (100 - low)])
    return chart


class OverMeasure(NamedTuple):
    """What is drawn of a point: its title, its ``scale`` on the axis, how it is read, the most it can be."""

    title: str
    scale: float
    read: Callable[[OverPoint], Estimate]
    most: float = math.inf


HITS = OverMeasure("SLOs kept, %", 100.0, lambda p: p.slo_hit_rate, 1.0)
GOODPUT = OverMeasure("calls in time per second", 1.0, lambda p: p.goodput_per_s)
COST = OverMeasure(f"$ per {PER:,} calls", float(PER), lambda p: p.cost_per_call_usd)


def over_figure(report: OverReport, measure: OverMeasure = HITS, height: int = 340) -> go.Figure:
    """Return a line a policy with 95 % intervals; with :data:`HITS` the target as a line, knees as bands.

    >>> from nona.serverless.results import OverSetting
    >>> setting = OverSetting(name="", seed=1, calls=1, replications=1)
    >>> report = OverReport(key="load", label="Load", unit="factor", now=1.0, values=(1.0,), target=0.99,
    ...     policies={}, setting=setting, seconds=0.0)
    >>> over_figure(report).layout.xaxis.title.text
    'Load, ×'
    """
    chart, scale = figure(height), measure.scale
    times, unit = axis_scale(report.unit)
    for name, policy in report.policies.items():
        points = [(p, mean) for p in policy.points if (mean := measure.read(p).mean) is not None]
        x, y = [times * p.value for p, _ in points], [scale * mean for _, mean in points]
        spans = [_span(measure.read(p), mean, scale, measure.most) for p, mean in points]
        hover = f"{text(name)}, %{{x:,.3~r}}: %{{y:,.3~r}}"
        add_points(chart, name, x, y, scheduler_style(name), hover, joined=True, spans=spans)
        for knee in policy.knees if measure is HITS else ():
            if knee.kept is not None and knee.missed is not None:
                ends = (times * knee.kept, times * knee.missed)
                chart.add_vrect(*ends, fillcolor=scheduler_style(name).colour, opacity=0.16, line_width=0)
    chart.update_xaxes(title=f"{report.label}{f', {unit}' if unit else ''}", rangemode="tozero")
    chart.update_yaxes(title=measure.title, rangemode="tozero")
    if measure is HITS:
        rule(chart, 100 * report.target, f"{100 * report.target:g} %")
        chart.update_yaxes(range=[0, 104])
    return chart


def over_alt(report: OverReport, measure: OverMeasure = HITS) -> str:
    """Describe the figure in words."""
    values = f"{over_value(report, min(report.values))} to {over_value(report, max(report.values))}"
    return f"{measure.title} of every policy over {report.label.lower()}, {values}, with 95 % intervals"


def _span(estimate: Estimate, mean: float, scale: float, most: float) -> tuple[float, float]:
    low, high = estimate.ci95 or (mean, mean)
    return scale * max(low, 0.0), scale * min(high, most)


LANE = 34


def layouts_figure(
    rows: Sequence[DrawnBatch],
    stranded: Sequence[tuple[float, float, int]],
    cells: int,
    applications: Sequence[str],
    unit: str = "vGPU",
) -> go.Figure:
    """``rows`` as :func:`nona.serverless.report.layouts.placed` gives them, on an axis of ``cells``.

    Hatched at its left: slice set-up, cold start and transfer, or an idle instance; hatched grey: stranded
    slices.
    """
    chart = figure(100 + LANE * cells)
    for number, name in enumerate(applications):
        own = [r for r in rows if r.batch.application == name]
        if own:
            _add_batch_bars(chart, own, name, PALETTE[number % len(PALETTE)])
    if stranded:
        _stranded(chart, stranded)
    chart.update_layout(
        barmode="overlay", bargap=0, dragmode="pan", uniformtext={"minsize": 9, "mode": "hide"}
    )
    chart.update_xaxes(title="seconds into the measured window", rangemode="tozero")
    chart.update_yaxes(
        title=unit,
        range=[-0.02, cells + 0.02],
        tickvals=[c + 0.5 for c in range(cells)],
        ticktext=[str(c) for c in range(cells)],
        fixedrange=True,
        showgrid=False,
    )
    return chart


def _add_batch_bars(chart: go.Figure, own: Sequence[DrawnBatch], name: str, colour: str) -> None:
    """Add the batches of an application as bars over time; hatched until they compute."""
    spans = (
        ([(r, r.from_s, r.computes_s) for r in own], "/"),
        ([(r, r.computes_s, r.to_s) for r in own], ""),
    )
    for rows, hatch in spans:
        part = [(r, begin, end) for r, begin, end in rows if end > begin]
        chart.add_bar(
            y=[(r.low + r.high) / 2 for r, _, _ in part],
            x=[end - begin for _, begin, end in part],
            base=[begin for _, begin, _ in part],
            width=[r.high - r.low - 0.08 for r, _, _ in part],
            orientation="h",
            name=text(name, 40),
            legendgroup=name,
            showlegend=not hatch,
            marker={
                "color": colour,
                "line": {"width": 1, "color": colour},
                "pattern": {"shape": hatch, "fgcolor": colour, "bgcolor": "rgba(0,0,0,0)", "size": 5},
            },
            text=["" if hatch else text(r.batch.stage, 18) for r, _, _ in part],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            insidetextfont={"color": "#ffffff"},
            customdata=[_batch_hover(r) for r, _, _ in part],
            hovertemplate=(
                "%{customdata[0]}: %{customdata[2]} on %{customdata[1]}<br>%{base:,.3~r} s, done at "
                f"%{{customdata[3]:,.3~r}} s, %{{customdata[4]}}<extra>{text(name)}</extra>"
            ),
        )


def _batch_hover(row: DrawnBatch) -> list[str | int | float]:
    b = row.batch
    jobs = f"{b.jobs} jobs" if b.jobs else "no job"
    return [text(b.stage), text(b.configuration), jobs, row.to_s, "cold start" if b.cold else "warm"]


def _stranded(chart: go.Figure, spans: Sequence[tuple[float, float, int]]) -> None:
    chart.add_bar(
        y=[cell + 0.5 for _, _, cell in spans],
        x=[end - begin for begin, end, _ in spans],
        base=[begin for begin, _, _ in spans],
        width=[0.92] * len(spans),
        orientation="h",
        name="stranded",
        marker={
            "color": "rgba(0,0,0,0)",
            "line": {"width": 0},
            "pattern": {"shape": "x", "fgcolor": QUIET, "bgcolor": "rgba(0,0,0,0)", "size": 6},
        },
        hovertemplate="memory slice %{y:.0f} stranded<extra></extra>",
    )


def way_title(name: str) -> str:
    """Return the display title of the way called ``name``; an unknown name is returned unchanged.

    >>> way_title("mig-geometry"), way_title("gone")
    ('MIG, placed', 'gone')
    """
    return SHARING_MODES[name].title if name in SHARING_MODES else name


def under_ways(compared: WaysReport) -> dict[str, ServerlessPolicyResult]:
    """Map each way to the outcome of the compared policy under it."""
    return {way: report.policies[compared.policy] for way, report in compared.reports.items()}


NONE_COMPLETE = "no call completed"


def hit_dots(outcomes: Mapping[str, ServerlessPolicyResult]) -> list[EstimateDot]:
    """Plot the share of SLOs kept under each policy or way of sharing, in per cent."""
    return [
        dot_of(way_title(name), o.slo_hit_rate, 100, rate_text, NONE_COMPLETE) for name, o in outcomes.items()
    ]


def cost_dots(outcomes: Mapping[str, ServerlessPolicyResult]) -> list[EstimateDot]:
    """Plot the cost under each of them, in dollars for :data:`~nona.serverless.report.findings.PER` calls."""
    return [
        dot_of(way_title(name), o.cost_per_call_usd, PER, cost_text, NONE_COMPLETE)
        for name, o in outcomes.items()
    ]


class _SharingOutcome(NamedTuple):
    name: str
    result: ServerlessPolicyResult


WAY_TABLE = Table[_SharingOutcome](
    "",
    (
        Column("sharing", lambda r: way_title(r.name)),
        Column("state", lambda r: r.result.state),
        Column("SLOs kept", lambda r: r.result.slo_hit_rate, KEPT, interval=True),
        Column(
            f"$ per {PER:,} calls", lambda r: r.result.cost_per_call_usd, USD, "cost_per_call", interval=True
        ),
        Column(f"$ per {PER:,} hits", lambda r: r.result.cost_per_hit_usd.mean, USD, "cost_per_hit"),
        Column("mean latency", lambda r: r.result.latency_s.mean, TIME),
        Column("p95", lambda r: r.result.latency_s.p95, TIME),
        Column("mean batch", lambda r: r.result.mean_batch),
        Column("vGPUs held", lambda r: r.result.utilization.vgpu, WHOLE_SHARE),
        Column("vGPUs stranded", lambda r: r.result.stranded_vgpus),
        Column("rechecks", lambda r: r.result.rechecks),
    ),
)


def ways(outcomes: Mapping[str, ServerlessPolicyResult]) -> FilledTable:
    """Each way of sharing with its figures."""
    return WAY_TABLE.fill(_SharingOutcome(name, outcome) for name, outcome in outcomes.items())


def ways_title(ways: Mapping[str, ServerlessPolicyResult], policy: str) -> str:
    """Return the way under which ``policy`` keeps most SLOs, and the cheapest."""
    if ways and not not_overloaded(ways):
        return f"Under {policy}, every sharing mode is overloaded"
    hits, costs = ranked(not_overloaded(ways), hit_rate), ranked(not_overloaded(ways), call_cost)
    if not hits or not costs:
        return f"Under {policy}, no call was completed"
    best = max((w for w in ways if w in hits), key=lambda w: hits[w])  # of equals the first way
    least = min((w for w in ways if w in costs), key=lambda w: costs[w])
    both = f"Under {policy}, {way_title(best)} keeps the most SLOs ({kept_text(hits[best])})"
    if best == least:
        return f"{both} and is cheapest ({dollars(costs[least])} per {PER:,} calls)"
    return f"{both}; {way_title(least)} is cheapest ({dollars(costs[least])} per {PER:,} calls)"
