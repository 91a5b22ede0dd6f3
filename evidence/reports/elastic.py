"""The study of elastic jobs: findings, tables, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from evidence.policy_results import ElasticPoint, ElasticStudy
from evidence.presented import Presented, Shown, grouped
from nona.core.figures import add_means, add_points, figure, log_axis, text
from nona.core.registry import ChartStyle
from nona.core.statistics import Interval, mean_interval, paired_ratio
from nona.core.tables import Column, FilledTable, NumberKind, Table, share_text, time_text
from nona.training.report.figures import elastic_style
from nona.training.report.findings import HOUR_S


def workload_means(point: ElasticPoint) -> list[float]:
    """Mean JCT of each workload, in seconds; replications count as their mean."""
    return [float(np.mean(runs)) for runs in point.jcts_s]


def mean_of(point: ElasticPoint) -> Interval:
    """Mean JCT with its interval over workloads."""
    return mean_interval(workload_means(point))


SECONDS = NumberKind("{:,.0f} s".format)


def published_of(point: ElasticPoint) -> float | None:
    """Return the authors' mean JCT (s) on the same workloads; ``None`` unless they ran all of them."""
    means_s = [value for value in point.published_s if value is not None]
    return float(np.mean(means_s)) if len(means_s) == len(point.published_s) else None


def _table(points: Iterable[ElasticPoint], published: Callable[[ElasticPoint], float | None]) -> FilledTable:
    columns: tuple[Column[ElasticPoint], ...] = (
        Column("policy", lambda p: p.policy),
        Column("load", lambda p: p.load, NumberKind("{:g}".format)),
        Column("interference", lambda p: p.interference, NumberKind(share_text)),
        Column("avoided", lambda p: ("yes" if p.avoid else "no") if p.policy == "pollux" else None),
        Column("mean JCT", lambda p: mean_of(p).estimate, SECONDS, interval=True),
        Column("authors' mean", published, SECONDS),
    )
    return Table("", columns).fill(points)


def over_load(study: ElasticStudy) -> list[ElasticPoint]:
    """Return the points without interference, where whoever can avoid it does."""
    return [p for p in study.points if p.calm]


def _at_load_1(study: ElasticStudy) -> list[ElasticPoint]:
    """Those with interference, or without avoiding it; and those without either for comparison."""
    return [p for p in study.points if p.load == 1]


def title(study: ElasticStudy) -> str:
    """Return the shortest mean JCT at the lowest and at the highest load, as one finding."""
    points = over_load(study)
    by_load, parts = grouped(points, lambda p: p.load), []
    for load in dict.fromkeys((min(by_load), max(by_load))):
        first, *others = sorted(by_load[load], key=lambda p: mean_of(p).mean)
        parts.append(f"at load {load:g} {first.policy} has the shortest mean JCT{_gain(first, others)}")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def _gain(first: ElasticPoint, others: Sequence[ElasticPoint]) -> str:
    if not others:
        return ""
    second = others[0]
    ratio = paired_ratio(workload_means(second), workload_means(first))
    if not ratio.is_clear:
        return f", not clearly shorter than {second.policy}"
    return f", {share_text(1 - 1 / ratio.value)} less than {second.policy}"


def _avoidance(study: ElasticStudy) -> str:
    """State Pollux's saving by avoiding interference, at the largest interference; empty if not run."""
    points = [p for p in _at_load_1(study) if p.policy == "pollux"]
    calm = next((p for p in points if p.avoid), None)
    slowed = [p for p in points if not p.avoid]
    if calm is None or not slowed:
        return ""
    worst = max(slowed, key=lambda p: p.interference)
    free = next((p for p in slowed if not p.interference), None)
    saved = share_text(1 - mean_of(calm).mean / mean_of(worst).mean)
    text = (
        f"Where neighbours on several nodes lose {share_text(worst.interference)} of their speed, avoiding "
        f"them makes the mean JCT under pollux {saved} shorter"
    )
    if free is not None:
        cost = mean_of(calm).mean / mean_of(free).mean - 1
        text += f"; where they lose nothing, avoiding them changes it by {share_text(cost, 1, '+')}"
    return f"{text}."


def presented(study: ElasticStudy) -> Presented:
    """The study with its tables over load and over interference, and the replays beside the authors'."""
    load = "Mean JCT over relative load (the authors' means: eight workloads of that load, most not shipped)"
    lost = "Mean JCT at load 1 over interference (the authors' means: the same workloads)"
    tables = (
        Shown(
            "elastic-load-points", load, _table(over_load(study), lambda p: p.published_mean_s), folded=True
        ),
        Shown("elastic-interference-points", lost, _table(_at_load_1(study), published_of), folded=True),
    )
    lines = (_avoidance(study), *_replays(study), *study.failed_checks)
    notes = (
        f"Intervals are over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, the authors' simulator 100. The authors' means over load "
        "are of eight workloads for each load, most of which do not ship: above load 1 jobs of the other "
        "workloads are added."
    )
    provenance = f"{study.origin}, {time_text(study.seconds)}."
    return Presented(title(study), tuple(filter(None, lines)), tables, notes, provenance)


def _replays(study: ElasticStudy) -> Iterator[str]:
    """Each policy's replay, workload by workload, against the authors' figure."""
    for point in study.points:
        if point.load != 1 or published_of(point) is None or not point.calm:
            continue
        parts = [
            f"{number}: {np.mean(runs):,.2f} s ({100 * (np.mean(runs) / published - 1):+.2f} %)"
            for number, runs, published in zip(study.workloads, point.jcts_s, point.published_s, strict=True)
            if published is not None
        ]
        yield f"Replay, {point.policy}, by workload, against the authors' figure: " + ", ".join(parts) + "."


NOT_AVOIDED = "pollux, not avoiding it"


def elastic_load_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT with intervals over relative load; hollow: the authors' means over eight workloads."""
    chart, means = figure(540), list[float | None]()
    for name, points in grouped(over_load(study), lambda p: p.policy).items():
        by_load = {p.load: p for p in sorted(points, key=lambda p: p.load)}
        means += _line(chart, name, by_load, elastic_style(name))
        _published(
            chart, name, {load: p.published_mean_s for load, p in by_load.items()}, elastic_style(name)
        )
    chart.update_xaxes(title="relative load")
    log_axis(chart, means, JCT, "y")
    return chart


def interference_figure(study: ElasticStudy) -> go.Figure:
    """Mean JCT at load 1 over interference; hollow: the authors' means of the same workloads."""
    chart, means = figure(540), list[float | None]()
    calm = {p.policy: p for p in _at_load_1(study) if p.calm}
    slowed = sorted((p for p in _at_load_1(study) if not p.calm), key=lambda p: p.interference)
    parts = sorted({p.interference for p in slowed} | {0.0})
    for name, point in calm.items():
        look, of_policy = elastic_style(name), {p.interference: p for p in slowed if p.policy == name}
        if name != "pollux":
            means += _line(chart, name, {0.0: point, **of_policy}, look)
            continue
        # With avoidance no job is slowed: one run stands for every interference.
        means += _line(chart, name, dict.fromkeys(parts, point), look)
        means += _line(chart, NOT_AVOIDED, of_policy, ChartStyle(look.colour, "dot", "circle-open"))
        _published(chart, NOT_AVOIDED, {part: published_of(p) for part, p in of_policy.items()}, look)
    chart.update_xaxes(title="part of its speed lost beside another job on several nodes", rangemode="tozero")
    log_axis(chart, means, JCT, "y")
    return chart


JCT = "mean JCT, h"  # on a logarithmic axis: FIFO takes many times as long as the others


def _line(
    chart: go.Figure, name: str, points: Mapping[float, ElasticPoint], look: ChartStyle
) -> Sequence[float | None]:
    hover, jcts = (
        f"{text(name)}, %{{x:,.3~r}}: %{{y:,.3~r}} h",
        [mean_of(p).estimate for p in points.values()],
    )
    return add_means(chart, name, list(points), jcts, 1 / HOUR_S, look, hover)


def _published(chart: go.Figure, name: str, means_s: Mapping[float, float | None], look: ChartStyle) -> None:
    hours = {x: mean_s / HOUR_S for x, mean_s in means_s.items() if mean_s is not None}
    if hours:
        hover = f"{text(name)}, authors' simulator: %{{y:,.3~r}} h"
        hollow = replace(look, symbol="diamond-wide-open")
        add_points(chart, f"{name}, authors", list(hours), list(hours.values()), hollow, hover, size=13)
