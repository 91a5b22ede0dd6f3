"""Figures of the serverless study."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures import (
    QUIET,
    add_bars,
    add_means,
    add_points,
    figure,
    log_axis,
    scheduler_style,
    text,
)
from nona.results.document import Estimate
from studies.policy_results import ServerlessStudy
from studies.reports.serverless_claims import Key, alternative_cells, cost_ratio, default_cells, mean
from studies.reports.serverless_tables import missed


def settings_figure(data: ServerlessStudy) -> go.Figure:
    """SLOs kept by every policy in each setting, bars with intervals; labels: cost over ESG's."""
    chart = figure(400)
    names = list(data.settings)
    policies = list(next(iter(data.settings.values())).policies)
    for policy in policies:
        rates = [data.settings[n].policies[policy].slo_hit_rate for n in names]
        cells = [data.settings[n].cells for n in names]
        times = [cost_ratio(c[policy], c["esg"]).value for c in cells]
        upper = [_ends(r)[1] - (_percent(r) or 0.0) for r in rates]
        add_bars(
            chart,
            policy,
            names,
            [_percent(r) for r in rates],
            scheduler_style(policy).colour,
            f"{text(policy)}, %{{x}}: %{{y:.1f}} % kept, cost %{{text}} esg's",
            upright=True,
            error_y={"type": "data", "array": upper, "color": QUIET},
            text=[f"{t:.2f}×" for t in times],
            textposition="inside",
            insidetextanchor="start",  # at the foot, where no interval lies over them
            textangle=-90,
        )
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart


def _percent(rate: Estimate) -> float | None:
    return None if rate.mean is None else 100 * rate.mean


def _ends(rate: Estimate) -> tuple[float, float]:
    mean = _percent(rate) or 0.0
    return (mean, mean) if rate.ci95 is None else (100 * rate.ci95[0], 100 * rate.ci95[1])


def misses_figure(data: ServerlessStudy) -> go.Figure:
    """Configuration misses of the two policies that plan ahead, compared with the slides."""
    chart = figure(340)
    rows = missed(data)
    for policy in dict.fromkeys(r.policy for r in rows):
        own, style = [r for r in rows if r.policy == policy], scheduler_style(policy)
        names = [r.setting for r in own]
        ours = [_percent(r.ours) or 0.0 if r.ours is not None else 0.0 for r in own]
        hover, slides = "%{x}: %{y:.1f} %", [100 * r.slides for r in own]
        add_bars(chart, f"{policy}, simulated", names, ours, style.colour, hover, upright=True)
        add_bars(chart, f"{policy}, slides", names, slides, "rgba(0,0,0,0)", hover, upright=True)
        chart.data[-1].marker.line = {"color": style.colour, "width": 2}
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="configuration misses, %", rangemode="tozero")
    return chart


def cutoff_figure(data: ServerlessStudy) -> go.Figure:
    """Orion's SLOs kept against its cut-off, with ESG's as a line."""
    points, style = data.cutoff.points, scheduler_style("orion")
    chart = figure(320)
    x, hover = [1e3 * p.cutoff_s for p in points], "orion, cut-off %{x:,.3~r} ms: %{y:.1f} % kept"
    add_means(chart, "orion", x, [p.slo_hit_rate for p in points], 100, style, hover)
    esg = data.settings[data.cutoff.setting].policies["esg"]
    chart.add_hline(
        y=_percent(esg.slo_hit_rate),
        line={"color": scheduler_style("esg").colour, "dash": "dash", "width": 1.5},
        annotation_text="esg",
        annotation_position="bottom right",
    )
    log_axis(chart, x, "cut-off of the search, ms")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart


def sensitivity_figure(data: ServerlessStudy, setting: str, key: Key = "hits") -> go.Figure:
    """One row per alternative with all policies: SLOs kept in %, or ``costs`` over ESG's default cost.

    The first row is the default.
    """
    default = default_cells(data)[setting]
    rows = [("default", default)]
    for row in data.sensitivity.rows:
        name = f"{row.key.removeprefix('serverless.')}: {row.other}"
        rows.append((name, alternative_cells(data, row)[setting]))
    chart = figure(120 + 20 * len(rows))
    names = [text(name, 48) for name, _ in rows]
    base = mean(default["esg"], "costs")
    for policy in default:
        style = scheduler_style(policy)
        values = [
            100 * mean(cells[policy], "hits") if key == "hits" else mean(cells[policy], "costs") / base
            for _, cells in rows
        ]
        add_points(chart, policy, values, names, style, f"{text(policy)}, %{{y}}: %{{x:,.3~r}}")
    chart.update_xaxes(title="SLOs kept, %" if key == "hits" else "cost per call relative to esg's default")
    chart.update_yaxes(type="category", autorange="reversed", tickfont={"size": 10})
    return chart


def sharing_figure(data: ServerlessStudy) -> go.Figure:
    """SLOs kept under each way of sharing the GPUs, one bar per policy."""
    chart = figure(320)
    modes = data.sharing.modes
    for policy in next(iter(modes.values())):
        rates = [_percent(row[policy].slo_hit_rate) for row in modes.values()]
        hover, colour = f"{text(policy)}, %{{x}}: %{{y:.1f}} % kept", scheduler_style(policy).colour
        add_bars(chart, policy, list(modes), rates, colour, hover, upright=True)
    chart.update_layout(barmode="group")
    chart.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return chart
