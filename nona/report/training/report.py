"""The report on a simulated training cluster, for ``nona training simulate --json`` and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from nona.report.means import bounds
from nona.results.training.extensions import ExtensionFindings
from nona.results.training.report import (
    JctSummary,
    JobOutcome,
    PolicyOutcome,
    RhoSummary,
    TrainingReport,
    TrainingSetting,
)
from nona.simulation.records.run import Check
from nona.training.model.system import TrainingSystem
from nona.training.records.metrics import Measures
from nona.training.records.run import TrainingRecords
from nona.training.records.summary import TrainingSummary, mean_rho


def training_report(
    system: TrainingSystem,
    summaries: Mapping[str, TrainingSummary],
    records: Mapping[str, TrainingRecords],
    ideal: Mapping[str, float],
    checks: Mapping[str, Sequence[Check]],
    setting: TrainingSetting,
    seconds: float,
    findings: Mapping[str, ExtensionFindings] = MappingProxyType({}),
) -> TrainingReport:
    """All policies; ``system`` and ``records`` are those of the first replication, ``ideal`` mean JCTs."""
    held: dict[str, bool] = {}
    failed = []
    for policy, rows in checks.items():
        for check in rows:
            held[check.name] = held.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{policy}: {check.name}: {check.detail}")
    return TrainingReport(
        policies={
            name: policy_outcome(system, s, records[name], ideal.get(name), findings.get(name))
            for name, s in summaries.items()
        },
        checks=held,
        failed_checks=tuple(dict.fromkeys(failed)),
        seconds=seconds,
        setting=setting,
    )


def policy_outcome(
    system: TrainingSystem,
    s: TrainingSummary,
    records: TrainingRecords,
    ideal_jct_s: float | None,
    extensions: ExtensionFindings | None = None,
) -> PolicyOutcome:
    """The figures of one policy."""
    return PolicyOutcome(
        jct_s=JctSummary(
            mean=s.jct_s.mean,
            ci95=bounds(s.jct_s),
            p50=s.percentiles_s[50],
            p95=s.percentiles_s[95],
            p99=s.percentiles_s[99],
        ),
        makespan_s=s.mean(lambda r: r.makespan_s),
        utilization=s.mean(lambda r: r.utilization),
        rho=RhoSummary(mean=s.mean(mean_rho), worst=s.rho_worst),
        cost_usd=s.mean(lambda r: r.total_cost_usd),
        slo_hit_rate=s.mean(lambda r: r.slo_hit_rate),
        preemptions=s.mean(lambda r: r.preemptions),
        moves=s.mean(lambda r: r.moves),
        decisions=round(s.mean(lambda r: float(r.decisions))),
        decision_s=s.mean(lambda r: r.decision_s),
        decision_most_s=s.most(lambda r: r.decision_most_s),
        worst_gap=s.most(lambda r: r.worst_gap),
        received_error=s.mean(lambda r: r.received_error),
        ideal_jct_s=ideal_jct_s,
        lost_steps_share=s.mean(lambda r: r.lost_share),
        warnings=s.warnings,
        extensions=extensions,
        jobs=tuple(_job(system, s.runs[0], records, i) for i in range(len(system.jobs))),
    )


def _job(system: TrainingSystem, run: Measures, records: TrainingRecords, number: int) -> JobOutcome:
    job = system.jobs[number]
    return JobOutcome(
        name=job.name,
        model=job.model,
        kind=job.kind,
        entity=job.entity,
        workers=job.workers,
        measured=bool(run.measured[number]),
        arrival_s=job.arrival_s,
        jct_s=run.jct_s[number],
        rho=run.rho[number],
        slo_s=job.slo_s,
        met=None if np.isnan(run.met[number]) else bool(run.met[number]),
        cost_usd=run.cost_usd[number],
        preemptions=int(records.preemptions[number]),
        moves=int(records.moves[number]),
    )
