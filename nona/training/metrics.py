"""Figures of a run, and of a policy over its replications; those shared by both engines come first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from nona.core.arrays import Floats
from nona.core.checks import Check
from nona.core.document import Document
from nona.core.statistics import level_with, mean_interval, percentile, without_nan
from nona.training.records import TrainingRecords, spans_of
from nona.training.results import ExtensionFindings, JctSummary, JobOutcome, RhoSummary, TrainingPolicyResult
from nona.training.system import TrainingSystem

HOUR_S = 3600.0
D = TypeVar("D", bound=Document)
R = TypeVar("R")


@dataclass(frozen=True, eq=False, slots=True)
class PolicyReplication(Generic[D, R]):
    """One replication of a policy; records are kept of the first one only."""

    outcome: D
    checks: tuple[Check, ...]
    records: R | None


def jct_of(jct_s: Floats) -> JctSummary:
    """Return the JCTs of one run's jobs, NaN where one is not complete."""
    at = tuple(percentile(jct_s, p) for p in range(101))
    return JctSummary(mean=_mean(jct_s), ci95=None, p50=at[50], p95=at[95], p99=at[99], percentiles=at)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of those that are known."""
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if present else None


def pooled(runs: Sequence[D], jcts: Sequence[JctSummary], means: Iterable[str], **others: object) -> D:
    """Return the first outcome with means over all of ``means``, and of JCTs with their interval."""
    mean = mean_interval([np.nan if jct.mean is None else jct.mean for jct in jcts])
    at = tuple(map(mean_of, zip(*(jct.percentiles for jct in jcts), strict=True)))
    jct_s = JctSummary(
        mean=mean.mean,
        ci95=mean.ends,
        p50=at[50],
        p95=at[95],
        p99=at[99],
        percentiles=at,
        runs=tuple(jct.mean for jct in jcts),
    )
    update = {name: mean_of(getattr(run, name) for run in runs) for name in means}
    return runs[0].model_copy(update={"jct_s": jct_s, **update, **others})


def level_with_shortest(runs: Mapping[str, Sequence[PolicyReplication[Any, Any]]]) -> tuple[str, ...]:
    """Return the policies whose mean JCT does not differ clearly from the shortest."""
    means = {name: [run.outcome.jct_s.mean for run in own] for name, own in runs.items()}
    complete = {name: of for name, of in means.items() if None not in of}
    means_s = {name: mean for name, of in complete.items() if (mean := mean_of(of)) is not None}
    return level_with(min(means_s, key=lambda name: (means_s[name], name)), complete) if complete else ()


def measure(
    system: TrainingSystem,
    records: TrainingRecords,
    ideal_jct_s: Floats | None = None,
    extensions: ExtensionFindings | None = None,
) -> TrainingPolicyResult:
    """Return the figures of one run, over training jobs within the window.

    ρ is the JCT over the time on an equal share; two jobs that share GPUs pay half each; a deadline counts
    from a job's admission; utilisation is GPU-seconds given / (GPUs · end); the error of received time is the
    mean over jobs of Σ_j |received − X·time| / time there.
    """
    measured, jct_s = system.counted, records.jct_s
    rho = np.divide(jct_s, records.isolated_s, out=np.full(len(jct_s), np.nan), where=records.isolated_s > 0)
    spans = spans_of(records)
    prices = np.array([system.cluster.prices.get(t, 0.0) for t in system.cluster.types])
    cost_usd = spans.of_jobs(spans.gpu_s * prices[spans.kind] / HOUR_S, len(system.jobs), split=True)
    slo_s = np.array([np.nan if job.slo_s is None else job.slo_s for job in system.jobs])
    met = np.where(np.isnan(slo_s), np.nan, records.completion_s <= records.admitted_s + slo_s)
    gpu_s = sum(system.cluster.gpus.values()) * records.end_s
    done, lost = records.done[measured].sum(), records.lost[measured].sum()
    admitted = measured & ~np.isnan(records.admitted_s)
    planned, received = shares_of_time(records)
    return TrainingPolicyResult(
        jct_s=jct_of(jct_s[measured]),
        makespan_s=_most(records.completion_s) - float(records.arrival_s[0]),
        utilization=float(records.booked_s.sum() / gpu_s) if gpu_s else np.nan,
        rho=RhoSummary(mean=_mean(rho[measured]), worst=_most(rho[measured])),
        cost_usd=float(cost_usd[measured].sum()),
        slo_hit_rate=_mean(met[admitted]),
        preemptions=float(records.preemptions[measured].sum()),
        moves=float(records.moves[measured].sum()),
        decisions=len(records.decision_s),
        decision_s=_mean(records.decision_s),
        decision_most_s=_most(records.decision_s),
        worst_gap=_most(records.gaps),
        received_error=_mean(np.abs(planned - received).sum(axis=1)[admitted]),
        ideal_jct_s=None if ideal_jct_s is None else _mean(ideal_jct_s[measured]),
        lost_steps_share=float(lost / (done + lost)) if done + lost > 0 else 0.0,
        warnings=records.warnings,
        extensions=extensions,
        jobs=tuple(
            JobOutcome.from_fields(
                job,
                measured=bool(measured[n]),
                jct_s=jct_s[n],
                rho=rho[n],
                met=None if np.isnan(met[n]) else bool(met[n]),
                cost_usd=cost_usd[n],
                preemptions=int(records.preemptions[n]),
                moves=int(records.moves[n]),
            )
            for n, job in enumerate(system.jobs)
        ),
    )


def shares_of_time(records: TrainingRecords) -> tuple[Floats, Floats]:
    """(M, J) planned and received shares of the time that each job was there; NaN before its first answer."""
    there = records.present_s[:, None]
    nothing = np.full_like(records.planned_s, np.nan)
    planned: Floats = np.divide(records.planned_s, there, out=nothing.copy(), where=there > 0)
    received: Floats = np.divide(records.received_s, there, out=nothing, where=there > 0)
    return planned, received


def _mean(values: Floats) -> float:
    present = without_nan(values)
    return float(present.mean()) if len(present) else np.nan


def _most(values: Floats) -> float:
    return float(without_nan(values).max(initial=-np.inf))


MEANS = (
    *("makespan_s", "utilization", "cost_usd", "slo_hit_rate", "preemptions", "moves", "decision_s"),
    *("received_error", "ideal_jct_s", "lost_steps_share"),
)


def pooled_outcome(runs: Sequence[TrainingPolicyResult]) -> TrainingPolicyResult:
    """Return the outcome of a policy; the worst ρ, gap and longest decision are those of all replications."""

    def most(values: Iterable[float | None]) -> float | None:
        return max((value for value in values if value is not None), default=None)

    return pooled(
        runs,
        [run.jct_s for run in runs],
        MEANS,
        rho=RhoSummary(mean=mean_of(run.rho.mean for run in runs), worst=most(run.rho.worst for run in runs)),
        decisions=round(sum(run.decisions for run in runs) / len(runs)),
        decision_most_s=most(run.decision_most_s for run in runs),
        worst_gap=most(run.worst_gap for run in runs),
        warnings=tuple(dict.fromkeys(warning for run in runs for warning in run.warnings)),
    )
