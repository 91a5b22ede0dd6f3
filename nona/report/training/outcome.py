"""Round by round what one policy did: stays on GPUs, priorities, what was planned and received."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.results.training.outcome import PolicyTrace, PriorityRow, Received, Round, Stay
from nona.training.model.system import TrainingSystem
from nona.training.records.metrics import shares_of_time
from nona.training.records.run import Placed, TrainingRecords, Weighed

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
    found = []
    for place in order:
        row, kind = divmod(place, len(types))
        jobs = of.rows[row]
        ran = (row, kind) in of.ran
        found.append(
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
    return tuple(found)


def _why(
    system: TrainingSystem, types: Sequence[str], of: Weighed, row: int, kind: int, where: dict[int, int]
) -> str:
    """What decided about a row on a type, in words."""
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
    known = np.flatnonzero(~np.isnan(planned).any(axis=1))
    return tuple(
        Received(
            job=int(i),
            planned=dict(zip(records.types, planned[i].tolist(), strict=True)),
            received=dict(zip(records.types, received[i].tolist(), strict=True)),
        )
        for i in known
    )
