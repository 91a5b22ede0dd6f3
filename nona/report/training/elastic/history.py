"""What happened in the first run of each policy, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.results.about import About
from nona.results.training.elastic import ElasticReport
from nona.results.training.elastic_history import ElasticCourse, ElasticHistory, ElasticMove, ElasticTrace
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.registry import ELASTIC
from nona.training.elastic.records.run import ElasticRecords, Points
from nona.training.elastic.replications import ElasticRun

MOST_POINTS = 60_000  # of courses of jobs, of each policy
MOST_TICKS = 2_000  # of a trace
DIGITS = 6


def elastic_history(
    system: ElasticSystem,
    runs: Mapping[str, Sequence[ElasticRun]],
    report: ElasticReport,
    about: About,
) -> ElasticHistory:
    """The report with what happened; ``about`` says where it is from."""
    kept = {policy: found[0].records for policy, found in runs.items()}
    return ElasticHistory(
        about=about,
        report=report,
        jobs=tuple(job.name for job in system.jobs),
        traces={policy: elastic_trace(system, r) for policy, r in kept.items() if r is not None},
    )


def elastic_trace(system: ElasticSystem, records: ElasticRecords) -> ElasticTrace:
    """The moves, the cluster over time, and jobs over time.

    Work: Σ over jobs of progress / progress at completion; goodput of the cluster: work per hour. Of a long
    run only every k-th tick is kept, with the means of those between.
    """
    points, tick = records.points, float(system.tick_s)
    gained = _gained(system, points)
    ends = np.array([job.application.ends[-1] for job in system.jobs])
    place = np.rint(points.time_s / tick).astype(np.int64) - 1
    count = len(records.tick_s)
    work = np.bincount(place, gained / ends[points.job], minlength=count).astype(np.float64)
    every = -(-count // MOST_TICKS)
    return ElasticTrace(
        value=ELASTIC.find(records.policy).value,
        moves=tuple(
            ElasticMove(
                time_s=c.time_s,
                job=c.job,
                gpus=tuple((share.node, share.gpus) for share in c.given),
                value=None if c.value is None else _short(c.value),
                facts={what: _short(value) for what, value in c.facts.items()},
            )
            for c in records.changes
        ),
        time_s=tuple(records.tick_s[::every].tolist()),
        running=tuple(records.running[::every].tolist()),
        waiting=tuple(records.waiting[::every].tolist()),
        used=tuple(_used(records)[::every].tolist()),
        goodput=tuple(_short(v) for v in _means(work, every) * 3600 / tick),
        courses=tuple(_courses(system, points, gained)),
    )


def efficiency_of(job: ElasticJob, batch: int, epoch: int) -> float:
    """Statistical efficiency: progress of a sample over that of one at the smallest batch size.

    gain(B/B₀) / (B/B₀), at most 1. Source: Qiao et al., Pollux, OSDI 2021, section 3.
    """
    application = job.application
    scale = batch / application.batches.least
    return application.noise(batch, min(epoch, application.epochs - 1)).gain(scale) / scale


def _used(records: ElasticRecords) -> Ints:
    """GPUs that jobs have from the end of each tick on."""
    held = dict.fromkeys(range(len(records.arrival_s)), 0)
    delta = np.zeros(len(records.tick_s), np.int64)
    for change in records.changes:
        now = sum(share.gpus for share in change.given)
        delta[int(np.searchsorted(records.tick_s, change.time_s - 1e-9))] += now - held[change.job]
        held[change.job] = now
    used: Ints = np.cumsum(delta)
    return used


def _gained(system: ElasticSystem, points: Points) -> Floats:
    """(P,) progress of each tick, in iterations at the smallest batch size."""
    done = np.empty(len(points.job))
    for n, job in enumerate(system.jobs):
        of = points.job == n
        ends = np.array([0.0, *job.application.ends])
        done[of] = np.interp(points.progress[of], np.arange(len(ends)), ends)
        done[of] = np.diff(done[of], prepend=0.0)
    return done


def _courses(system: ElasticSystem, points: Points, gained: Floats) -> list[ElasticCourse]:
    found, room = list[ElasticCourse](), MOST_POINTS
    for n, job in enumerate(system.jobs):
        of = np.flatnonzero(points.job == n)
        if (room := room - len(of)) < 0:
            break
        batches, epochs = points.batch[of].tolist(), points.progress[of].astype(np.int64).tolist()
        rate = gained[of] * job.application.batches.least / system.tick_s
        found.append(
            ElasticCourse(
                time_s=tuple(points.time_s[of].tolist()),
                gpus=tuple(points.gpus[of].tolist()),
                batch=tuple(batches),
                efficiency=tuple(
                    _short(efficiency_of(job, b, e)) for b, e in zip(batches, epochs, strict=True)
                ),
                goodput=tuple(_short(v) for v in rate),
            )
        )
    return found


def _means(values: Floats, every: int) -> Floats:
    """Means of ``every`` values at a time, the last of fewer."""
    starts = np.arange(0, len(values), every)
    found: Floats = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    return found


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
