"""The study of elastic jobs as charts: mean JCT over load, and over interference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import plotly.graph_objects as go

from nona.look import Look
from nona.report.figures.compare import log_axis
from nona.report.figures.interval_line import interval_line
from nona.report.figures.style import figure, text
from nona.report.training.elastic.figures import elastic_style
from nona.report.training.elastic.study_text import mean_of, published_of
from nona.report.training.words import HOUR_S
from nona.results.training.elastic import ElasticPoint, ElasticStudy

NOT_AVOIDED = "pollux, not avoiding it"


def load_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT with intervals over relative load; hollow: the authors' means over eight workloads."""
    made, means = figure(540), list[float | None]()
    points = [p for p in study.points if p.avoid and not p.interference]
    for name in dict.fromkeys(p.policy for p in points):
        mine = sorted((p for p in points if p.policy == name), key=lambda p: p.load)
        means += _line(made, name, mine, lambda p: p.load, elastic_style(name))
        known = [(p.load, p.published_mean_s) for p in mine if p.published_mean_s is not None]
        _published(made, name, known, elastic_style(name))
    made.update_xaxes(title="relative load")
    _hours(made, means)
    return made


def interference_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT at load 1 over interference; hollow: the authors' means of the same workloads."""
    made, means = figure(540), list[float | None]()
    calm = {p.policy: p for p in study.points if p.load == 1 and p.avoid and not p.interference}
    rest = [p for p in study.points if p.load == 1 and not (p.avoid and not p.interference)]
    parts = sorted({p.interference for p in rest} | {0.0})
    for name, point in calm.items():
        mine = sorted((p for p in rest if p.policy == name and not p.avoid), key=lambda p: p.interference)
        if name == "pollux":  # with avoidance no job is slowed: one run stands for every interference
            flat = [point.model_copy(update={"interference": part}) for part in parts]
            means += _line(made, name, flat, lambda p: p.interference, elastic_style(name))
            look = Look(elastic_style(name).colour, "dot", "circle-open")
            means += _line(made, NOT_AVOIDED, mine, lambda p: p.interference, look)
        else:
            slowed = sorted((p for p in rest if p.policy == name), key=lambda p: p.interference)
            means += _line(made, name, [point, *slowed], lambda p: p.interference, elastic_style(name))
            continue
        known = [(p.interference, v) for p in mine if (v := published_of(p)) is not None]
        _published(made, NOT_AVOIDED, known, elastic_style(name))
    made.update_xaxes(title="part of its speed lost beside another job on several nodes", rangemode="tozero")
    _hours(made, means)
    return made


def _line(
    made: go.Figure,
    name: str,
    points: Sequence[ElasticPoint],
    place: Callable[[ElasticPoint], float],
    look: Look,
) -> list[float]:
    found = [mean_of(p) for p in points]
    means = [i.mean / HOUR_S for i in found]
    spans = [
        (m, m) if i.half_width != i.half_width else (i.low / HOUR_S, i.high / HOUR_S)
        for m, i in zip(means, found, strict=True)
    ]
    interval_line(made, name, [place(p) for p in points], means, spans, look, "%{x:.3g}: %{y:.3g} h")
    return means


def _published(made: go.Figure, name: str, known: Sequence[tuple[float, float]], look: Look) -> None:
    if not known:
        return
    made.add_scatter(
        x=[x for x, _ in known],
        y=[y / HOUR_S for _, y in known],
        name=f"{text(name)}, authors",
        mode="markers",
        marker={"color": look.colour, "symbol": "diamond-wide-open", "size": 13, "line": {"width": 2}},
        hovertemplate=f"{text(name)}, authors' simulator: %{{y:.3g}} h<extra></extra>",
    )


def _hours(made: go.Figure, means: Sequence[float | None]) -> None:
    """Always on a log axis: FIFO takes many times as long as the others."""
    log_axis(made, means, "mean JCT, h", "y")
