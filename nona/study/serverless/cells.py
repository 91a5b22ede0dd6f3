"""One policy in one setting: the numbers of a run that claims, rankings and tables need."""

from __future__ import annotations

from collections.abc import Sequence

from nona.report.serverless.report import policy_outcome
from nona.results.serverless.study import Cell, CutoffPoint, SharedOutcome
from nona.study.serverless.tasks import Done


def cell(done: Done, slo_s: Sequence[float]) -> Cell:
    """The numbers of a task, with the SLOs of the applications."""
    summary = done.summary
    applications = list(zip(summary.applications, slo_s, strict=True))
    means = [(a.latency_s.mean.mean / s, a.calls) for a, s in applications]
    missed = summary.configuration_miss_rate
    return Cell(
        hits=tuple(r.all.hit_rate for r in done.runs),
        costs=tuple(r.all.cost_per_call for r in done.runs),
        miss=None if missed is None else missed.mean,
        search_s=summary.search_s.mean.mean,
        fill=tuple(a.latency_s.percentiles[50] / s for a, s in applications),
        mean_fill=sum(m * n for m, n in means) / sum(n for _, n in means),
        state=summary.state,
    )


def cutoff_point(cutoff_s: float, done: Done) -> CutoffPoint:
    """The task as a point of the study of cut-offs."""
    found = policy_outcome(done.summary)
    return CutoffPoint(
        cutoff_s=cutoff_s,
        slo_hit_rate=found.slo_hit_rate,
        cost_per_call_usd=found.cost_per_call_usd,
        search_s=found.search_s,
        steps_mean=found.steps_mean,
        state=found.state,
    )


def shared_outcome(done: Done) -> SharedOutcome:
    """The task as a row of the study of sharing."""
    found = policy_outcome(done.summary)
    return SharedOutcome(
        slo_hit_rate=found.slo_hit_rate,
        cost_per_call_usd=found.cost_per_call_usd,
        utilization=found.utilization,
        stranded_vgpus=found.stranded_vgpus,
        state=found.state,
    )
