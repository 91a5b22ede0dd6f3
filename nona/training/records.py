"""Records of a run of one policy: places of jobs, collected and checked.

The records state who was on which GPUs from when to when. The busy time, steps and jobs in the system that
the engine added up as it went must agree with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.allocation.problem import Allocation
from nona.core.arrays import Floats, Ints
from nona.core.checks import Check
from nona.training.mechanism import AssignedRow, Ledger
from nona.training.state import JobArrays
from nona.training.system import TrainingSystem


@dataclass(frozen=True, slots=True)
class PlacedJobs:
    """Jobs (two where they share) on GPUs of a type, in round ``round``, from its start to ``end_s``."""

    round: int
    jobs: tuple[int, ...]
    kind: int
    gpus: tuple[int, ...]
    end_s: float


@dataclass(frozen=True, slots=True)
class Lease:
    """An interactive or inference job on its GPUs of a type."""

    job: int
    kind: int
    gpus: tuple[int, ...]
    start_s: float
    end_s: float


@dataclass(frozen=True, eq=False)
class PriorityRecord:
    """The ledger of a round whose priorities are kept: rows, X, τ, W, π, δ, and which (row, type) ran."""

    round: int
    rows: tuple[tuple[int, ...], ...]
    shares: Floats
    received: Floats
    type_s: Floats
    priorities: Floats
    deficits: Floats
    ran: frozenset[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class TrainingRecords:
    """A run. Jobs by number (M), types by place (J), rounds in order; times in seconds.

    ``arrival_s``, ``admitted_s``, ``completion_s``: (M,) when a job came, the start of its first round, its
        end; NaN: not complete.
    ``total_steps``, ``done``, ``lost``: (M,) steps in all, steps done, steps that failures or moves undid.
    ``isolated_s``: (M,) seconds that the steps done would have taken on an equal share of the cluster.
    ``busy_s``: (M, J) seconds that a job was on GPUs of a type, not times its workers.
    ``booked_s``: (J,) GPU-seconds of each type; a pair counts once.
    ``planned_s``, ``received_s``, ``present_s``: (M, J) Σ X · time, (M, J) seconds on GPUs, and (M,) seconds
        that a job was there, all since its first allocation.
    ``preemptions``, ``moves``: (M,) rounds in which it paused, or changed its GPUs.
    ``round_start_s``, ``round_end_s``, ``running``, ``waiting``: (K,) of each round.
    ``placed``, ``held``: who ran where; jobs that hold their GPUs.
    ``weighed``: priorities of the first rounds, where they were asked for.
    ``decision_s``, ``gaps``: of each answer of the policy: seconds, and its gap to the dual's bound (NaN:
        none).
    ``end_s``: when the last round ended.
    """

    policy: str
    types: tuple[str, ...]
    arrival_s: Floats
    admitted_s: Floats
    completion_s: Floats
    total_steps: Floats
    done: Floats
    lost: Floats
    isolated_s: Floats
    busy_s: Floats
    booked_s: Floats
    planned_s: Floats
    received_s: Floats
    present_s: Floats
    preemptions: Ints
    moves: Ints
    round_start_s: Floats
    round_end_s: Floats
    running: Ints
    waiting: Ints
    placed: tuple[PlacedJobs, ...]
    leases: tuple[Lease, ...]
    weighed: tuple[PriorityRecord, ...]
    decision_s: Floats
    gaps: Floats
    warnings: tuple[str, ...]
    end_s: float

    @property
    def jct_s(self) -> Floats:
        """(M,) completion − arrival; NaN where a job is not complete."""
        jct_s: Floats = self.completion_s - self.arrival_s
        return jct_s

    @property
    def complete(self) -> bool:
        """Return whether every job was completed."""
        return not bool(np.isnan(self.completion_s).any())


@dataclass(frozen=True, eq=False, slots=True)
class Spans:
    """n stays of jobs on GPUs: one per row and round, and one per type of each job that holds its GPUs.

    ``first``, ``second``: numbers of the jobs (−1: alone); ``kind``: place of the type; ``gpus``: the numbers
    within the type of all GPUs, those of span s from ``at[s]`` to ``at[s + 1]``; ``placed``: whether it is
    of a round.
    """

    first: Ints
    second: Ints
    kind: Ints
    start_s: Floats
    end_s: Floats
    start_index: Ints
    gpus: Ints
    placed: int

    @property
    def gpu_s(self) -> Floats:
        """(n,) GPU-seconds of each span; a pair counts once."""
        gpu_s: Floats = np.diff(self.start_index) * (self.end_s - self.start_s)
        return gpu_s

    def of_jobs(self, values: Floats, jobs: int, *, split: bool) -> Floats:
        """(jobs,) Σ of ``values`` over each job's spans; with ``split`` two that share have half each."""
        part = np.where(self.second >= 0, 0.5, 1.0) if split else np.ones(len(values))
        sums: Floats = np.bincount(self.first, part * values, jobs).astype(float)
        both = self.second >= 0
        return sums + np.bincount(self.second[both], (part * values)[both], jobs)


def spans_of(records: TrainingRecords) -> Spans:
    """Return the spans of a run: those of rounds in order, then those of jobs that hold their GPUs."""
    placed, stays = records.placed, records.leases
    rounds = np.array([p.round for p in placed], np.int64)
    places = [p.gpus for p in placed] + [h.gpus for h in stays]
    counts = list(map(len, places))
    total = sum(counts)
    return Spans(
        first=np.array([p.jobs[0] for p in placed] + [h.job for h in stays], np.int64),
        second=np.array(
            [p.jobs[-1] if len(p.jobs) > 1 else -1 for p in placed] + [-1] * len(stays), np.int64
        ),
        kind=np.array([p.kind for p in placed] + [h.kind for h in stays], np.int64),
        start_s=np.concatenate([records.round_start_s[rounds], np.array([h.start_s for h in stays], float)]),
        end_s=np.array([p.end_s for p in placed] + [h.end_s for h in stays], float),
        start_index=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        gpus=np.fromiter((g for gpus in places for g in gpus), np.int64, total),
        placed=len(placed),
    )


@dataclass(frozen=True, slots=True)
class Running:
    """A row in a round: its place in the ledger, its jobs and GPUs; per job steps done and lost."""

    row: int
    jobs: tuple[int, ...]
    kind: int
    gpus: tuple[int, ...]
    start_s: float
    finish_s: float
    steps: tuple[float, ...]
    lost: tuple[float, ...]


OF_STATE = (
    *("arrival_s", "admitted_s", "completion_s", "total_steps", "lost", "isolated_s", "busy_s", "booked_s"),
    *("planned_s", "received_s", "present_s", "preemptions", "moves"),
)


class RoundCollector:
    """Collects rounds, the jobs of the last one, and the policy's answers."""

    def __init__(self, system: TrainingSystem, policy: str, trace_rounds: int) -> None:
        self._system, self._policy, self._trace = system, policy, trace_rounds
        self._before: dict[int, tuple[int, tuple[int, ...]]] = {}  # where a job last ran
        self._last: set[int] = set()  # jobs that ran in the last round
        self._placed: list[PlacedJobs] = []
        self._rounds: list[tuple[float, float, int, int]] = []
        self._weighed: list[PriorityRecord] = []
        self._decision_s: list[float] = []
        self._gaps: list[float] = []
        self._warnings: dict[str, None] = {}

    @property
    def decisions(self) -> int:
        """Number of decisions so far."""
        return len(self._decision_s)

    def decided(self, seconds: float, allocation: Allocation) -> None:
        """Record a decision and the seconds that it took."""
        self._decision_s.append(seconds)
        self._gaps.append(allocation.gap)
        self._warnings.update(dict.fromkeys(allocation.warnings))

    def gpus_before(self, jobs: Sequence[int], kind: int) -> tuple[int, ...]:
        """Return the GPUs of type ``kind`` that the jobs had in the round before."""
        last_kind, gpus = self._before.get(jobs[0], (-1, ()))
        return gpus if last_kind == kind else ()

    def moved_from(self, job: int, kind: int, gpus: tuple[int, ...]) -> int | None:
        """Return the type on which a job ran before, if these are not its GPUs."""
        last = self._before.get(job)
        return None if last is None or last == (kind, gpus) else last[0]

    def paused(self, job: int) -> bool:
        """Return whether a job that has run before did not run in the last round."""
        return job in self._before and job not in self._last

    def round(
        self,
        state: JobArrays,
        ledger: Ledger,
        priorities: Floats,
        chosen: Sequence[AssignedRow],
        running: Sequence[Running],
        active: Sequence[int],
    ) -> None:
        """Record a round: priorities, chosen rows and the rows that run."""
        end = max((row.finish_s for row in running), default=state.now)
        jobs = {job for row in running for job in row.jobs}
        for job in self._last - jobs:
            if state.remaining[job] > 0:
                state.preemptions[job] += 1
        for row in running:
            for job in row.jobs:
                if self.moved_from(job, row.kind, row.gpus) is not None:
                    state.moves[job] += 1
                self._before[job] = (row.kind, row.gpus)
            self._placed.append(PlacedJobs(len(self._rounds), row.jobs, row.kind, row.gpus, row.finish_s))
        self._plan(state, ledger, end - state.now)
        if len(self._rounds) < self._trace:
            self._weighed.append(_weighed(len(self._rounds), ledger, priorities, chosen))
        self._rounds.append((state.now, end, len(jobs), len(active) - len(jobs)))
        self._last = jobs

    def _plan(self, state: JobArrays, ledger: Ledger, seconds: float) -> None:
        for place in range(2):
            rows = [r for r, row in enumerate(ledger.rows) if len(row) > place and ledger.known[r]]
            jobs = np.array([ledger.rows[r][place] for r in rows], np.int64)
            np.add.at(state.planned_s, jobs, ledger.shares[rows] * seconds)
            if place == 0:
                there = {job for r in rows for job in ledger.rows[r]}
                state.present_s[list(there)] += seconds

    def finished(self, state: JobArrays, holdings: Sequence[Lease]) -> TrainingRecords:
        """Return the records of the whole run."""
        rounds = np.array(self._rounds).reshape(-1, 4)
        return TrainingRecords(
            policy=self._policy,
            types=self._system.cluster.types,
            **{name: getattr(state, name) for name in OF_STATE},
            done=state.total_steps - state.remaining,
            round_start_s=rounds[:, 0],
            round_end_s=rounds[:, 1],
            running=rounds[:, 2].astype(np.int64),
            waiting=rounds[:, 3].astype(np.int64),
            placed=tuple(self._placed),
            leases=tuple(holdings),
            weighed=tuple(self._weighed),
            decision_s=np.array(self._decision_s),
            gaps=np.array(self._gaps),
            warnings=tuple(self._warnings),
            end_s=state.now,
        )


def _weighed(
    number: int, ledger: Ledger, priorities: Floats, chosen: Sequence[AssignedRow]
) -> PriorityRecord:
    return PriorityRecord(
        round=number,
        rows=tuple(ledger.rows),
        shares=ledger.shares.copy(),
        received=ledger.received.copy(),
        type_s=ledger.type_s.copy(),
        priorities=priorities,
        deficits=ledger.deficit.copy(),
        ran=frozenset((c.row, c.kind) for c in chosen if c.runs),
    )


CLOCK_S = 1e-6
TOLERANCE = 1e-9  # relative, of sums


def run_checks(system: TrainingSystem, records: TrainingRecords) -> tuple[Check, ...]:
    """All checks of one run."""
    spans = spans_of(records)
    return (
        _steps(system, records),
        _capacity(system, spans),
        _gpus_once(system, spans),
        _jobs_once(spans),
        _busy(records, spans),
        _causality(records, spans),
        _little(system, records),
    )


def _steps(system: TrainingSystem, records: TrainingRecords) -> Check:
    complete = ~np.isnan(records.completion_s)
    slack = TOLERANCE * records.total_steps
    whole = np.abs(records.done - records.total_steps) <= slack
    more = records.done > records.total_steps + slack
    wrong = np.flatnonzero(np.where(complete, ~whole, more))
    text = f"{int(complete.sum())} of {len(complete)} jobs complete; {len(wrong)} with other steps than asked"
    return Check("steps done = steps asked", not len(wrong), text)


def _most_at_once(place: Ints, start_s: Floats, end_s: Floats, amount: Floats, places: int) -> Floats:
    """(places,) the most that is held at one time; what ends at an instant is free for what starts then."""
    most = np.zeros(places)
    for p in range(places):
        own = (place == p) & (end_s > start_s)
        times = np.concatenate([start_s[own], end_s[own]])
        change = np.concatenate([amount[own], -amount[own]])
        order = np.lexsort((change, times))
        most[p] = np.cumsum(change[order]).max(initial=0.0)
    return most


def _capacity(system: TrainingSystem, spans: Spans) -> Check:
    types = system.cluster.types
    there = np.array([system.cluster.gpus[t] for t in types], float)
    counts = np.diff(spans.start_index).astype(float)
    most = _most_at_once(spans.kind, spans.start_s, spans.end_s, counts, len(types))
    text = ", ".join(f"{t} {m:.0f} of {n:.0f}" for t, m, n in zip(types, most, there, strict=True))
    return Check("allocation within capacity", bool((most <= there).all()), f"most GPUs at once: {text}")


def _gpus_once(system: TrainingSystem, spans: Spans) -> Check:
    types = system.cluster.types
    there = np.array([system.cluster.gpus[t] for t in types])
    each = np.repeat(np.arange(len(spans.kind)), np.diff(spans.start_index))
    kind = spans.kind[each]
    exist = bool((spans.gpus >= 0).all() and (spans.gpus < there[kind]).all())
    overlaps = _overlaps(kind * (int(there.max()) + 1) + spans.gpus, spans.start_s[each], spans.end_s[each])
    text = f"{len(each)} times that a GPU was given, {overlaps} while it was taken"
    return Check("no GPU given twice", exist and not overlaps, text)


def _jobs_once(spans: Spans) -> Check:
    n = spans.placed
    both = spans.second[:n] >= 0
    jobs = np.concatenate([spans.first[:n], spans.second[:n][both]])
    start = np.concatenate([spans.start_s[:n], spans.start_s[:n][both]])
    end = np.concatenate([spans.end_s[:n], spans.end_s[:n][both]])
    overlaps = _overlaps(jobs, start, end)
    return Check("no job in two places", not overlaps, f"{len(jobs)} stays, {overlaps} at the same time")


def _overlaps(key: Ints, start_s: Floats, end_s: Floats) -> int:
    order = np.lexsort((start_s, key))
    key, start_s, end_s = key[order], start_s[order], end_s[order]
    return int(((key[1:] == key[:-1]) & (start_s[1:] < end_s[:-1] - CLOCK_S)).sum())


def _busy(records: TrainingRecords, spans: Spans) -> Check:
    jobs, types = records.busy_s.shape
    seconds = spans.end_s - spans.start_s
    gpu_s = np.bincount(spans.kind, spans.gpu_s, types)
    type_error = np.abs(gpu_s - records.booked_s).max(initial=0.0)
    placed = np.arange(len(seconds)) < spans.placed
    of_job = spans.of_jobs(np.where(placed, seconds, 0.0), jobs, split=False)
    holders = np.unique(spans.first[~placed])
    own = records.busy_s.sum(axis=1)
    job_error = np.abs(np.delete(of_job - own, holders)).max(initial=0.0)
    limit = CLOCK_S + TOLERANCE * max(float(gpu_s.max(initial=0.0)), float(own.max(initial=0.0)))
    text = f"GPU-seconds differ by {type_error:.2g} of {gpu_s.sum():.6g}, seconds of a job by {job_error:.2g}"
    return Check("busy time = booked time", bool(type_error <= limit and job_error <= limit), text)


def _causality(records: TrainingRecords, spans: Spans) -> Check:
    jobs = len(records.arrival_s)
    last = np.full(jobs, -np.inf)
    np.maximum.at(last, spans.first, spans.end_s)
    both = spans.second >= 0
    np.maximum.at(last, spans.second[both], spans.end_s[both])
    early = spans.start_s < records.arrival_s[spans.first] - CLOCK_S
    complete = ~np.isnan(records.completion_s)
    wrong = np.abs(last[complete] - records.completion_s[complete]) > CLOCK_S
    text = (
        f"{int(early.sum())} placements before the arrival, {int(wrong.sum())} completions not at a "
        "placement's end"
    )
    return Check("no run before arrival, none after completion", not early.any() and not wrong.any(), text)


def _little(system: TrainingSystem, records: TrainingRecords) -> Check:
    """Little's law, L = λW: jobs in the system, summed over the rounds, are the time that jobs were there."""
    length = records.round_end_s - records.round_start_s
    clock = np.concatenate([[0.0], np.cumsum(length)])
    seen = ~np.isnan(records.admitted_s)
    seen &= np.array([job.kind == "training" for job in system.jobs])
    first = np.searchsorted(records.round_start_s, records.admitted_s[seen] - CLOCK_S)
    end = np.where(np.isnan(records.completion_s), np.inf, records.completion_s)[seen]
    last = np.minimum(np.searchsorted(records.round_end_s, end - CLOCK_S) + 1, len(length))
    there = float(np.maximum(clock[last] - clock[np.minimum(first, len(length))], 0.0).sum())
    counted = float(((records.running + records.waiting) * length).sum())
    ok = abs(there - counted) <= CLOCK_S + TOLERANCE * max(there, counted)
    return Check("Little's law", ok, f"{counted:.6g} job-seconds in rounds, {there:.6g} of jobs")
