"""SLOs kept, goodput and cost of every policy over one number of a scenario."""

from __future__ import annotations

from typing import Literal

import plotly.graph_objects as go

from nona.report.figures.interval_line import interval_line
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure
from nona.report.serverless.over.text import over_value
from nona.report.serverless.words import PER
from nona.report.sweeps.values import axis_scale
from nona.results.estimate import Estimate
from nona.results.serverless.over import OverPoint, OverReport

What = Literal["hits", "goodput", "cost"]
TITLES: dict[What, str] = {
    "hits": "SLOs kept, %",
    "goodput": "calls in time per second",
    "cost": f"US dollars per {PER:,} calls",
}
_SCALES: dict[What, float] = {"hits": 100.0, "goodput": 1.0, "cost": float(PER)}


def over_figure(report: OverReport, what: What = "hits", height: int = 340) -> go.Figure:
    """A line a policy with 95 % intervals; with ``hits`` the target as a line, knees as bands.

    >>> from nona.results.serverless.over import OverSetting
    >>> setting = OverSetting(name="", seed=1, calls=1, replications=1)
    >>> report = OverReport(key="load", label="Load", unit="factor", now=1.0, values=(1.0,), target=0.99,
    ...     policies={}, setting=setting, seconds=0.0)
    >>> over_figure(report).layout.xaxis.title.text
    'Load, ×'
    """
    made = figure(height)
    times, unit = axis_scale(report.unit)
    scale = _SCALES[what]
    for name, policy in report.policies.items():
        known = [(p, mean) for p in policy.points if (mean := _of(p, what).mean) is not None]
        interval_line(
            made,
            name,
            [times * p.value for p, _ in known],
            [scale * mean for _, mean in known],
            [_span(_of(p, what), mean, scale, what) for p, mean in known],
            scheduler_style(name),
            "%{x:.4g}: %{y:.4g}",
        )
        for knee in policy.knees if what == "hits" else ():
            if knee.kept is not None and knee.missed is not None:
                ends = (times * knee.kept, times * knee.missed)
                made.add_vrect(*ends, fillcolor=scheduler_style(name).colour, opacity=0.16, line_width=0)
    if what == "hits":
        made.add_hline(
            y=100 * report.target,
            line={"color": QUIET, "dash": "dash", "width": 1},
            annotation_text=f"{100 * report.target:g} %",
            annotation_position="bottom right",
        )
    made.update_xaxes(title=f"{report.label}{f', {unit}' if unit else ''}", rangemode="tozero")
    made.update_yaxes(title=TITLES[what], rangemode="tozero")
    if what == "hits":
        made.update_yaxes(range=[0, 104])
    return made


def over_alt(report: OverReport, what: What) -> str:
    """What the figure shows, in words."""
    values = f"{over_value(report, min(report.values))} to {over_value(report, max(report.values))}"
    return f"{TITLES[what]} of every policy over {report.label.lower()}, {values}, with 95 % intervals"


def _of(point: OverPoint, what: What) -> Estimate:
    return {
        "hits": point.slo_hit_rate,
        "goodput": point.goodput_per_s,
        "cost": point.cost_per_call_usd,
    }[what]


def _span(estimate: Estimate, mean: float, scale: float, what: What) -> tuple[float, float]:
    low, high = estimate.ci95 or (mean, mean)
    return (scale * max(low, 0.0), scale * (min(high, 1.0) if what == "hits" else high))
