"""The question to a policy: the problem, jobs that keep their GPUs, hooks that intervene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from nona.allocation.problem import Allocation, AllocationProblem, EntityShare, PreviousAllocation
from nona.core.arrays import Bools, Floats, Ints
from nona.training.mechanism import TypedGpus
from nona.training.records import Lease
from nona.training.state import JobArrays, Rates
from nona.training.system import TrainingSystem


class JobInterval(NamedTuple):
    """A job's time on GPUs in one round: ``nodes`` are (type, node) of its GPUs; ``rate``: true steps/s."""

    job: int
    kind: int
    nodes: tuple[tuple[int, int], ...]
    start_s: float
    end_s: float
    rate: float
    remaining: float
    moved_from: int | None
    paused: bool


class CheckpointOutcome(NamedTuple):
    """Steps done (less than 0 where a failure undid earlier ones), when it ended, and steps lost."""

    steps: float
    end_s: float
    lost_steps: float


class Hooks:
    """No intervention; extensions override what they need. One object serves one run."""

    def begin(self, rates: Rates, state: JobArrays) -> None:
        """Begin a run; ``rates`` are its true rates, which may be limited, ``state`` is read-only."""

    def arrived(self, job: int, now_s: float) -> None:
        """Take note of a job that arrives."""

    def believed(self, jobs: Sequence[int], rates: Floats) -> Floats:
        """(m, J) the rates that the policy sees, given the true ones."""
        return rates

    def believed_pairs(self, jobs: Sequence[int], pairs: Sequence[tuple[int, int]], rates: Floats) -> Floats:
        """(p, J, 2) the rates of pairs that the policy sees; ``pairs`` are job numbers."""
        return rates

    def choose(self, problem: AllocationProblem, new: Allocation) -> Allocation:
        """Return the allocation to follow; the last one is ``problem.carried``."""
        return new

    def kept_rows(
        self, rows: Sequence[tuple[int, ...]], shares: Floats, now_s: float
    ) -> Sequence[tuple[int, int]]:
        """(row, type) that keep their GPUs in the round that begins; ``rows`` of jobs with their shares."""
        return ()

    def run(self, stretch: JobInterval) -> CheckpointOutcome | None:
        """Run the job for a stretch; ``None`` if it runs undisturbed."""
        return None

    def measured(self, job: int, kind: int, partner: int | None, rate: float, partner_rate: float) -> None:
        """Take note of a round: a job ran on a type, alone or with a partner, at these rates."""

    def completed(self, job: int, now_s: float) -> None:
        """Take note of a job that is complete."""


NO_HOOKS = Hooks()


@dataclass
class PinnedJobs:
    """Jobs that wait for their GPUs, in order of arrival, and those that hold some.

    A job takes the type that runs it fastest, among those with enough free GPUs; ties alphabetically.
    Replicas of an inference job stand on different nodes, so that one failure leaves the others.
    """

    system: TrainingSystem
    rates: Rates
    boards: Sequence[TypedGpus]
    waiting: list[int] = field(default_factory=list)
    holding: dict[int, Lease] = field(default_factory=dict)
    past: list[Lease] = field(default_factory=list)

    def arrive(self, job: int) -> None:
        """Add a job to the queue for GPUs of its own."""
        self.waiting.append(job)

    def start(self, now: float) -> list[Lease]:
        """Give GPUs to those that wait, in order; one that does not fit lets later ones pass."""
        started = []
        for job in list(self.waiting):
            if (lease := self._place(job, now)) is not None:
                self.waiting.remove(job)
                self.holding[job] = lease
                started.append(lease)
        return started

    def end(self, now: float) -> list[Lease]:
        """Release the jobs that have ended by ``now`` (s), and return them."""
        done = [h for h in self.holding.values() if h.end_s <= now]
        for lease in done:
            del self.holding[lease.job]
        self.past += done
        return done

    def taken(self, kind: int) -> tuple[int, ...]:
        """List the GPUs of type ``kind`` that these jobs hold."""
        return tuple(g for h in self.holding.values() if h.kind == kind for g in h.gpus)

    def free(self, gpus: Floats) -> Floats:
        """Return the number of GPUs of each type, shape (J,), that no pinned job holds."""
        free_gpus: Floats = gpus - np.array([len(self.taken(kind)) for kind in range(len(gpus))])
        return free_gpus

    @property
    def next_end_s(self) -> float:
        """The time at which the first of the jobs is done; infinite without any."""
        return min((h.end_s for h in self.holding.values()), default=np.inf)

    def _place(self, job: int, now: float) -> Lease | None:
        """Place a job on the fastest type with enough free GPUs; ``None`` where no type has them.

        The steps of a pinned job are seconds: the lease ends that long after ``now``.
        """
        what = self.system.jobs[job]
        speed = self.rates.isolated_rates[job]
        for kind in np.argsort(-speed, kind="stable").tolist():
            if speed[kind] <= 0:
                return None
            board, taken = self.boards[kind], self.taken(kind)
            if len(board) - len(taken) < what.workers:
                continue
            placed = board.place([(job, what.workers)], {}, taken, apart=what.kind == "inference")
            if placed:
                return Lease(job, kind, placed[job], now, now + what.steps)
        return None


NO_ENTITY = -1


class ProblemBuilder:
    """Builds problems of one run; types without free GPUs are left out of them."""

    def __init__(self, system: TrainingSystem, rates: Rates, hooks: Hooks, replication: int) -> None:
        self._system, self._rates, self._hooks = system, rates, hooks
        self._seed = system.seed + 7919 * replication
        self._entities = _entities(system)
        number = {e.name: i for i, e in enumerate(self._entities)}
        self._entity = np.array([number.get(j.entity, NO_ENTITY) for j in system.jobs])
        self._workers = np.array([j.workers for j in system.jobs], float)
        self._weights = np.array([j.weight for j in system.jobs], float)
        self._slo_s = np.array([np.nan if j.slo_s is None else j.slo_s for j in system.jobs])

    def problem(
        self, state: JobArrays, jobs: Sequence[int], gpus: Floats, carried: Allocation | None, call: int
    ) -> tuple[AllocationProblem, Bools]:
        """Return the problem, and (J,) which types it knows; ``gpus``: those that no job holds."""
        rows, kinds = np.asarray(jobs, np.int64), gpus > 0
        types = tuple(t for t, there in zip(self._system.cluster.types, kinds, strict=True) if there)
        believed = self._hooks.believed(jobs, self._rates.isolated_rates[rows])[:, kinds]
        pairs, pair_rates = self._pairs(jobs, kinds)
        prices = self._system.cluster.prices
        problem = AllocationProblem(
            types=types,
            gpus=gpus[kinds],
            names=tuple(self._system.jobs[i].name for i in jobs),
            workers=self._workers[rows],
            weights=self._weights[rows],
            rates=believed,
            remaining=state.remaining[rows],
            elapsed_s=state.now - state.arrival_s[rows],
            isolated_s=state.isolated_s[rows],
            slo_s=state.admitted_s[rows] + self._slo_s[rows] - state.now,
            prices=np.array([prices.get(t, 1.0) for t in types]),
            entities=self._entities,
            entity=self._entity[rows],
            pairs=pairs,
            pair_rates=pair_rates,
            carried=_carried(carried, jobs, kinds),
            seed=self._seed * 1_000_003 + call,
        )
        return problem, kinds

    def _pairs(self, jobs: Sequence[int], kinds: Bools) -> tuple[Ints, Floats]:
        if not self._system.space_sharing or len(jobs) < 2:
            return np.empty((0, 2), np.int64), np.empty((0, int(kinds.sum()), 2))
        pairs, rates = self._rates.pairs(jobs)
        numbers = [(jobs[a], jobs[b]) for a, b in pairs.tolist()]
        return pairs, self._hooks.believed_pairs(jobs, numbers, rates)[:, kinds]


def _entities(system: TrainingSystem) -> tuple[EntityShare, ...]:
    """Those given, then those that jobs name besides."""
    given = {e.name for e in system.entities}
    named = dict.fromkeys(j.entity for j in system.jobs if j.entity and j.entity not in given)
    return (*system.entities, *(EntityShare(name) for name in named))


def _carried(answer: Allocation | None, jobs: Sequence[int], kinds: Bools) -> PreviousAllocation | None:
    """Return the last answer, given in job numbers over all types, in the problem's numbers."""
    if answer is None:
        return None
    place = {job: i for i, job in enumerate(jobs)}
    kept = [r for r, row in enumerate(answer.rows) if all(job in place for job in row)]
    rows = tuple(tuple(place[job] for job in answer.rows[r]) for r in kept)
    return PreviousAllocation(rows, answer.shares[kept][:, kinds])
