"""The study of elastic jobs in words and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nona.report.text import share_text, table, time_text
from nona.results.training.elastic import ElasticPoint, ElasticStudy
from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.simulation.statistics.ratio import paired_ratio

COLUMNS = ("policy", "load", "interference", "avoided", "mean JCT", "± 95 %", "authors' mean")


def mean_of(point: ElasticPoint) -> Interval:
    """Mean JCT with its interval over workloads; replications of a workload count as their mean."""
    return mean_interval([float(np.mean(runs)) for runs in point.jcts_s])


def published_of(point: ElasticPoint) -> float | None:
    """What the authors' simulator gave on the same workloads; ``None`` unless it ran all of them."""
    known = [value for value in point.published_s if value is not None]
    return float(np.mean(known)) if len(known) == len(point.published_s) else None


def over_load(study: ElasticStudy) -> list[ElasticPoint]:
    """The points without interference, where whoever can avoid it does."""
    return [p for p in study.points if p.avoid and not p.interference]


def over_interference(study: ElasticStudy) -> list[ElasticPoint]:
    """The points at load 1 with interference, or without avoiding it; those without either for comparison."""
    return [p for p in study.points if p.load == 1]


def load_rows(study: ElasticStudy) -> list[dict[str, str]]:
    """A row for each policy and load; the authors' means are over eight workloads of that load."""
    return [_row(p, p.published_mean_s) for p in over_load(study)]


def interference_rows(study: ElasticStudy) -> list[dict[str, str]]:
    """A row for each policy and interference at load 1; the authors' means are of the same workloads."""
    return [_row(p, published_of(p)) for p in over_interference(study)]


def study_title(study: ElasticStudy) -> str:
    """The shortest mean JCT at the lowest and at the highest load, as one finding."""
    points = over_load(study)
    said = []
    for load in dict.fromkeys((min(p.load for p in points), max(p.load for p in points))):
        first, *others = sorted((p for p in points if p.load == load), key=lambda p: mean_of(p).mean)
        said.append(f"at load {load:g} {first.policy} has the shortest mean JCT{_gain(first, others)}")
    return "; ".join(said)[:1].upper() + "; ".join(said)[1:]


def _gain(first: ElasticPoint, others: Sequence[ElasticPoint]) -> str:
    """How much shorter the first mean is than the next, workload by workload; "" if there is no other."""
    if not others:
        return ""
    second = others[0]
    longer, shorter = ([float(np.mean(runs)) for runs in p.jcts_s] for p in (second, first))
    ratio = paired_ratio(longer, shorter)
    if not ratio.is_clear:
        return f", not clearly shorter than {second.policy}"
    return f", {share_text(1 - 1 / ratio.value)} less than {second.policy}"


def avoidance_text(study: ElasticStudy) -> str:
    """What avoiding interference saves Pollux at the largest interference; empty if that was not run."""
    points = [p for p in over_interference(study) if p.policy == "pollux"]
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


def study_notes(study: ElasticStudy) -> str:
    """What was run, and what differs from the authors' runs."""
    return (
        f"Intervals are over workloads {', '.join(map(str, study.workloads))}. Pollux searches "
        f"{study.generations} generations a tick, the authors' simulator 100. The authors' means over load "
        "are of eight workloads for each load, most of which do not ship: above load 1 jobs of the other "
        "workloads come beside."
    )


def provenance(study: ElasticStudy) -> str:
    """The command, and when it was run."""
    return ran(study.command, study.version, study.date, study.seed, study.seconds)


def ran(command: str, version: str, date: str, seed: int, seconds: float) -> str:
    """What made a study's results, and how long it took.

    >>> ran("nona study x", "1.0", "2026-01-01", 3, 65.0)
    'nona study x: version 1.0, 2026-01-01, seed 3, 65 s.'
    """
    return f"{command}: version {version}, {date}, seed {seed}, {time_text(seconds)}."


def elastic_study_text(study: ElasticStudy) -> str:
    """Tables over load and over interference, replays beside the authors' figures, provenance."""
    return "\n".join(_lines(study))


def _lines(study: ElasticStudy) -> Iterator[str]:
    yield "Mean JCT over relative load (the authors' means: eight workloads of that load, most not shipped)"
    yield table(load_rows(study), COLUMNS)
    yield ""
    yield "Mean JCT at load 1 over interference (the authors' means: the same workloads)"
    yield table(interference_rows(study), COLUMNS)
    yield ""
    yield from replay_lines(study.points, study.workloads)
    yield ""
    yield study_notes(study)
    yield provenance(study)
    yield from study.failed_checks


def _row(point: ElasticPoint, known: float | None) -> dict[str, str]:
    mean = mean_of(point)
    return {
        "policy": point.policy,
        "load": f"{point.load:g}",
        "interference": share_text(point.interference),
        "avoided": ("yes" if point.avoid else "no") if point.policy == "pollux" else "–",
        "mean JCT": f"{mean.mean:,.0f} s",
        "± 95 %": "–" if np.isnan(mean.half_width) else f"{mean.half_width:,.0f} s",
        "authors' mean": "–" if known is None else f"{known:,.0f} s",
    }


def replay_lines(points: Sequence[ElasticPoint], workloads: Sequence[int]) -> Iterator[str]:
    """Each policy's replay, workload by workload, against the authors' figure."""
    for point in points:
        if point.load != 1 or published_of(point) is None or not point.avoid or point.interference:
            continue
        parts = [
            f"{number}: {np.mean(runs):,.2f} s ({100 * (np.mean(runs) / known - 1):+.2f} %)"
            for number, runs, known in zip(workloads, point.jcts_s, point.published_s, strict=True)
            if known is not None
        ]
        yield f"Replay, {point.policy}, by workload, against the authors' figure: " + ", ".join(parts) + "."
