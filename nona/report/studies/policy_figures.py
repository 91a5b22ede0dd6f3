"""Figures of the serverless and training studies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import (
    PALETTE,
    QUIET,
    add_bars,
    add_means,
    add_points,
    figure,
    fitting_axis,
    log_axis,
    scheduler_style,
    text,
)
from nona.report.studies.elastic import link_name, links_of, mean_of, published_of
from nona.report.studies.serverless_claims import Key, alternative_cells, cost_ratio, default_cells, mean
from nona.report.studies.serverless_tables import missed
from nona.report.studies.training import WAYS, converged, values
from nona.report.training.figures import elastic_style
from nona.report.training.findings import HOUR_S
from nona.results.document import Estimate
from nona.results.elastic import ElasticLinkStudy, ElasticPoint, ElasticStudy
from nona.results.serverless_study import ServerlessStudy
from nona.results.studies import EstimatorStudy, TrainingStudy, Way
from nona.statistics import mean_interval


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


PACKED = ", packed"


def training_load_figure(data: TrainingStudy, mode: str) -> go.Figure:
    """Mean JCT with 95 % intervals over jobs per hour, one line for each variant; packed ones are hollow."""
    chart, means = figure(420), list[float | None]()
    mine = [p for p in data.loads if p.mode == mode]
    for name in dict.fromkeys(p.variant for p in mine):
        points = [p for p in mine if p.variant == name]
        jcts = [mean_interval(values(p, "jcts_s")).estimate for p in points]
        look = scheduler_style(name.removesuffix(PACKED))
        if name.endswith(PACKED):
            look = replace(look, symbol=f"{look.symbol}-open")
        hover = f"{text(name)}, %{{x:,.3~r}} jobs per hour: %{{y:,.3~r}} h"
        means += add_means(chart, name, [p.per_hour for p in points], jcts, 1 / HOUR_S, look, hover)
    chart.update_xaxes(title="jobs that arrive per hour", rangemode="tozero")
    fitting_axis(chart, means, "mean JCT, h", "y")
    return chart


LOOKS: dict[Way, Look] = {
    "match": Look("#4c78d8", "solid", "circle"),
    "completed": Look("#0f9b8e", "dash", "square"),
    "table-mean": Look("#8390a6", "longdash", "diamond"),
    "random-reference": Look("#b3873a", "dashdot", "triangle-up"),
    "nearest": Look("#b45fd0", "longdashdot", "star"),
}


def estimator_figure(data: EstimatorStudy, kind: str = "new") -> go.Figure:
    """Mean error of each way of estimating with its 95 % interval, over the share profiled in per cent."""
    chart = figure(360)
    points = converged(data, kind)
    for way, look in LOOKS.items():
        shares, errors = [100 * p.profiled for p in points], [p.errors[way] for p in points]
        hover = f"{WAYS[way]}, %{{x:,.3~r}} % profiled: error %{{y:.3f}}"
        add_means(chart, WAYS[way], shares, errors, 1, look, hover)
    chart.update_xaxes(title="pairs profiled, %", rangemode="tozero")
    chart.update_yaxes(title="mean error of the share kept", rangemode="tozero")
    return chart


NOT_AVOIDED = "pollux, not avoiding it"


def elastic_load_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT with intervals over relative load; hollow: the authors' means over eight workloads."""
    chart, means = figure(540), list[float | None]()
    points = [p for p in study.points if p.avoid and not p.interference]
    for name in dict.fromkeys(p.policy for p in points):
        mine = sorted((p for p in points if p.policy == name), key=lambda p: p.load)
        means += _line(chart, name, mine, lambda p: p.load, elastic_style(name))
        published = [(p.load, p.published_mean_s) for p in mine if p.published_mean_s is not None]
        _published(chart, name, published, elastic_style(name))
    chart.update_xaxes(title="relative load")
    _hours(chart, means)
    return chart


def interference_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT at load 1 over interference; hollow: the authors' means of the same workloads."""
    chart, means = figure(540), list[float | None]()
    calm = {p.policy: p for p in study.points if p.load == 1 and p.avoid and not p.interference}
    rest = [p for p in study.points if p.load == 1 and not (p.avoid and not p.interference)]
    parts = sorted({p.interference for p in rest} | {0.0})
    for name, point in calm.items():
        mine = sorted((p for p in rest if p.policy == name and not p.avoid), key=lambda p: p.interference)
        if name == "pollux":  # with avoidance no job is slowed: one run stands for every interference
            flat = [point.model_copy(update={"interference": part}) for part in parts]
            means += _line(chart, name, flat, lambda p: p.interference, elastic_style(name))
            look = Look(elastic_style(name).colour, "dot", "circle-open")
            means += _line(chart, NOT_AVOIDED, mine, lambda p: p.interference, look)
        else:
            slowed = sorted((p for p in rest if p.policy == name), key=lambda p: p.interference)
            means += _line(chart, name, [point, *slowed], lambda p: p.interference, elastic_style(name))
            continue
        published = [(p.interference, v) for p in mine if (v := published_of(p)) is not None]
        _published(chart, NOT_AVOIDED, published, elastic_style(name))
    chart.update_xaxes(title="part of its speed lost beside another job on several nodes", rangemode="tozero")
    _hours(chart, means)
    return chart


def _line(
    made: go.Figure,
    name: str,
    points: Sequence[ElasticPoint],
    place: Callable[[ElasticPoint], float],
    look: Look,
) -> list[float | None]:
    hover, jcts = f"{text(name)}, %{{x:,.3~r}}: %{{y:,.3~r}} h", [mean_of(p).estimate for p in points]
    return add_means(made, name, [place(p) for p in points], jcts, 1 / HOUR_S, look, hover)


def _published(made: go.Figure, name: str, published: Sequence[tuple[float, float]], look: Look) -> None:
    if not published:
        return
    x, y = [x for x, _ in published], [y / HOUR_S for _, y in published]
    look, hover = (
        replace(look, symbol="diamond-wide-open"),
        f"{text(name)}, authors' simulator: %{{y:,.3~r}} h",
    )
    add_points(made, f"{name}, authors", x, y, look, hover, size=13)


def _hours(made: go.Figure, means: Sequence[float | None]) -> None:
    """Always on a log axis: FIFO takes many times as long as the others."""
    log_axis(made, means, "mean JCT, h", "y")


SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


def link_figure(study: ElasticLinkStudy) -> go.Figure:
    """Mean JCT of each policy, a mark for each link, with intervals over workloads."""
    names = list(dict.fromkeys(point.name for point in study.points))
    chart, all_means = figure(150 + 38 * len(names)), list[float]()
    for k, link in enumerate(links_of(study)):
        points = [p for p in study.points if link_name(p) == link]
        intervals = [mean_of(p) for p in points]
        means = [i.mean / HOUR_S for i in intervals]
        look = Look(PALETTE[k % len(PALETTE)], "solid", SYMBOLS[k % len(SYMBOLS)])
        spans = [  # a logarithmic axis cannot show an interval that reaches 0
            None if i.ends is None else (max(i.low / HOUR_S, 0.1 * m), i.high / HOUR_S)
            for i, m in zip(intervals, means, strict=True)
        ]
        hover = f"%{{y}}, {text(link)}: %{{x:,.3~r}} h"
        add_points(chart, link, means, [text(p.name) for p in points], look, hover, across=spans)
        all_means += means
    log_axis(chart, all_means, "mean JCT, h")
    chart.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=[text(n) for n in names])
    return chart
