"""Figures of the serverless study: settings, misses compared with the slides, cut-off, alternatives."""

from __future__ import annotations

import plotly.graph_objects as go

from nona.report.figures.compare import log_axis
from nona.report.figures.interval_line import interval_line
from nona.report.figures.scheduler_styles import scheduler_style
from nona.report.figures.style import QUIET, figure, text
from nona.report.serverless.pairs import Key, cost_ratio, mean
from nona.report.serverless.study.claims import alternative_cells, default_cells
from nona.report.serverless.study.rows import miss_rows
from nona.results.estimate import Estimate
from nona.results.serverless.study import ServerlessStudy


def settings_figure(data: ServerlessStudy) -> go.Figure:
    """SLOs kept by every policy in each setting, bars with intervals; labels: cost over ESG's."""
    made = figure(400)
    names = list(data.settings)
    policies = list(next(iter(data.settings.values())).policies)
    for policy in policies:
        rates = [data.settings[n].policies[policy].slo_hit_rate for n in names]
        cells = [data.settings[n].cells for n in names]
        times = [cost_ratio(c[policy], c["esg"]).value for c in cells]
        style = scheduler_style(policy)
        made.add_bar(
            x=names,
            y=[_percent(r) for r in rates],
            name=text(policy),
            marker_color=style.colour,
            error_y={
                "type": "data",
                "array": [_ends(r)[1] - (_percent(r) or 0.0) for r in rates],
                "color": QUIET,
            },
            text=[f"{t:.2f}×" for t in times],
            textposition="inside",
            insidetextanchor="start",  # at the foot, where no interval lies over them
            textangle=-90,
            hovertemplate=text(policy) + ", %{x}: %{y:.1f} % kept, cost %{text} esg's<extra></extra>",
        )
    made.update_layout(barmode="group")
    made.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return made


def _percent(rate: Estimate) -> float | None:
    return None if rate.mean is None else 100 * rate.mean


def _ends(rate: Estimate) -> tuple[float, float]:
    """Both ends of a rate's interval in per cent; without one the mean twice."""
    mean = _percent(rate) or 0.0
    return (mean, mean) if rate.ci95 is None else (100 * rate.ci95[0], 100 * rate.ci95[1])


def misses_figure(data: ServerlessStudy) -> go.Figure:
    """Configuration misses of the two policies that plan ahead, compared with the slides."""
    made = figure(340)
    rows = miss_rows(data)
    for policy in dict.fromkeys(r.policy for r in rows):
        own, style = [r for r in rows if r.policy == policy], scheduler_style(policy)
        names = [r.setting for r in own]
        made.add_bar(
            x=names,
            y=[_percent(r.ours) or 0.0 if r.ours is not None else 0.0 for r in own],
            name=f"{text(policy)}, simulated",
            marker_color=style.colour,
            offsetgroup=policy,
        )
        made.add_bar(
            x=names,
            y=[100 * r.slides for r in own],
            name=f"{text(policy)}, slides",
            marker={"color": "rgba(0,0,0,0)", "line": {"color": style.colour, "width": 2}},
            offsetgroup=f"{policy} slides",
        )
    made.update_layout(barmode="group")
    made.update_yaxes(title="configuration misses, %", rangemode="tozero")
    return made


def cutoff_figure(data: ServerlessStudy) -> go.Figure:
    """Orion's SLOs kept against its cut-off, with ESG's as a line."""
    points, style = data.cutoff.points, scheduler_style("orion")
    made = figure(320)
    x, y = [1e3 * p.cutoff_s for p in points], [_percent(p.slo_hit_rate) or 0.0 for p in points]
    spans = [_ends(p.slo_hit_rate) for p in points]
    interval_line(made, "orion", x, y, spans, style, "cut-off %{x:.3g} ms: %{y:.1f} % kept")
    esg = data.settings[data.cutoff.setting].policies["esg"]
    made.add_hline(
        y=_percent(esg.slo_hit_rate),
        line={"color": scheduler_style("esg").colour, "dash": "dash", "width": 1.5},
        annotation_text="esg",
        annotation_position="bottom right",
    )
    log_axis(made, x, "cut-off of the search, ms")
    made.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return made


def sensitivity_figure(data: ServerlessStudy, setting: str, key: Key = "hits") -> go.Figure:
    """One row per alternative with all policies: SLOs kept in %, or ``costs`` over ESG's default cost.

    The first row is the default.
    """
    default = default_cells(data)[setting]
    rows = [("default", default)]
    for row in data.sensitivity.rows:
        name = f"{row.key.removeprefix('serverless.')}: {row.other}"
        rows.append((name, alternative_cells(data, row)[setting]))
    made = figure(120 + 20 * len(rows))
    names = [text(name, 48) for name, _ in rows]
    base = mean(default["esg"], "costs")
    for policy in default:
        style = scheduler_style(policy)
        values = [
            100 * mean(cells[policy], "hits") if key == "hits" else mean(cells[policy], "costs") / base
            for _, cells in rows
        ]
        made.add_scatter(
            x=values,
            y=names,
            name=text(policy),
            mode="markers",
            marker={"color": style.colour, "symbol": style.symbol, "size": 9},
            hovertemplate=text(policy) + ", %{y}: %{x:.3g}<extra></extra>",
        )
    made.update_xaxes(title="SLOs kept, %" if key == "hits" else "cost per call relative to esg's default")
    made.update_yaxes(type="category", autorange="reversed", tickfont={"size": 10})
    return made


def sharing_figure(data: ServerlessStudy) -> go.Figure:
    """SLOs kept under each way of sharing the GPUs, one bar per policy."""
    made = figure(320)
    modes = data.sharing.modes
    for policy in next(iter(modes.values())):
        made.add_bar(
            x=list(modes),
            y=[_percent(row[policy].slo_hit_rate) for row in modes.values()],
            name=text(policy),
            marker_color=scheduler_style(policy).colour,
            hovertemplate=text(policy) + ", %{x}: %{y:.1f} % kept<extra></extra>",
        )
    made.update_layout(barmode="group")
    made.update_yaxes(title="SLOs kept, %", range=[0, 104])
    return made
