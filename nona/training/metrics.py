"""Measures of a run, and of a policy over its replications.

Job figures are over the measured training jobs; a job that is not complete when the run stops has no
completion time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.allocation.problem import Floats
from nona.simulation.intervals import Interval, mean_interval, percentile
from nona.training.records import TrainingRecords, spans_of
from nona.training.system import TrainingSystem

HOUR_S = 3600.0
PERCENTILES = (50, 95, 99)
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Measures:
    """Figures of one run, NaN where there is none.

    Attributes
    ----------
    measured
        (M,) which jobs count: training jobs within the window.
    jct_s, rho, cost_usd
        (M,) of every job: completion − arrival; JCT over the time on an equal share; US dollars of the GPU
        time that it had (two jobs that share pay half each).
    slo_s, met
        (M,) seconds that it has from its admission (NaN: no deadline); whether it was complete by then.
    makespan_s
        From the first arrival to the end of the last job.
    utilization
        GPU-seconds given / (GPUs · end).
    total_cost_usd
        Of the measured jobs.
    received_error
        Mean over jobs of Σ_j |received − X·time| / time there.
    lost_share
        Steps undone over steps done in all.
    """

    measured: Mask
    jct_s: Floats
    rho: Floats
    cost_usd: Floats
    slo_s: Floats
    met: Floats
    makespan_s: float
    utilization: float
    total_cost_usd: float
    slo_hit_rate: float
    preemptions: float
    moves: float
    decisions: int
    decision_s: float
    decision_most_s: float
    worst_gap: float
    received_error: float
    lost_share: float

    @property
    def jcts_s(self) -> Floats:
        """JCTs of the measured jobs that are complete."""
        jct_s: Floats = self.jct_s[self.measured]
        return jct_s[~np.isnan(jct_s)]

    @property
    def mean_jct_s(self) -> float:
        """Their mean."""
        return _mean(self.jct_s[self.measured])

    @property
    def percentiles_s(self) -> dict[int, float]:
        """Their percentiles."""
        return {p: percentile(self.jcts_s, p) for p in PERCENTILES}


def _measured_jobs(system: TrainingSystem) -> Mask:
    """(M,) training jobs within the window."""
    first, last = system.window
    number = np.arange(len(system.jobs))
    training = np.array([job.kind == "training" for job in system.jobs])
    measured: Mask = (number >= first) & (number <= last) & training
    return measured


def measure(system: TrainingSystem, records: TrainingRecords) -> Measures:
    """The figures of one run."""
    measured = _measured_jobs(system)
    jct_s = records.jct_s
    rho = np.divide(jct_s, records.isolated_s, out=np.full(len(jct_s), np.nan), where=records.isolated_s > 0)
    cost = _cost_usd(system, records)
    slo_s = np.array([np.nan if job.slo_s is None else job.slo_s for job in system.jobs])
    met = np.where(np.isnan(slo_s), np.nan, records.completion_s <= records.admitted_s + slo_s)
    gpus = sum(system.cluster.gpus.values())
    done, lost = records.done[measured].sum(), records.lost[measured].sum()
    own = measured & ~np.isnan(records.admitted_s)
    return Measures(
        measured=measured,
        jct_s=jct_s,
        rho=rho,
        cost_usd=cost,
        slo_s=slo_s,
        met=met,
        makespan_s=_most(records.completion_s) - float(records.arrival_s[0]),
        utilization=float(records.booked_s.sum() / (gpus * records.end_s)) if records.end_s else np.nan,
        total_cost_usd=float(cost[measured].sum()),
        slo_hit_rate=_mean(met[own]),
        preemptions=float(records.preemptions[measured].sum()),
        moves=float(records.moves[measured].sum()),
        decisions=len(records.decision_s),
        decision_s=_mean(records.decision_s),
        decision_most_s=_most(records.decision_s),
        worst_gap=_most(records.gaps),
        received_error=_mean(_received_errors(records)[own]),
        lost_share=float(lost / (done + lost)) if done + lost > 0 else 0.0,
    )


def shares_of_time(records: TrainingRecords) -> tuple[Floats, Floats]:
    """(M, J) planned and received shares of the time that each job was there; NaN before its first answer."""
    there = records.present_s[:, None]
    nothing = np.full_like(records.planned_s, np.nan)
    planned: Floats = np.divide(records.planned_s, there, out=nothing.copy(), where=there > 0)
    received: Floats = np.divide(records.received_s, there, out=nothing, where=there > 0)
    return planned, received


def _received_errors(records: TrainingRecords) -> Floats:
    """(M,) Σ_j |received − planned| as shares of the time that a job was there."""
    planned, received = shares_of_time(records)
    errors: Floats = np.abs(planned - received).sum(axis=1)
    return errors


def _cost_usd(system: TrainingSystem, records: TrainingRecords) -> Floats:
    spans = spans_of(records)
    prices = np.array([system.cluster.prices.get(t, 0.0) for t in system.cluster.types])
    return spans.of_jobs(spans.gpu_s * prices[spans.kind] / HOUR_S, len(system.jobs), split=True)


def _mean(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else float("nan")


def _most(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.max()) if len(present) else float("nan")


@dataclass(frozen=True, eq=False, slots=True)
class TrainingSummary:
    """Means over replications; ``runs`` has the figures of each. ``rho_worst`` is the worst of all."""

    policy: str
    runs: tuple[Measures, ...]
    jct_s: Interval
    percentiles_s: dict[int, float]
    rho_worst: float
    warnings: tuple[str, ...]

    def mean(self, of: Callable[[Measures], float]) -> float:
        """The mean of a figure over the replications that have it; NaN: none has."""
        values = [value for run in self.runs if not np.isnan(value := of(run))]
        return float(np.mean(values)) if values else float("nan")

    def most(self, of: Callable[[Measures], float]) -> float:
        """The largest of a figure over the replications that have it; NaN: none has."""
        return max((value for run in self.runs if not np.isnan(value := of(run))), default=float("nan"))


def summarise(policy: str, runs: Sequence[Measures], warnings: Iterable[str] = ()) -> TrainingSummary:
    """The summary of a policy's replications, of which there is at least one."""
    rho = np.concatenate([run.rho[run.measured] for run in runs])
    return TrainingSummary(
        policy=policy,
        runs=tuple(runs),
        jct_s=mean_interval([run.mean_jct_s for run in runs]),
        percentiles_s={p: mean_interval([run.percentiles_s[p] for run in runs]).mean for p in PERCENTILES},
        rho_worst=float(np.nanmax(rho)) if not np.isnan(rho).all() else float("nan"),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def mean_rho(run: Measures) -> float:
    """Mean ρ of the measured jobs of a run."""
    rho = run.rho[run.measured]
    rho = rho[~np.isnan(rho)]
    return float(rho.mean()) if len(rho) else float("nan")
