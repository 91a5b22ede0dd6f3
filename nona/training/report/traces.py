"""The first run under each policy: rounds with priorities, or moves of elastic jobs; Perfetto traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.chrome_trace import (
    ChromeTrace,
    Clock,
    TraceEvent,
    TraceJobs,
    process_names,
    thread_name,
    trace_of,
)
from nona.core.document import About
from nona.training.elastic.records import ElasticRecords, TickRows, efficiency_of
from nona.training.elastic.registry import ELASTIC
from nona.training.elastic.replications import ElasticRun
from nona.training.elastic.results import (
    ElasticCourse,
    ElasticHistory,
    ElasticMove,
    ElasticReport,
    ElasticTrace,
)
from nona.training.elastic.system import ElasticSystem
from nona.training.metrics import shares_of_time
from nona.training.records import PlacedJobs, PriorityRecord, TrainingRecords
from nona.training.report.findings import job_label
from nona.training.results import (
    GpuInterval,
    PolicyTrace,
    PriorityRow,
    RoundFacts,
    TimeShares,
    TrainingOutcome,
)
from nona.training.system import TrainingSystem

MOST_STAYS = 20_000
MOST_ROUNDS = 20_000


def policy_trace(system: TrainingSystem, records: TrainingRecords) -> PolicyTrace:
    """Return the first replication of a policy; of very long runs the first stays and rounds."""
    return PolicyTrace(
        stays=_gpu_intervals(records),
        rounds=_round_facts(system, records),
        received=_received(records),
    )


def _gpu_intervals(records: TrainingRecords) -> tuple[GpuInterval, ...]:
    """Return who held which GPUs when: leases, then placed rows, joined where a row kept its GPUs."""
    types, starts = records.types, records.round_start_s.tolist()
    open_at: dict[tuple[tuple[int, ...], int, tuple[int, ...], float], int] = {}
    jobs: list[tuple[int, ...]] = [(h.job,) for h in records.leases]
    kinds, gpus = [h.kind for h in records.leases], [h.gpus for h in records.leases]
    begins, ends = [h.start_s for h in records.leases], [h.end_s for h in records.leases]
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
        GpuInterval.model_construct(jobs=j, gpu=types[k], gpus=g, start_s=s, end_s=e)
        for j, k, g, s, e in zip(jobs, kinds, gpus, begins, ends, strict=True)
    )


def _round_facts(system: TrainingSystem, records: TrainingRecords) -> tuple[RoundFacts, ...]:
    """Return the first rounds: times, jobs that ran and waited, priorities where they were recorded."""
    weighed = {w.round: w for w in records.weighed}
    placed: dict[int, list[PlacedJobs]] = {}
    for p in records.placed:
        if p.round in weighed:
            placed.setdefault(p.round, []).append(p)
    count = min(MOST_ROUNDS, len(records.round_start_s))
    columns = (records.round_start_s, records.round_end_s, records.running, records.waiting)
    rows = zip(*(column[:count].tolist() for column in columns), strict=True)
    return tuple(
        RoundFacts(
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
    system: TrainingSystem, types: Sequence[str], of: PriorityRecord, placed: Sequence[PlacedJobs]
) -> tuple[PriorityRow, ...]:
    """Return every row and type of a round by falling priority, each with the reason why it ran or waited."""
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
                why=_reason(system, types, of, row, kind, where),
            )
        )
    return tuple(rows)


def _reason(
    system: TrainingSystem,
    types: Sequence[str],
    of: PriorityRecord,
    row: int,
    kind: int,
    where: dict[int, int],
) -> str:
    """Return why a row ran on a type in a round, or did not."""
    jobs, share = of.rows[row], of.shares[row, kind]
    if (row, kind) in of.ran:
        return "ran: its turn by priority" if share > 0 else "ran: GPUs were free, though it has no share"
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


def _received(records: TrainingRecords) -> tuple[TimeShares, ...]:
    planned, received = shares_of_time(records)
    answered = np.flatnonzero(~np.isnan(planned).any(axis=1))
    return tuple(
        TimeShares(
            job=int(i),
            planned=dict(zip(records.types, planned[i].tolist(), strict=True)),
            received=dict(zip(records.types, received[i].tolist(), strict=True)),
        )
        for i in answered
    )


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
    """Return the moves, the cluster over time, and jobs over time.

    Work: Σ over jobs of progress / progress at completion; goodput of the cluster: work per hour. Of a long
    run only every k-th tick is kept, with the means of those between.
    """
    points, tick = records.points, float(system.tick_s)
    gained = _progress_per_tick(system, points)
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
        courses=tuple(_elastic_courses(system, points, gained)),
    )


def _used(records: ElasticRecords) -> Ints:
    gpus = dict.fromkeys(range(len(records.arrival_s)), 0)
    delta = np.zeros(len(records.tick_s), np.int64)
    for change in records.changes:
        now = sum(share.gpus for share in change.given)
        delta[int(np.searchsorted(records.tick_s, change.time_s - 1e-9))] += now - gpus[change.job]
        gpus[change.job] = now
    used: Ints = np.cumsum(delta)
    return used


def _progress_per_tick(system: ElasticSystem, points: TickRows) -> Floats:
    """(P,) progress of each tick, in iterations at the smallest batch size."""
    done = np.empty(len(points.job))
    for n, job in enumerate(system.jobs):
        of = points.job == n
        ends = np.array([0.0, *job.application.ends])
        done[of] = np.interp(points.progress[of], np.arange(len(ends)), ends)
        done[of] = np.diff(done[of], prepend=0.0)
    return done


def _elastic_courses(system: ElasticSystem, points: TickRows, gained: Floats) -> list[ElasticCourse]:
    """Return the course of each job over its ticks, for as many jobs as ``MOST_POINTS`` allows."""
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
                    _short(efficiency_of(job, b, e)) for b, e in zip(batches, epochs, strict=True)
                ),
                goodput=tuple(_short(v) for v in rate),
            )
        )
    return courses


def _means(values: Floats, every: int) -> Floats:
    starts = np.arange(0, len(values), every)
    means: Floats = np.add.reduceat(values, starts) / np.diff([*starts, len(values)])
    return means


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


MOST_EVENTS = 100_000
CLOCK = Clock(0.0)


def stays_trace(outcome: TrainingOutcome) -> ChromeTrace:
    """Return the stays of the first replication of every policy.

    Beyond ``MOST_EVENTS`` the latest are left out.
    """
    events: list[TraceEvent] = []
    jobs: dict[str, TraceJobs] = {}
    for place, (policy, trace) in enumerate(outcome.traces.items()):
        room = MOST_EVENTS // max(1, len(outcome.traces))
        slices: list[TraceEvent] = []
        shown: set[int] = set()
        for number, gpu in enumerate(sorted(outcome.types)):
            process = _process(outcome, place, number)
            events += process_names(process, f"{policy}: {gpu}")
            events += [thread_name((process, k + 1), f"{gpu} {k}") for k in range(outcome.types[gpu])]
        for stay in sorted(trace.stays, key=lambda s: (s.start_s, s.gpu, s.gpus)):
            if len(slices) + len(stay.gpus) > room:
                break
            process = _process(outcome, place, sorted(outcome.types).index(stay.gpu))
            shown.update(stay.jobs)
            name = " + ".join(job_label(outcome.job_names[j]) for j in stay.jobs)
            slices += [
                CLOCK.slice(name, "stay", (process, gpu + 1), stay.start_s, stay.end_s) for gpu in stay.gpus
            ]
        events += slices
        jobs[policy] = TraceJobs(shown=len(shown), recorded=len({j for s in trace.stays for j in s.jobs}))
    note = "First replication of each policy; consecutive rounds on the same GPUs are one slice."
    return trace_of(events, jobs, outcome.report.setting.name, MOST_EVENTS, note)


def _process(outcome: TrainingOutcome, policy: int, gpu: int) -> int:
    return 1 + policy * len(outcome.types) + gpu
