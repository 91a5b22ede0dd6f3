"""The report on elastic jobs: history of the first run, finish-time fairness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.allocation.problem import Floats, Ints
from nona.errors import SimulationError
from nona.report.means import bounds
from nona.results.document import About
from nona.results.elastic import (
    ElasticCourse,
    ElasticHistory,
    ElasticJobOutcome,
    ElasticMove,
    ElasticOutcome,
    ElasticReport,
    ElasticSetting,
    ElasticTrace,
)
from nona.results.training import JctSummary
from nona.simulation.intervals import mean_interval
from nona.training.elastic.policy import compact
from nona.training.elastic.records import ElasticRecords, Points
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun
from nona.training.elastic.system import ElasticJob, ElasticSystem


def fairness(system: ElasticSystem, records: ElasticRecords) -> list[float | None]:
    """ρ of each job; ``None`` where profiles do not say how fast it is on its share.

    ρ = JCT / T_share. The share is ⌊GPUs / mean number of jobs that were there with it⌋, at least 1, at most
    what the job's batch can use; T_share: one restart, then all epochs on these GPUs alone, on as few nodes
    as possible, with the user's batch size.

    Source: Mahajan et al., Themis, NSDI 2020, section 3 (recollected); the share as whole GPUs is ours.
    """
    there = (records.running + records.waiting).astype(float)
    times_alone_s: dict[tuple[str, int, int], float | None] = {}
    rhos: list[float | None] = []
    for n, job in enumerate(system.jobs):
        arrival_s, completion_s = records.arrival_s[n], records.completion_s[n]
        within = (records.tick_s >= arrival_s) & (records.tick_s < completion_s)
        others = float(there[within].mean()) if within.any() else 1.0
        share = int(system.cluster.size / max(others, 1.0))
        gpus = max(1, min(share, job.application.most_at(job.batch)))
        key = (job.application.name, job.batch, gpus)
        if key not in times_alone_s:
            times_alone_s[key] = _alone_s(system, job, gpus)
        alone_s = times_alone_s[key]
        rhos.append(None if alone_s is None else float(completion_s - arrival_s) / alone_s)
    return rhos


def _alone_s(system: ElasticSystem, job: ElasticJob, gpus: int) -> float | None:
    """Seconds of all epochs on so many GPUs, a restart included."""
    application, counts = job.application, compact(system.cluster, gpus)
    split = application.batches.split(job.batch, gpus)
    steps = np.diff(application.ends, prepend=0.0)
    try:
        rates = [application.rate(counts, split, epoch) for epoch in range(application.epochs)]
    except SimulationError:
        return None
    return system.restart_s + float((steps / np.array(rates)).sum())


MOST_POINTS = 60_000  # of courses of jobs, of each policy
MOST_TICKS = 2_000  # of a trace
DIGITS = 6


def elastic_history(
    system: ElasticSystem,
    runs: Mapping[str, Sequence[ElasticRun]],
    report: ElasticReport,
    about: About,
) -> ElasticHistory:
    """Build the report with the history of the first run; ``about`` states its origin."""
    kept = {policy: policy_runs[0].records for policy, policy_runs in runs.items()}
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


def _efficiency_of(job: ElasticJob, batch: int, epoch: int) -> float:
    """Statistical efficiency: progress of a sample over that of one at the smallest batch size.

    gain(B/B₀) / (B/B₀), at most 1. Source: Qiao et al., Pollux, OSDI 2021, section 3.
    """
    application = job.application
    scale = batch / application.batches.least
    return application.noise(batch, min(epoch, application.epochs - 1)).gain(scale) / scale


def _used(records: ElasticRecords) -> Ints:
    """GPUs that jobs have from the end of each tick on."""
    gpus = dict.fromkeys(range(len(records.arrival_s)), 0)
    delta = np.zeros(len(records.tick_s), np.int64)
    for change in records.changes:
        now = sum(share.gpus for share in change.given)
        delta[int(np.searchsorted(records.tick_s, change.time_s - 1e-9))] += now - gpus[change.job]
        gpus[change.job] = now
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
    courses, room = list[ElasticCourse](), MOST_POINTS
    for n, job in enumerate(system.jobs):
        of = np.flatnonzero(points.job == n)
        if (room := room - len(of)) < 0:
            break
        batches, epochs = points.batch[of].tolist(), points.progress[of].astype(np.int64).tolist()
        rate = gained[of] * job.application.batches.least / system.tick_s
        courses.append(
            ElasticCourse(
                time_s=tuple(points.time_s[of].tolist()),
                gpus=tuple(points.gpus[of].tolist()),
                batch=tuple(batches),
                efficiency=tuple(
                    _short(_efficiency_of(job, b, e)) for b, e in zip(batches, epochs, strict=True)
                ),
                goodput=tuple(_short(v) for v in rate),
            )
        )
    return courses


def _means(values: Floats, every: int) -> Floats:
    """Means of ``every`` values at a time, the last of fewer."""
    starts = np.arange(0, len(values), every)
    means: Floats = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    return means


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def elastic_report(
    system: ElasticSystem,
    runs: Mapping[str, Sequence[ElasticRun]],
    published_s: Mapping[str, float | None],
    setting: ElasticSetting,
    seconds: float,
) -> ElasticReport:
    """Build the report on the policies; intervals are over replications."""
    passed: dict[str, bool] = {}
    failed: list[str] = []
    for name, policy_runs in runs.items():
        for check in (check for run in policy_runs for check in run.checks):
            passed[check.name] = passed.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{name}: {check.name}: {check.detail}")
    return ElasticReport(
        policies={
            name: _outcome(system, policy_runs, published_s.get(name)) for name, policy_runs in runs.items()
        },
        checks=passed,
        failed_checks=tuple(failed),
        seconds=seconds,
        setting=setting,
    )


def _outcome(system: ElasticSystem, runs: Sequence[ElasticRun], published_s: float | None) -> ElasticOutcome:
    measures, jobs = [run.measures for run in runs], _jobs(system, runs[0])
    held_s = sum(job.jct_s - job.waited_s for job in jobs)
    jct = mean_interval([m.mean_jct_s for m in measures])

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values) if values else 0.0

    return ElasticOutcome(
        jct_s=JctSummary(
            mean=jct.mean,
            ci95=bounds(jct),
            p50=mean([m.percentile_s(50) for m in measures]),
            p95=mean([m.percentile_s(95) for m in measures]),
            p99=mean([m.percentile_s(99) for m in measures]),
        ),
        published_s=published_s,
        makespan_s=mean([m.makespan_s for m in measures]),
        utilization=mean([m.utilization for m in measures]),
        restarts=mean([m.restarts for m in measures]),
        paused_share=mean([m.paused_share for m in measures]),
        waited_s=mean([job.waited_s for job in jobs]),
        mean_gpus=sum(job.gpu_s for job in jobs) / held_s if held_s else 0.0,
        efficiency=_efficiency(system, runs[0]),
        link_share=mean([m.link_share for m in measures]),
        replications=len(runs),
        jobs=jobs,
    )


def _jobs(system: ElasticSystem, run: ElasticRun) -> tuple[ElasticJobOutcome, ...]:
    records = run.records
    if records is None:
        return ()
    waited_s, rho = _waited_s(records), fairness(system, records)
    return tuple(
        ElasticJobOutcome(
            name=job.name,
            application=job.application.name,
            gpus=job.gpus,
            batch=job.batch,
            arrival_s=job.arrival_s,
            jct_s=float(records.jct_s[n]),
            waited_s=waited_s[n],
            gpu_s=float(records.gpu_s[n]),
            restarts=int(records.restarts[n]),
            rho=rho[n],
        )
        for n, job in enumerate(system.jobs)
    )


def _waited_s(records: ElasticRecords) -> list[float]:
    """Time that each job was there without GPUs."""
    waited = [0.0] * len(records.arrival_s)
    since: dict[int, float] = dict(enumerate(records.arrival_s.tolist()))
    for change in records.changes:
        if not change.given:
            since.setdefault(change.job, change.time_s)
        elif (begin := since.pop(change.job, None)) is not None:
            waited[change.job] += change.time_s - begin
    return waited


def _efficiency(system: ElasticSystem, run: ElasticRun) -> float:
    """Statistical efficiency, mean over the GPU-seconds of all ticks."""
    if run.records is None:
        return 0.0
    points, efficiencies = run.records.points, dict[tuple[int, int, int], float]()
    keys = list(
        zip(points.job.tolist(), points.batch.tolist(), points.progress.astype(int).tolist(), strict=True)
    )
    for job, batch, epoch in set(keys):
        efficiencies[job, batch, epoch] = _efficiency_of(system.jobs[job], batch, epoch)
    return float(np.average([efficiencies[key] for key in keys], weights=points.gpus))
