"""Records of a run: the GPUs of each job, checks, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from nona.allocation.problem import Floats, Ints
from nona.simulation.intervals import percentile
from nona.simulation.records import Check
from nona.training.elastic.system import ElasticSystem, Given, size_of


@dataclass(frozen=True, slots=True)
class Change:
    """From ``time_s`` on a job has these GPUs. ``value``: the policy's figure on it, or ``None``.

    ``facts``: what else the policy knew of it.
    """

    time_s: float
    job: int
    given: Given
    value: float | None
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, slots=True)
class Points:
    """(P,) one row for each job with GPUs at the end of each tick.

    ``batch`` in samples; ``progress`` in epochs, done in all.
    """

    time_s: Floats
    job: Ints
    gpus: Ints
    batch: Ints
    progress: Floats


@dataclass(frozen=True, eq=False, slots=True)
class ElasticRecords:
    """A run. Jobs by number (M), ticks in order (K).

    Attributes
    ----------
    arrival_s, completion_s
        (M,) seconds.
    gpu_s, paused_gpu_s, link_gpu_s
        (M,) GPU-seconds until completion, and those of them in pauses after changes and waiting for the link.
    restarts, epochs
        (M,) starts after the first one; epochs done.
    tick_s, running, waiting
        (K,) the end of each tick; jobs with GPUs and without from then on.
    """

    policy: str
    arrival_s: Floats
    completion_s: Floats
    gpu_s: Floats
    paused_gpu_s: Floats
    link_gpu_s: Floats
    restarts: Ints
    epochs: Ints
    tick_s: Floats
    running: Ints
    waiting: Ints
    changes: tuple[Change, ...]
    points: Points

    @property
    def jct_s(self) -> Floats:
        """(M,) completion − arrival."""
        jct_s: Floats = self.completion_s - self.arrival_s
        return jct_s


TOLERANCE = 1e-9


def elastic_checks(system: ElasticSystem, records: ElasticRecords) -> tuple[Check, ...]:
    """All checks of one run."""
    return (
        _capacity(system, records),
        _booked(records),
        _causality(records),
        _epochs(system, records),
        _little(system, records),
    )


def _capacity(system: ElasticSystem, records: ElasticRecords) -> Check:
    """At no time does a node give more GPUs than it has."""
    used = np.zeros(system.cluster.nodes, np.int64)
    had: dict[int, Given] = {}
    most = 0
    for at in sorted({change.time_s for change in records.changes}):
        for change in (c for c in records.changes if c.time_s == at):
            for share in had.get(change.job, ()):
                used[share.node] -= share.gpus
            for share in change.given:
                used[share.node] += share.gpus
            had[change.job] = change.given
        most = max(most, int(used.max()))
    ok = most <= system.cluster.gpus
    return Check("allocation within capacity", ok, f"at most {most} of {system.cluster.gpus} GPUs of a node")


def _booked(records: ElasticRecords) -> Check:
    """GPU-seconds of jobs are those of their stays."""
    gpu_s = np.zeros(len(records.gpu_s))
    since: dict[int, tuple[float, int]] = {}
    for change in records.changes:
        start, gpus = since.get(change.job, (change.time_s, 0))
        end = min(change.time_s, float(records.completion_s[change.job]))
        gpu_s[change.job] += gpus * (end - start)
        since[change.job] = (change.time_s, size_of(change.given))
    error = float(np.abs(gpu_s - records.gpu_s).max())
    ok = error <= TOLERANCE * float(records.gpu_s.max())
    return Check("busy time = booked time", ok, f"GPU-seconds of a job differ by {error:.2g} at most")


def _causality(records: ElasticRecords) -> Check:
    """Jobs get GPUs after they came, and none after they are complete."""
    early = sum(c.time_s < records.arrival_s[c.job] for c in records.changes)
    late = sum(c.time_s >= records.completion_s[c.job] for c in records.changes if c.given)
    text = f"{early} changes before the arrival, {late} after the completion"
    return Check("no run before arrival, none after completion", not early and not late, text)


def _epochs(system: ElasticSystem, records: ElasticRecords) -> Check:
    """Every job did its epochs, and its progress never fell."""
    asked = np.array([job.application.epochs for job in system.jobs])
    points = records.points
    order = np.lexsort((points.time_s, points.job))
    same = np.diff(points.job[order]) == 0
    lost = int((np.diff(points.progress[order])[same] < 0).sum())
    wrong = int((records.epochs != asked).sum())
    return Check(
        "epochs done = epochs asked",
        not wrong and not lost,
        f"{wrong} jobs differ; progress fell {lost} times",
    )


def _little(system: ElasticSystem, records: ElasticRecords) -> Check:
    """Jobs in the system, summed over ticks, are the ticks that jobs were there (Little's law).

    A completion that was rounded down to the start of a tick is seen at its end: one tick more.
    """
    tick = float(system.tick_s)
    first = np.ceil(np.maximum(records.arrival_s, tick) / tick)
    last = np.ceil(records.completion_s / tick)
    counted = int((records.running + records.waiting).sum())
    there = int((last - first).sum())
    ok = 0 <= counted - there <= int((records.completion_s % tick == 0).sum())
    return Check("Little's law", ok, f"{counted} jobs at ticks, {there} ticks of jobs")


@dataclass(frozen=True, eq=False, slots=True)
class ElasticMeasures:
    """Figures of a run in which all jobs are complete.

    Attributes
    ----------
    jct_s
        (M,) completion − arrival.
    makespan_s
        From the first arrival to the last completion.
    utilization
        GPU-seconds of jobs / (GPUs · makespan).
    restarts
        Mean over jobs.
    paused_share
        Part of the jobs' GPU-seconds that went into pauses after changes.
    link_share
        Part of them that the link cost, beyond synchronising as measured.
    """

    jct_s: Floats
    makespan_s: float
    utilization: float
    restarts: float
    paused_share: float
    link_share: float

    @property
    def mean_jct_s(self) -> float:
        """Mean of the JCTs."""
        return float(self.jct_s.mean())

    def percentile_s(self, percent: float) -> float:
        """A percentile of the JCTs."""
        return percentile(self.jct_s, percent)


def measure_elastic(system: ElasticSystem, records: ElasticRecords) -> ElasticMeasures:
    """The figures of a run."""
    makespan_s = float(records.completion_s.max() - records.arrival_s.min())
    used = float(records.gpu_s.sum())
    return ElasticMeasures(
        jct_s=records.jct_s,
        makespan_s=makespan_s,
        utilization=used / (system.cluster.size * makespan_s),
        restarts=float(np.mean(records.restarts)),
        paused_share=float(records.paused_gpu_s.sum()) / used,
        link_share=float(records.link_gpu_s.sum()) / used,
    )
