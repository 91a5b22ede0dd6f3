"""What every run tests on itself, from who had which GPUs."""

from __future__ import annotations

import numpy as np

from nona.simulation.records.run import Check
from nona.training.elastic.model.given import Given, size_of
from nona.training.elastic.model.system import ElasticSystem
from nona.training.elastic.records.run import ElasticRecords

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
    found = np.zeros(len(records.gpu_s))
    since: dict[int, tuple[float, int]] = {}
    for change in records.changes:
        start, gpus = since.get(change.job, (change.time_s, 0))
        end = min(change.time_s, float(records.completion_s[change.job]))
        found[change.job] += gpus * (end - start)
        since[change.job] = (change.time_s, size_of(change.given))
    error = float(np.abs(found - records.gpu_s).max())
    ok = error <= TOLERANCE * float(records.gpu_s.max())
    return Check("busy time = booked time", ok, f"GPU-seconds of a job differ by {error:.2g} at most")


def _causality(records: ElasticRecords) -> Check:
    """Jobs get GPUs after they came, and none after they are complete."""
    early = sum(c.time_s < records.arrival_s[c.job] for c in records.changes)
    late = sum(c.time_s >= records.completion_s[c.job] for c in records.changes if c.given)
    told = f"{early} changes before the arrival, {late} after the completion"
    return Check("no run before arrival, none after completion", not early and not late, told)


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
