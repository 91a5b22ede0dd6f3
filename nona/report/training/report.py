"""The report on a training cluster, its first run round by round, and counted jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from nona.report.means import bounds
from nona.results.training import (
    CountedJobOutcome,
    CountedOutcome,
    CountedReport,
    CountedSetting,
    ExtensionFindings,
    JctSummary,
    JobOutcome,
    PolicyOutcome,
    PolicyTrace,
    PriorityRow,
    Received,
    RhoSummary,
    Round,
    Stay,
    TrainingReport,
    TrainingSetting,
)
from nona.simulation.intervals import percentile
from nona.simulation.records import Check
from nona.training.counting.engine import SCHEDULES
from nona.training.counting.jobs import CountedRecords, Published, counted_checks
from nona.training.metrics import Measures, TrainingSummary, mean_rho, shares_of_time
from nona.training.records import Placed, TrainingRecords, Weighed
from nona.training.system import TrainingSystem


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
    passed: dict[str, bool] = {}
    failed = []
    for policy, rows in checks.items():
        for check in rows:
            passed[check.name] = passed.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{policy}: {check.name}: {check.detail}")
    return TrainingReport(
        policies={
            name: _policy_outcome(system, s, records[name], ideal.get(name), findings.get(name))
            for name, s in summaries.items()
        },
        checks=passed,
        failed_checks=tuple(dict.fromkeys(failed)),
        seconds=seconds,
        setting=setting,
    )


def _policy_outcome(
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


MOST_STAYS = 20_000
MOST_ROUNDS = 20_000


def policy_trace(system: TrainingSystem, records: TrainingRecords) -> PolicyTrace:
    """The first replication of a policy; of very long runs the first stays and rounds."""
    return PolicyTrace(
        stays=_stays(records),
        rounds=_rounds(system, records),
        received=_received(records),
    )


def _stays(records: TrainingRecords) -> tuple[Stay, ...]:
    """Rounds that follow one another on the same GPUs are one stay."""
    types, starts = records.types, records.round_start_s.tolist()
    open_at: dict[tuple[tuple[int, ...], int, tuple[int, ...], float], int] = {}
    jobs: list[tuple[int, ...]] = [(h.job,) for h in records.held]
    kinds, gpus = [h.kind for h in records.held], [h.gpus for h in records.held]
    begins, ends = [h.start_s for h in records.held], [h.end_s for h in records.held]
    for p in records.placed:
        start_s = starts[p.round]
        place = open_at.pop((p.jobs, p.kind, p.gpus, start_s), None)
        if place is None:
            if len(jobs) >= MOST_STAYS:
                break
            place = len(jobs)
            jobs.append(p.jobs)
            kinds.append(p.kind)
            gpus.append(p.gpus)
            begins.append(start_s)
            ends.append(p.end_s)
        ends[place] = p.end_s
        open_at[p.jobs, p.kind, p.gpus, p.end_s] = place
    return tuple(
        Stay.model_construct(jobs=j, gpu=types[k], gpus=g, start_s=s, end_s=e)
        for j, k, g, s, e in zip(jobs, kinds, gpus, begins, ends, strict=True)
    )


def _rounds(system: TrainingSystem, records: TrainingRecords) -> tuple[Round, ...]:
    weighed = {w.round: w for w in records.weighed}
    placed: dict[int, list[Placed]] = {}
    for p in records.placed:
        if p.round in weighed:
            placed.setdefault(p.round, []).append(p)
    count = min(MOST_ROUNDS, len(records.round_start_s))
    columns = (records.round_start_s, records.round_end_s, records.running, records.waiting)
    rows = zip(*(column[:count].tolist() for column in columns), strict=True)
    return tuple(
        Round(
            number=k,
            start_s=start_s,
            end_s=end_s,
            running=running,
            waiting=waiting,
            priorities=_priorities(system, records.types, weighed[k], placed.get(k, ()))
            if k in weighed
            else (),
        )
        for k, (start_s, end_s, running, waiting) in enumerate(rows)
    )


def _priorities(
    system: TrainingSystem, types: Sequence[str], of: Weighed, placed: Sequence[Placed]
) -> tuple[PriorityRow, ...]:
    """Every row of the round on every type, highest priority first."""
    where = {job: p.kind for p in placed for job in p.jobs}
    order = np.argsort(-of.priorities, axis=None, kind="stable").tolist()
    rows = []
    for place in order:
        row, kind = divmod(place, len(types))
        jobs = of.rows[row]
        ran = (row, kind) in of.ran
        rows.append(
            PriorityRow(
                jobs=jobs,
                gpu=types[kind],
                share=of.shares[row, kind],
                received_s=of.received[row, kind],
                type_s=of.type_s[kind],
                priority=of.priorities[row, kind],
                deficit_s=of.deficits[row, kind],
                ran=ran,
                why=_why(system, types, of, row, kind, where),
            )
        )
    return tuple(rows)


def _why(
    system: TrainingSystem, types: Sequence[str], of: Weighed, row: int, kind: int, where: dict[int, int]
) -> str:
    """Explain the decision about a row on a type."""
    jobs, share = of.rows[row], of.shares[row, kind]
    if (row, kind) in of.ran:
        return "ran: its turn by priority" if share > 0 else "ran: GPUs were left, though it has no share"
    if not any(
        system.throughputs.rate(types[kind], system.jobs[j].model, system.jobs[j].workers) for j in jobs
    ):
        return "cannot run on this type"
    busy = [j for j in jobs if j in where]
    if busy:
        there = types[where[busy[0]]]
        name = system.jobs[busy[0]].name
        return f"job {name} ran on {there}" if there != types[kind] else f"job {name} ran in another row"
    if share <= 0:
        return "no share of this type"
    workers = system.jobs[jobs[0]].workers
    left = f"fewer than {workers} GPUs were left" if workers > 1 else "no GPU was left"
    return f"waited: {left} when its turn came"


def _received(records: TrainingRecords) -> tuple[Received, ...]:
    """Jobs that were there for some time after an answer."""
    planned, received = shares_of_time(records)
    answered = np.flatnonzero(~np.isnan(planned).any(axis=1))
    return tuple(
        Received(
            job=int(i),
            planned=dict(zip(records.types, planned[i].tolist(), strict=True)),
            received=dict(zip(records.types, received[i].tolist(), strict=True)),
        )
        for i in answered
    )


def counted_report(
    runs: Mapping[str, CountedRecords],
    known: Mapping[str, Published | None],
    setting: CountedSetting,
    seconds: float,
) -> CountedReport:
    """Build the report on the schedules; ``known``: by schedule, the results of the authors' program."""
    passed: dict[str, bool] = {}
    failed: list[str] = []
    for name, records in runs.items():
        for check in counted_checks(records):
            passed[check.name] = passed.get(check.name, True) and check.ok
            if not check.ok:
                failed.append(f"{name}: {check.name}: {check.detail}")
    return CountedReport(
        schedules={name: _outcome(records, known.get(name)) for name, records in runs.items()},
        checks=passed,
        failed_checks=tuple(failed),
        seconds=seconds,
        setting=setting,
    )


def _outcome(records: CountedRecords, known: Published | None) -> CountedOutcome:
    jcts = records.jct_s.astype(np.float64)
    return CountedOutcome(
        title=SCHEDULES[records.schedule].title,
        jct_s=JctSummary(
            mean=float(jcts.mean()),
            ci95=None,
            p50=percentile(jcts, 50),
            p95=percentile(jcts, 95),
            p99=percentile(jcts, 99),
        ),
        published_jct_s=None if known is None else known.mean_jct_s,
        published_makespan_s=None if known is None else known.makespan_s,
        makespan_s=float(records.makespan_s),
        utilization=records.utilization,
        preemptions=float(records.preemptions.mean()),
        jobs=tuple(
            CountedJobOutcome(
                name=job.name,
                arrival_s=job.arrival_s,
                gpus=job.gpus,
                duration_s=job.duration_s,
                jct_s=int(records.jct_s[n]),
                waited_s=int(records.jct_s[n]) - job.duration_s,
                preemptions=int(records.preemptions[n]),
            )
            for n, job in enumerate(records.jobs)
        ),
    )
