"""The report on one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.report.means import bounds
from nona.report.training.elastic.fairness import fairness
from nona.report.training.elastic.history import efficiency_of
from nona.results.training.elastic import ElasticJobOutcome, ElasticOutcome, ElasticReport, ElasticSetting
from nona.results.training.report import JctSummary
from nona.simulation.statistics.intervals import mean_interval
from nona.training.elastic.model.system import ElasticSystem
from nona.training.elastic.records.run import ElasticRecords
from nona.training.elastic.replications import ElasticRun


def elastic_report(
    system: ElasticSystem,
    runs: Mapping[str, Sequence[ElasticRun]],
    published_s: Mapping[str, float | None],
    setting: ElasticSetting,
    seconds: float,
) -> ElasticReport:
    """What the policies did. Intervals are over replications."""
    held: dict[str, bool] = {}
    failed: list[str] = []
    for name, found in runs.items():
        for check in (check for run in found for check in run.checks):
            held[check.name] = held.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{name}: {check.name}: {check.detail}")
    return ElasticReport(
        policies={name: _outcome(system, found, published_s.get(name)) for name, found in runs.items()},
        checks=held,
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
    points, known = run.records.points, dict[tuple[int, int, int], float]()
    keys = list(
        zip(points.job.tolist(), points.batch.tolist(), points.progress.astype(int).tolist(), strict=True)
    )
    for job, batch, epoch in set(keys):
        known[job, batch, epoch] = efficiency_of(system.jobs[job], batch, epoch)
    return float(np.average([known[key] for key in keys], weights=points.gpus))
