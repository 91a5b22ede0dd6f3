"""The report on one workload."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.report.means import bounds
from nona.results.training.elastic import ElasticJobOutcome, ElasticOutcome, ElasticReport, ElasticSetting
from nona.results.training.report import JctSummary
from nona.simulation.statistics.intervals import mean_interval
from nona.training.elastic.model.system import ElasticSystem
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
    measures = [run.measures for run in runs]
    jct = mean_interval([m.mean_jct_s for m in measures])

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

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
        link_share=mean([m.link_share for m in measures]),
        replications=len(runs),
        jobs=_jobs(system, runs[0]),
    )


def _jobs(system: ElasticSystem, run: ElasticRun) -> tuple[ElasticJobOutcome, ...]:
    records = run.records
    if records is None:
        return ()
    return tuple(
        ElasticJobOutcome(
            name=job.name,
            application=job.application.name,
            gpus=job.gpus,
            batch=job.batch,
            arrival_s=job.arrival_s,
            jct_s=float(records.jct_s[n]),
            gpu_s=float(records.gpu_s[n]),
            restarts=int(records.restarts[n]),
        )
        for n, job in enumerate(system.jobs)
    )
