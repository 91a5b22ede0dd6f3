"""Uncertainty of simulated means: paired differences, checks against theory, sentences.

Five figures that know little of one another stand side by side: the prediction (Pollaczek–Khinchine on
mean loads), the simulated mean with its interval, the idle bound (no cluster is faster than its longest
chain of tasks), Little's law on the number of jobs in the system, and the load that is offered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np

from nona.core.document import Estimate, ModelFacts
from nona.core.errors import SimulationError
from nona.core.statistics import PairedDifference
from nona.core.tables import CHANGE, FACTOR, SHARE, TIME, Column, Table, or_dash, share_text
from nona.models.times_report import given_text
from nona.queries.results import (
    Bottleneck,
    Difference,
    Differences,
    MeanConfidence,
    PairedMean,
    Resources,
    SchedulerResult,
    SimulationReport,
    Verdict,
)
from nona.queries.simulation.records import Records
from nona.queries.simulation.summary import MeasuredJobs, hit_rate_difference, jct_difference
from nona.queries.system import System
from nona.scenario.arrivals import effective_rate

Runs = Mapping[str, Sequence[Records]]


def differences(runs: Runs, slo_s: Sequence[float | None], baseline: str) -> dict[str, Difference]:
    """Scheduler → its mean JCT and SLO hit rate minus those of the ``baseline``, at 95 %.

    The verdict is ``overloaded`` where one of the two has no mean. Each interval holds by itself:
    with many schedulers, one in twenty excludes 0 by chance.
    Where a run was cancelled, the replications count that both have.

    Raises ``SimulationError`` when the baseline was not simulated.
    """
    check_baseline(baseline, tuple(runs))
    with_slo = any(s is not None for s in slo_s)
    rows = {}
    for name, every in runs.items():
        if name == baseline:
            continue
        both = min(len(every), len(runs[baseline]))
        records, others = every[:both], runs[baseline][:both]
        jct = jct_difference(records, others)
        hits = hit_rate_difference(records, others, slo_s) if with_slo else None
        mean = MeasuredJobs(others, slo_s).mean_jct().mean
        rows[name] = Difference(
            jct_s=jct.difference.estimate,
            variance_reduction=jct.variance_reduction,
            correlation=jct.correlation,
            relative=jct.difference.mean / mean if mean else None,
            verdict=_verdict(jct),
            slo_hit_rate=None if hits is None else _paired(hits),
            replications=len(records),
        )
    return rows


def check_baseline(baseline: str | None, schedulers: Sequence[str]) -> None:
    """Raise :class:`~nona.core.errors.SimulationError` when the baseline is not among the schedulers."""
    if baseline is not None and baseline not in schedulers:
        raise SimulationError(
            f"Baseline {baseline!r} is not simulated; choose one of {', '.join(schedulers)}, or add it."
        )


def all_differences(runs: Runs, slo_s: Sequence[float | None]) -> Differences:
    """Baseline → :func:`differences` from it, for every scheduler as the baseline."""
    return {baseline: differences(runs, slo_s, baseline) for baseline in runs}


def _paired(paired: PairedDifference) -> PairedMean:
    mean = paired.difference.estimate
    return PairedMean(
        mean=mean.mean,
        ci95=mean.ci95,
        variance_reduction=paired.variance_reduction,
        correlation=paired.correlation,
    )


def _verdict(paired: PairedDifference) -> Verdict:
    if math.isnan(paired.difference.mean):
        return "overloaded"
    if not paired.is_clear:
        return "not told apart"
    return "faster" if paired.difference.mean < 0 else "slower"


def idle_bound_s(system: System) -> float:
    """Mean over the query mix of the longest chain of tasks, each on its fastest executor.

    Formula: Σ_j λ_j · max over paths of Σ min over classes of p(v) / Σ_j λ_j. No scheduler's mean JCT
    is below it, for a chain's tasks run one after the other; with service draws of mean 1 neither, as
    the mean of a maximum is at least the maximum of the means (Jensen).
    """
    rates = np.array([effective_rate(q.arrivals, q.rate) for q in system.queries])
    used = np.unique(system.executor_class)
    chains = [
        q.tasks.dag.critical_path(q.tasks.compute_s[used].min(axis=0).tolist())[0] for q in system.queries
    ]
    return float(rates @ np.array(chains) / rates.sum())


def confidence_rows(
    report: SimulationReport, predicted: Mapping[str, float | None], idle_s: float | None
) -> list[MeanConfidence]:
    """One row per scheduler of a simulation's report."""
    return [_row(name, s, predicted, idle_s) for name, s in report.schedulers.items()]


def _row(
    name: str, s: SchedulerResult, predicted: Mapping[str, float | None], idle_s: float | None
) -> MeanConfidence:
    mean, span, half = s.jct_s.mean, s.jct_s.ci95, s.jct_s.half_width
    predicted_s = predicted.get(name)
    offered = (s.offered.compute, s.offered.network)
    return MeanConfidence.from_fields(
        s,
        scheduler=name,
        reason=s.state_reason,
        prediction="none" if name not in predicted else "overloaded" if predicted_s is None else "formula",
        predicted_s=predicted_s,
        jct_s=Estimate(mean=mean, ci95=span),
        relative_half_width=half / mean if half is not None and mean else None,
        error=predicted_s / mean - 1 if predicted_s is not None and mean else None,
        explained=None if predicted_s is None or span is None else span[0] <= predicted_s <= span[1],
        little_error=s.little_s / mean - 1 if s.little_s is not None and mean else None,
        idle_s=idle_s,
        over_idle=mean / idle_s if mean and idle_s else None,
        load=max((v for v in offered if v is not None), default=None),
        bottleneck=bottleneck(s.offered),
    )


def bottleneck(offered: Resources) -> Bottleneck:
    """Return the resource with the highest offered load.

    >>> bottleneck(Resources(compute=0.4, network=0.9))
    'link'
    """
    compute, network = (v if v is not None else -math.inf for v in (offered.compute, offered.network))
    return "link" if network > compute else "executors"


LEVEL = 0.9  # of the stated error of a modelled time
MEANING = {
    "Predicted": "by formula, where each executor and link is a queue of its own with Poisson arrivals.",
    "Simulated": "the mean over independent runs with Student's 95 % interval, which states the sampling "
    "error alone.",
    "Idle bound": "the longest chain of tasks on the fastest executors when idle; no mean can be lower.",
    "By Little's law": "mean number of jobs in the system divided by the arrival rate; must agree with the "
    "simulated mean.",
    "Load": "offered load of the busier of executors and link. From 100 % on there is no mean.",
}


CONFIDENCE = Table[MeanConfidence](
    "",
    (
        Column("scheduler", lambda r: r.scheduler, decides=True),
        Column("state", lambda r: r.state),
        Column("predicted", lambda r: _prediction(r), TIME, decides=True),
        Column("simulated", lambda r: r.jct_s, TIME, interval=True, decides=True),
        Column("± of mean", lambda r: r.relative_half_width, SHARE),
        Column("predicted / simulated", lambda r: _error(r), decides=True),
        Column(
            "by Little's law", lambda r: None if r.state == "overloaded" else r.little_s, TIME, decides=True
        ),
        Column("idle bound", lambda r: r.idle_s, TIME),
        Column("× idle bound", lambda r: r.over_idle, FACTOR),
        Column("load", lambda r: f"{or_dash(r.load, share_text)} {r.bottleneck}", decides=True),
        Column("why", lambda r: r.reason),
    ),
)


def _prediction(row: MeanConfidence) -> float | str:
    if row.predicted_s is not None:
        return row.predicted_s
    return "no prediction" if row.prediction == "none" else "overloaded"


def _error(row: MeanConfidence) -> str:
    if row.error is None:
        return ""
    return f"{CHANGE.show(row.error)}{', within the interval' if row.explained else ''}"


def provenance_lines(models: Mapping[str, ModelFacts]) -> list[str]:
    """For each model the origin of its times and their uncertainty, by the cost model's stated error."""
    lines = []
    for name, facts in models.items():
        parts = [
            f"{share_text(share)} {kind} ({_stated(facts.sigma.get(kind, 0.0))})"
            for kind, share in sorted(facts.provenance.items(), key=lambda item: -item[1])
        ]
        given = given_text(facts.given, facts.device)
        lines.append(f"{name} on {facts.device}: {', '.join(parts)}{f'; {given}' if given else ''}.")
    return lines


def _stated(sigma: float) -> str:
    if sigma == 0:
        return "taken as stated"
    factor = math.exp(NormalDist().inv_cdf((1 + LEVEL) / 2) * sigma)
    return f"with {share_text(LEVEL)} between {1 / factor:.2f} and {factor:.2f} times"
