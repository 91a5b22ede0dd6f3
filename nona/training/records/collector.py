"""Gathers the records of a run while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Allocation, Floats
from nona.training.mechanism.ledger import Ledger
from nona.training.mechanism.selection import Chosen
from nona.training.model.state import State
from nona.training.model.system import TrainingSystem
from nona.training.records.run import Held, Placed, TrainingRecords, Weighed


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


class Collector:
    """Rounds, who ran where in the last one, and what the policy answered."""

    def __init__(self, system: TrainingSystem, policy: str, trace_rounds: int) -> None:
        self._system, self._policy, self._trace = system, policy, trace_rounds
        self._before: dict[int, tuple[int, tuple[int, ...]]] = {}  # where a job last ran
        self._last: set[int] = set()  # jobs that ran in the last round
        self._placed: list[Placed] = []
        self._rounds: list[tuple[float, float, int, int]] = []
        self._weighed: list[Weighed] = []
        self._decision_s: list[float] = []
        self._gaps: list[float] = []
        self._warnings: dict[str, None] = {}
        self._told = np.zeros(len(system.jobs), bool)

    @property
    def decisions(self) -> int:
        """Answers so far."""
        return len(self._decision_s)

    def decided(self, seconds: float, found: Allocation) -> None:
        """The policy answered."""
        self._decision_s.append(seconds)
        self._gaps.append(found.gap)
        self._warnings.update(dict.fromkeys(found.warnings))

    def gpus_before(self, jobs: Sequence[int], kind: int) -> tuple[int, ...]:
        """The GPUs of this type that the first of these jobs last had."""
        last_kind, gpus = self._before.get(jobs[0], (-1, ()))
        return gpus if last_kind == kind else ()

    def moved_from(self, job: int, kind: int, gpus: tuple[int, ...]) -> int | None:
        """The type on which a job ran before, if these are not its GPUs."""
        last = self._before.get(job)
        return None if last is None or last == (kind, gpus) else last[0]

    def paused(self, job: int) -> bool:
        """Whether a job that has run before did not run in the last round."""
        return job in self._before and job not in self._last

    def round(
        self,
        state: State,
        ledger: Ledger,
        priorities: Floats,
        chosen: Sequence[Chosen],
        running: Sequence[Running],
        active: Sequence[int],
    ) -> None:
        """A round begins."""
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
            self._placed.append(Placed(len(self._rounds), row.jobs, row.kind, row.gpus, row.finish_s))
        self._plan(state, ledger, end - state.now)
        if len(self._rounds) < self._trace:
            self._weighed.append(_weighed(len(self._rounds), ledger, priorities, chosen))
        self._rounds.append((state.now, end, len(jobs), len(active) - len(jobs)))
        self._last = jobs

    def _plan(self, state: State, ledger: Ledger, seconds: float) -> None:
        for place in range(2):
            rows = [r for r, row in enumerate(ledger.rows) if len(row) > place and ledger.known[r]]
            jobs = np.array([ledger.rows[r][place] for r in rows], np.int64)
            np.add.at(state.planned_s, jobs, ledger.shares[rows] * seconds)
            if place == 0:
                there = {job for r in rows for job in ledger.rows[r]}
                state.present_s[list(there)] += seconds

    def fresh_jcts(self, state: State) -> tuple[float, ...]:
        """JCTs since the last time this was asked, in order of the jobs' numbers."""
        fresh = np.isfinite(state.completion_s) & ~self._told
        self._told |= fresh
        return tuple((state.completion_s - state.arrival_s)[fresh].tolist())

    def finished(self, state: State, held: Sequence[Held]) -> TrainingRecords:
        """The records."""
        rounds = np.array(self._rounds).reshape(-1, 4)
        return TrainingRecords(
            policy=self._policy,
            types=self._system.cluster.types,
            arrival_s=state.arrival_s,
            admitted_s=state.admitted_s,
            completion_s=state.completion_s,
            asked=state.asked,
            done=state.asked - state.remaining,
            lost=state.lost,
            isolated_s=state.isolated_s,
            busy_s=state.busy_s,
            booked_s=state.booked_s,
            planned_s=state.planned_s,
            received_s=state.received_s,
            present_s=state.present_s,
            preemptions=state.preemptions,
            moves=state.moves,
            round_start_s=rounds[:, 0],
            round_end_s=rounds[:, 1],
            running=rounds[:, 2].astype(np.int64),
            waiting=rounds[:, 3].astype(np.int64),
            placed=tuple(self._placed),
            held=tuple(held),
            weighed=tuple(self._weighed),
            decision_s=np.array(self._decision_s),
            gaps=np.array(self._gaps),
            warnings=tuple(self._warnings),
            end_s=state.now,
        )


def _weighed(number: int, ledger: Ledger, priorities: Floats, chosen: Sequence[Chosen]) -> Weighed:
    return Weighed(
        round=number,
        rows=tuple(ledger.rows),
        shares=ledger.shares.copy(),
        received=ledger.received.copy(),
        type_s=ledger.type_s.copy(),
        priorities=priorities,
        deficits=ledger.deficit.copy(),
        ran=frozenset((c.row, c.kind) for c in chosen if c.runs),
    )
