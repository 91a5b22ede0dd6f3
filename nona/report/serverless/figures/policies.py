"""Figures of a serverless simulation: hit rate against cost, latencies against the SLO, searches.

Titles are in
:mod:`nona.report.serverless.titles`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import log10

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis, scaled, whiskers
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.report.serverless.words import PER, cost_text, rate_text
from nona.results.document import Figure
from nona.results.serverless.outcome import Outcome, PolicyOutcome
from nona.results.serverless.report import Oracle
from nona.results.serverless.values import Spread

COST_AXIS = f"US dollars per {PER:,} calls"
PUBLISHED_SEARCH_S = 0.010  # "less than 10 ms", slides on ESG


def pareto_figure(outcomes: Mapping[str, Outcome], oracle: Oracle | None) -> go.Figure:
    """Hit rate against cost per call with both intervals, and the oracle's least cost for each hit rate.

    Up and to the left is better.
    """
    made = figure(380)
    for name, outcome in outcomes.items():
        _pareto_point(made, name, outcome)
    curve = () if oracle is None else oracle.curve
    if curve:
        made.add_scatter(
            x=[PER * usd for _, usd in curve],
            y=[100 * share for share, _ in curve],
            name="oracle: lower bound of the cost",
            mode="lines",
            line={"color": QUIET, "dash": "dash", "width": 1.5},
            hovertemplate="oracle: %{y:.3g} % cost at least $%{x:.3g}<extra></extra>",
        )
    made.update_xaxes(title=COST_AXIS)
    made.update_yaxes(title="SLOs kept, %")
    _frame(made, outcomes, curve)
    return made


def _frame(made: go.Figure, outcomes: Mapping[str, Outcome], curve: Sequence[tuple[float, float]]) -> None:
    """Axes from 0, or from a larger value if all policies are close together."""
    known = [
        (hits, o.cost_per_call_usd.mean)
        for o in outcomes.values()
        if (hits := o.slo_hit_rate.mean) is not None
    ]
    costs = [PER * cost for _, cost in known if cost]
    least = min((100 * hits for hits, _ in known), default=0.0)
    low = max(0.0, 10 * (least // 10 - 1))
    made.update_yaxes(range=[low, 100 + 0.03 * (100 - low)])
    costs += [PER * usd for share, usd in curve if share >= low / 100]
    if costs and min(costs) > 0.5 * max(costs):
        room = 0.12 * (max(costs) - min(costs)) + 0.02 * max(costs)
        made.update_xaxes(range=[min(costs) - room, max(costs) + room])
    else:
        made.update_xaxes(rangemode="tozero")


def _pareto_point(made: go.Figure, name: str, outcome: Outcome) -> None:
    style, hits, cost = scheduler_style(name), outcome.slo_hit_rate, outcome.cost_per_call_usd
    if hits.mean is None or cost.mean is None:
        return
    x, y = PER * cost.mean, 100 * hits.mean
    over = " (overloaded)" if outcome.state == "overloaded" else ""
    made.add_scatter(
        x=[x],
        y=[y],
        name=text(name + over),
        mode="markers",
        marker={"color": style.colour, "symbol": style.symbol, "size": 12, "line": {"color": style.colour}},
        error_x=whiskers(x, scaled(cost.ci95, PER) or [x, x], style.colour),
        error_y=whiskers(y, scaled(hits.ci95, 100) or [y, y], style.colour),
        hovertemplate=(
            f"{text(name)}: {text(rate_text(hits))} of the SLOs, {text(cost_text(cost))} per {PER:,} calls"
            "<extra></extra>"
        ),
    )


def latency_figure(policies: Mapping[str, PolicyOutcome], application: str | None = None) -> go.Figure:
    """Boxes of latencies: 25th to 75th percentile with the median, whiskers from 5th to 95th, mean dashed.

    For one ``application``: one box per policy in milliseconds, with its SLO as a line. Without: all
    applications side by side, each divided by its SLO, so that the line is at 1.
    """
    made = figure(380)
    for name, policy in policies.items():
        rows = policy.applications
        chosen = list(rows) if application is None else [application]
        known = [a for a in chosen if rows[a].latency_s.p50 is not None]
        if known:
            per = [1 / rows[a].slo_s if application is None else 1e3 for a in known]
            _boxes(made, name, known, [rows[a].latency_s for a in known], per)
    slo = 1.0
    if application is not None:
        slo = 1e3 * next(iter(policies.values())).applications[application].slo_s
    made.add_hline(
        y=slo,
        line={"color": QUIET, "dash": "dash", "width": 1.5},
        annotation_text="SLO",
        annotation_position="top right",
    )
    made.update_layout(boxmode="group")
    made.update_yaxes(title="latency / SLO" if application is None else "latency, ms", rangemode="tozero")
    return made


def _boxes(
    made: go.Figure, name: str, labels: Sequence[str], rows: Sequence[Spread], per: Sequence[float]
) -> None:
    style = scheduler_style(name)

    def drawn(of: Callable[[Spread], Figure]) -> list[Figure]:
        values = [(of(r), factor) for r, factor in zip(rows, per, strict=True)]
        return [None if v is None else v * factor for v, factor in values]

    made.add_box(
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
    made = figure(90 + 40 * len(searches), legend=False)
    for label, row in searches.items():
        if row.mean is not None:
            _search_row(made, label, row, row.mean)
    log_axis(made, [1e3 * limit_s, *_positive(searches)], "search, ms")
    made.add_vline(x=1e3 * limit_s, line={"color": QUIET, "dash": "dash", "width": 1})
    made.add_annotation(  # its place on a logarithmic axis is a logarithm
        x=log10(1e3 * limit_s), y=1, yref="paper", yanchor="bottom", text="slides", showarrow=False
    )
    made.update_yaxes(type="category", autorange="reversed", showgrid=False)
    return made


def _positive(searches: Mapping[str, Spread]) -> list[float]:
    values = [v for row in searches.values() for v in (row.mean, row.p50, row.p95, row.p99)]
    return [1e3 * v for v in values if v is not None and v > 0]


def _search_row(made: go.Figure, label: str, row: Spread, mean_s: float) -> None:
    style = scheduler_style(label.split(",")[0].split(" ")[0])
    shown = text(label)
    points = (("median", row.p50), ("95th percentile", row.p95), ("99th percentile", row.p99))
    known = [(what, 1e3 * v) for what, v in points if v is not None and v > 0]
    made.add_scatter(
        x=[v for _, v in known],
        y=[shown] * len(known),
        mode="lines+markers",
        line={"color": style.colour, "width": 2},
        marker={"color": style.colour, "symbol": "line-ns-open", "size": 12},
        customdata=[what for what, _ in known],
        hovertemplate=shown + ", %{customdata}: %{x:.3g} ms<extra></extra>",
    )
    if mean_s > 0:
        made.add_scatter(
            x=[1e3 * mean_s],
            y=[shown],
            mode="markers",
            marker={"color": style.colour, "symbol": "triangle-up", "size": 12},
            hovertemplate=shown + ", mean: %{x:.3g} ms<extra></extra>",
        )
