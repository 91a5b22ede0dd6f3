"""The report on a simulation for JSON, a row per job, and the whole result of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from nona.results.document import UNKNOWN, Figure, OffRange
from nona.results.simulation import (
    ComparedReport,
    Difference,
    Jct,
    JobCounts,
    ModelResult,
    Parts,
    Percentile,
    PilotCut,
    PrecisionReport,
    ReplicationMeans,
    Resources,
    SchedulerResult,
    SimulationReport,
    WarmupReport,
)
from nona.results.simulation_charts import LiveRun, SimulationOutcome
from nona.scenario.schema import Scenario
from nona.simulation.collected import PARTS
from nona.simulation.records import Records
from nona.simulation.steady_state import Warmup
from nona.simulation.summary import JctSummary, ModelSummary, Precision, SchedulerSummary

if TYPE_CHECKING:
    import pandas as pd


MOST_LINKS = 8


def simulation_report(
    summaries: Mapping[str, SchedulerSummary],
    seconds: float,
    warmup: Warmup | None = None,
    precision: Precision | None = None,
) -> SimulationReport:
    """All schedulers of one simulation; intervals at 95 %.

    Of the links, where there are several, the busiest are reported. ``warmup`` and ``precision`` say how
    long the runs were and why, where that is known.
    """
    engines = sorted({s.engine for s in summaries.values()})
    checks: dict[str, bool] = {}
    failures = []
    for summary in summaries.values():
        for check in summary.checks:
            checks[check.name] = checks.get(check.name, True) and check.ok
            if not check.ok:
                failures.append(f"{summary.scheduler}: {check.name}: {check.detail}")
    return SimulationReport(
        engine=", ".join(engines),
        seconds=seconds,
        schedulers={name: _scheduler(s) for name, s in summaries.items()},
        checks=checks,
        failed_checks=tuple(failures),
        warmup=_warmup(warmup) if warmup else None,
        precision=_precision(precision) if precision else None,
    )


def compared(
    report: SimulationReport,
    baseline: str | None,
    differences: Mapping[str, Difference],
    off: Mapping[str, OffRange],
    advice: Sequence[str],
) -> ComparedReport:
    """The report with every scheduler's difference from a baseline, where there is one, and what follows."""
    return ComparedReport(
        **dict(report), baseline=baseline, differences=differences, off=off, advice=tuple(advice)
    )


def python_decisions(report: SimulationReport) -> list[str]:
    """Schedulers that slow the compiled engine down: their decisions could not be compiled."""
    if report.engine != "compiled":
        return []
    return [name for name, s in report.schedulers.items() if s.decisions == "python"]


def job_table(records: Iterable[Records], names: Sequence[str]) -> pd.DataFrame:
    """One row per recorded job: scheduler, replication, model, arrival, completion, JCT (seconds)."""
    import pandas as pd

    frames = [
        pd.DataFrame(
            {
                "scheduler": r.scheduler,
                "replication": r.replication,
                "model": [names[q] for q in r.query.tolist()],
                "arrival_s": r.arrival_s,
                "completion_s": r.completion_s,
                "jct_s": r.completion_s - r.arrival_s,
            }
        )
        for r in records
    ]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _scheduler(summary: SchedulerSummary) -> SchedulerResult:
    return SchedulerResult(
        jct_s=_jct(summary.jct),
        parts_s=_parts(summary.jct),
        models={m.name: _model(m) for m in summary.models},
        slo_hit_rate=UNKNOWN if summary.hit_rate is None else summary.hit_rate.rate,
        jobs=JobCounts(arrived=summary.arrived, completed=summary.completed, in_flight=summary.in_flight),
        utilization=Resources(compute=summary.utilization_compute, network=summary.utilization_network),
        offered=Resources(compute=summary.offered[0], network=summary.offered[1]),
        little_s=summary.little_s,
        links=dict(summary.links[:MOST_LINKS]),
        state=summary.state,
        state_reason=summary.state_reason,
        replications=summary.replications,
        decisions=summary.decisions,
    )


def _model(m: ModelSummary) -> ModelResult:
    return ModelResult(
        jct_s=m.jct.mean.mean,
        jct_ci95=m.jct.mean.ends,
        parts_s=_parts(m.jct),
        jct_p50_s=m.jct.p50.interval.mean,
        jct_p95_s=m.jct.p95.interval.mean,
        jct_p99_s=m.jct.p99.interval.mean,
        percentiles=_percentiles(m.jct),
        slo_s=m.slo_s,
        slo_hit_rate=m.hit_rate.mean if m.hit_rate else None,
    )


def _jct(jct: JctSummary) -> Jct:
    return Jct(
        mean=jct.mean.mean,
        ci95=jct.mean.ends,
        p50=jct.p50.interval.mean,
        p95=jct.p95.interval.mean,
        p99=jct.p99.interval.mean,
        percentiles=_percentiles(jct),
        p99_reliable=not (jct.p99.withheld or jct.p99.interval_withheld),
        jobs=jct.jobs,
    )


def _parts(jct: JctSummary) -> Parts:
    return Parts(**dict(zip(PARTS, jct.parts_s, strict=True)))


def _percentiles(jct: JctSummary) -> dict[str, Percentile]:
    return {
        f"p{p.percent:g}": Percentile(
            value_s=p.interval.mean,
            ci95=p.interval.ends,
            withheld=p.withheld or None,
            interval_withheld=p.interval_withheld or None,
        )
        for p in jct.percentiles
    }


def _warmup(warmup: Warmup) -> WarmupReport:
    return WarmupReport(
        rule=warmup.rule,
        jobs=warmup.jobs,
        schedulers={n: PilotCut(jobs=c.jobs, too_short=c.too_short) for n, c in warmup.cuts.items()},
        too_short=warmup.too_short,
    )


def _precision(precision: Precision) -> PrecisionReport:
    return PrecisionReport(
        target=precision.target,
        bound=precision.bound,
        replications=precision.replications,
        reached=not precision.not_reached,
        relative_half_width=precision.relative,
        not_reached=precision.not_reached,
        overloaded=precision.overloaded,
    )


class SimulatedRun(SimulationOutcome):
    """A simulation's outcome, the last figures of its live charts, and what a later run is compared by.

    ``means`` is scheduler → each measure in every replication; ``idle_s`` the bound below which no mean
    JCT lies (seconds). ``ended_early_s``: seconds after which the run was cancelled, with what had ended.
    """

    live: LiveRun
    means: Mapping[str, ReplicationMeans]
    idle_s: Figure
    scenario: Scenario
    ended_early_s: Figure = None
