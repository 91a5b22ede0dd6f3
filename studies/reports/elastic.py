"""The studies of elastic jobs, alone and on a link: findings and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import add_means, add_points, figure, log_axis, text
from nona.report.training.figures import elastic_style
from nona.report.training.findings import HOUR_S
from nona.statistics import Interval, mean_interval, paired_ratio
from nona.tables import Column, Filled, Kind, Table, share_text, time_text
from studies.policy_results import ElasticLinkPoint, ElasticLinkStudy, ElasticPoint, ElasticStudy
from studies.presented import Presented, Shown


def workload_means(point: ElasticPoint | ElasticLinkPoint) -> list[float]:
    """Mean JCT of each workload, in seconds; replications count as their mean."""
    return [float(np.mean(runs)) for runs in point.jcts_s]


def mean_of(point: ElasticPoint | ElasticLinkPoint) -> Interval:
    """Mean JCT with its interval over workloads."""
    return mean_interval(workload_means(point))


SECONDS = Kind("{:,.0f} s".format)


class _Row(NamedTuple):
    point: ElasticPoint
    published_s: float | None


POINTS = Table[_Row](
    "",
    (
        Column("policy", lambda r: r.point.policy),
        Column("load", lambda r: r.point.load, Kind("{:g}".format)),
        Column("interference", lambda r: r.point.interference, Kind(share_text)),
        Column(
            "avoided", lambda r: ("yes" if r.point.avoid else "no") if r.point.policy == "pollux" else None
        ),
        Column("mean JCT", lambda r: mean_of(r.point).estimate, SECONDS, interval=True),
        Column("authors' mean", lambda r: r.published_s, SECONDS),
    ),
)


def published_of(point: ElasticPoint) -> float | None:
    """Return the authors' mean JCT (s) on the same workloads; ``None`` unless they ran all of them."""
    means_s = [value for value in point.published_s if value is not None]
    return float(np.mean(means_s)) if len(means_s) == len(point.published_s) else None


def over_load(study: ElasticStudy) -> list[ElasticPoint]:
    """The points without interference, where whoever can avoid it does."""
    return [p for p in study.points if p.avoid and not p.interference]


def _over_interference(study: ElasticStudy) -> list[ElasticPoint]:
    """The points at load 1 with interference, or without avoiding it; those without either for comparison."""
    return [p for p in study.points if p.load == 1]


def loads(study: ElasticStudy) -> Filled:
    """Each policy and load; the authors' means are over eight workloads of that load."""
    return POINTS.of(_Row(p, p.published_mean_s) for p in over_load(study))


def interference(study: ElasticStudy) -> Filled:
    """Each policy and interference at load 1; the authors' means are of the same workloads."""
    return POINTS.of(_Row(p, published_of(p)) for p in _over_interference(study))


def title(study: ElasticStudy) -> str:
    """The shortest mean JCT at the lowest and at the highest load, as one finding."""
    points = over_load(study)
    said = []
    for load in dict.fromkeys((min(p.load for p in points), max(p.load for p in points))):
        first, *others = sorted((p for p in points if p.load == load), key=lambda p: mean_of(p).mean)
        said.append(f"at load {load:g} {first.policy} has the shortest mean JCT{_gain(first, others)}")
    return "; ".join(said)[:1].upper() + "; ".join(said)[1:]


def _gain(first: ElasticPoint, others: Sequence[ElasticPoint]) -> str:
    if not others:
        return ""
    second = others[0]
    ratio = paired_ratio(workload_means(second), workload_means(first))
    if not ratio.is_clear:
        return f", not clearly shorter than {second.policy}"
    return f", {share_text(1 - 1 / ratio.value)} less than {second.policy}"


def avoidance_text(study: ElasticStudy) -> str:
    """State Pollux's saving by avoiding interference, at the largest interference; empty if not run."""
    points = [p for p in _over_interference(study) if p.policy == "pollux"]
    calm = next((p for p in points if p.avoid), None)
    slowed = [p for p in points if not p.avoid]
    if calm is None or not slowed:
        return ""
    worst = max(slowed, key=lambda p: p.interference)
    free = next((p for p in slowed if not p.interference), None)
    saved = share_text(1 - mean_of(calm).mean / mean_of(worst).mean)
    said = (
        f"Where neighbours on several nodes lose {share_text(worst.interference)} of their speed, avoiding "
        f"them makes the mean JCT under pollux {saved} shorter"
    )
    if free is not None:
        cost = mean_of(calm).mean / mean_of(free).mean - 1
        said += f"; where they lose nothing, avoiding them changes it by {share_text(cost, 1, '+')}"
    return f"{said}."


def notes(study: ElasticStudy) -> str:
    """State the setting, and its differences from the authors' runs."""
    return (
        f"Intervals are over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, the authors' simulator 100. The authors' means over load "
        "are of eight workloads for each load, most of which do not ship: above load 1 jobs of the other "
        "workloads are added."
    )


def provenance(study: ElasticStudy | ElasticLinkStudy) -> str:
    """The command, when it was run, and how long it took."""
    seconds = time_text(study.seconds)
    return f"{study.command}: version {study.version}, {study.date}, seed {study.seed}, {seconds}."


def presented(study: ElasticStudy) -> Presented:
    """The study with its tables over load and over interference, and the replays beside the authors'."""
    load = "Mean JCT over relative load (the authors' means: eight workloads of that load, most not shipped)"
    lost = "Mean JCT at load 1 over interference (the authors' means: the same workloads)"
    tables = (
        Shown("elastic-load-points", load, loads(study), folded=True),
        Shown("elastic-interference-points", lost, interference(study), folded=True),
    )
    lines = (avoidance_text(study), *replay_lines(study.points, study.workloads), *study.failed_checks)
    findings = tuple(filter(None, lines))
    return Presented(title(study), findings, tables, notes(study), provenance(study))


def replay_lines(points: Sequence[ElasticPoint], workloads: Sequence[int]) -> Iterator[str]:
    """Each policy's replay, workload by workload, against the authors' figure."""
    for point in points:
        if point.load != 1 or published_of(point) is None or not point.avoid or point.interference:
            continue
        parts = [
            f"{number}: {np.mean(runs):,.2f} s ({100 * (np.mean(runs) / published - 1):+.2f} %)"
            for number, runs, published in zip(workloads, point.jcts_s, point.published_s, strict=True)
            if published is not None
        ]
        yield f"Replay, {point.policy}, by workload, against the authors' figure: " + ", ".join(parts) + "."


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
