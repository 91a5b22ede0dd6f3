"""One run: rounds in which jobs keep their GPUs, and a policy asked as jobs come and go.

The loop is Gavel's (Narayanan et al., OSDI 2020, section 5, and its public simulator): finish the round,
admit arrivals, ask the policy if something changed and enough time passed, select rows by priority, run them.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from nona.allocation.equal_shares import equal_shares
from nona.allocation.problem import Allocation, AllocationPolicy
from nona.core.arrays import Bools, Floats
from nona.core.options import Options
from nona.training.mechanism import AssignedRow, Ledger, TypedGpus, select
from nona.training.question import NO_HOOKS, Hooks, JobInterval, PinnedJobs, ProblemBuilder
from nona.training.records import Lease, RoundCollector, Running, TrainingRecords
from nona.training.state import JobArrays, Rates
from nona.training.system import TrainingSystem


@dataclass(frozen=True, slots=True)
class RoundOptions:
    """``replication``: which random numbers; ``trace_rounds``: rounds whose priorities are kept.

    ``replay`` repeats what the public simulator of Gavel does at the edges: with nothing running, waiting
    jobs sleep until the next arrival, which is booked as execution; a reset at time 0 does not count as one;
    a job that arrived since the last answer blocks GPUs without running; a round gives whole steps.
    """

    replication: int = 0
    trace_rounds: int = 0
    replay: bool = False


@dataclass(frozen=True, slots=True)
class TrainingProgress:
    """A run so far: share of the jobs complete, the clock, the mean JCT so far, and who is where.

    ``mean_jct_s`` is that of the jobs that the result counts, ``completed`` the number of all that are.
    ``placed``: (numbers of the jobs, type, GPUs, start, end) of the round. ``piece``: the policy's place.
    """

    policy: str
    replication: int
    fraction: float
    time_s: float
    running: int
    waiting: int
    completed: int
    mean_jct_s: float
    placed: tuple[tuple[tuple[int, ...], int, tuple[int, ...], float, float], ...]
    piece: int = 0


OnProgress = Callable[[TrainingProgress], None]

TYPE_SHUFFLE = 5  # added to the seed
NOTHING_LOST = ((), (0.0,), (0.0, 0.0))  # by the jobs of a row


class TrainingRounds:
    """The parts of a run, and its rounds: who runs next, on which GPUs, for how many steps."""

    def __init__(
        self,
        system: TrainingSystem,
        policy: AllocationPolicy,
        options: Options,
        run: RoundOptions,
        on_progress: OnProgress | None,
        hooks: Hooks,
    ) -> None:
        self.system, self.policy, self.run, self.hooks = system, policy, run, hooks
        self.allocate = policy.prepare(options)
        self.rates = Rates(system)
        self.state = JobArrays(system)
        self.gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        self.boards = [TypedGpus(system.cluster.nodes[t]) for t in system.cluster.types]
        hooks.begin(self.rates, self.state)
        self.workers = np.array([j.workers for j in system.jobs], np.int64)
        self.ledger = Ledger(self.rates, self.workers, system.round_s)
        self.questions = ProblemBuilder(system, self.rates, hooks, run.replication)
        self.pinned = PinnedJobs(system, self.rates, self.boards)
        self.records = RoundCollector(system, policy.name, run.trace_rounds)
        self.active: list[int] = []
        self.arrived = 0
        self.answer: Allocation | None = None
        self.last_reset, self.previous_end = 0.0, math.nan
        self.dirty = False
        self.shuffle = random.Random(system.seed + TYPE_SHUFFLE)
        self._disturbed = hooks is not NO_HOOKS
        self._reported_s, self._on_progress = 0.0, on_progress

    def _order(self) -> list[int]:
        """Types, fastest first by the mean over jobs; shuffled in each round if the policy sees no types."""
        speed = self.rates.isolated_rates.sum(axis=0)
        order = sorted(range(len(speed)), key=lambda j: (-speed[j], j))
        if not self.policy.heterogeneous:
            self.shuffle.shuffle(order)
        return order

    def next_round(self) -> list[Running]:
        """Return steps 5 to 7: select rows, give them GPUs, run them."""
        if not self.active:
            return []
        priorities = self.ledger.priorities()
        free = self.pinned.free(self.gpus).astype(int).tolist()
        chosen = select(
            self.ledger,
            priorities,
            free,
            self._order(),
            needs_share=self.policy.needs_share,
            unknown_block=self.run.replay,
            held=self.hooks.kept_rows(self.ledger.rows, self.ledger.shares, self.state.now),
        )
        running = self._placed(chosen)
        self.records.round(self.state, self.ledger, priorities, chosen, running, self.active)
        return running

    def _placed(self, chosen: list[AssignedRow]) -> list[Running]:
        running = []
        for kind, board in enumerate(self.boards):
            here = [c for c in chosen if c.kind == kind and c.runs]
            keyed = {self.ledger.rows[c.row]: c for c in here}
            sizes = [(jobs, int(self.ledger.workers[c.row])) for jobs, c in keyed.items()]
            before = {jobs: self.records.gpus_before(jobs, kind) for jobs in keyed}
            gpus = board.place(sizes, before, self.pinned.taken(kind))
            running += [self._start_row(keyed[jobs], jobs, gpus[jobs]) for jobs, _ in sizes]
        return running

    def _start_row(self, choice: AssignedRow, jobs: tuple[int, ...], gpus: tuple[int, ...]) -> Running:
        """Start a row on its GPUs; return it with its end, its steps, and the steps that failures undo."""
        start, board = self.state.now, self.boards[choice.kind]
        if not self._disturbed:
            done = tuple(self._steps(choice, place, job) for place, job in enumerate(jobs))
            rates = self.ledger.rates[choice.row, choice.kind].tolist()
            finish = start + max(d / r for d, r in zip(done, rates, strict=False))
            return Running(choice.row, jobs, choice.kind, gpus, start, finish, done, NOTHING_LOST[len(jobs)])
        nodes = tuple(dict.fromkeys((choice.kind, board.node(g)) for g in gpus))
        steps, ends, lost = [], [], []
        for place, job in enumerate(jobs):
            rate = float(self.ledger.rates[choice.row, choice.kind, place])
            moved, paused = self.records.moved_from(job, choice.kind, gpus), self.records.paused(job)
            remaining = float(self.state.remaining[job])
            end = start + self.system.round_s
            outcome = self.hooks.run(
                JobInterval(job, choice.kind, nodes, start, end, rate, remaining, moved, paused)
            )
            if outcome is None:
                steps.append(self._steps(choice, place, job))
                ends.append(start + steps[-1] / rate)
                lost.append(0.0)
            else:
                steps.append(outcome.steps)
                ends.append(outcome.end_s)
                lost.append(outcome.lost_steps)
        return Running(choice.row, jobs, choice.kind, gpus, start, max(ends), tuple(steps), tuple(lost))

    def _steps(self, choice: AssignedRow, place: int, job: int) -> float:
        """Return a job's steps in an undisturbed round; whole ones in a replay."""
        whole = float(self.ledger.rates[choice.row, choice.kind, place]) * self.system.round_s
        return min(math.floor(whole) if self.run.replay else whole, float(self.state.remaining[job]))


DEFAULT = RoundOptions()
PACE_S = 0.1  # of reports
DONE = 1e-9  # of a job's steps


def simulate_training(
    system: TrainingSystem,
    policy: AllocationPolicy,
    options: Options,
    run: RoundOptions = DEFAULT,
    on_progress: OnProgress | None = None,
    hooks: Hooks = NO_HOOKS,
) -> TrainingRecords:
    """Run a policy until all jobs are complete, or none can run any more.

    ``options``: of the policy, over its defaults.
    ``on_progress``: called now and then; may raise to stop the run.
    ``hooks``: what intervenes.

    Raises ``SimulationError`` for an unknown option, or a system that the policy cannot handle.
    """
    return RoundLoop(system, policy, options, run, on_progress, hooks).finish()


class RoundLoop(TrainingRounds):
    """Steps 1 to 4 of the loop, and its records."""

    def finish(self) -> TrainingRecords:
        """Run all rounds, and return the records."""
        running: list[Running] = []
        while self._advance(running):
            self._book(running)
            running = []
            if self.system.measured is not None and self._measured().all():
                break
            self._admit()
            self._reset()
            running = self.next_round()
            self._report(running)
        self.state.settle(np.arange(len(self.system.jobs)))
        return self.records.finished(self.state, self._open_leases())

    def _measured(self) -> Bools:
        """Return, for each job that metrics count, whether it is complete."""
        first, last = self.system.window
        return np.isfinite(self.state.completion_s[first : last + 1])

    def _open_leases(self) -> list[Lease]:
        """All stays of jobs that hold GPUs; those that still do are cut off now."""
        state = self.state
        open_ones = [replace(h, end_s=state.now) for h in self.pinned.holding.values()]
        for stay in open_ones:
            self._book_held(stay)
            state.remaining[stay.job] -= stay.end_s - stay.start_s
        return [*self.pinned.past, *open_ones]

    def _book_held(self, holding: Lease) -> None:
        seconds = holding.end_s - holding.start_s
        self.state.busy_s[holding.job, holding.kind] += seconds
        self.state.booked_s[holding.kind] += seconds * len(holding.gpus)

    def _advance(self, running: list[Running]) -> bool:
        """Step 1: the clock; false at the end."""
        state, jobs = self.state, self.system.jobs
        if running:
            state.now = max(row.finish_s for row in running)
            return True
        coming = jobs[self.arrived].arrival_s if self.arrived < len(jobs) else math.inf
        if not (self.active or self.pinned.waiting or self.pinned.holding) and math.isinf(coming):
            return False
        if self.run.replay:
            if math.isinf(coming):
                self.last_reset = 0.0
            else:
                state.now = coming
            return not math.isinf(coming) or (bool(self.active) and self.dirty)
        return self._wait(coming)

    def _wait(self, coming: float) -> bool:
        """Nothing runs: ask again at once, else at the next event; false when nothing will change."""
        if self.active and self.dirty:
            self.last_reset = -math.inf
            return True
        event = min(coming, self.pinned.next_end_s)
        if math.isinf(event):
            return False
        self.state.now = max(self.state.now, event)
        return True

    def _book(self, running: list[Running]) -> None:
        """Step 2: the round ends."""
        state, done = self.state, set[int]()
        start = self.previous_end if self.run.replay and not math.isnan(self.previous_end) else None
        for row in running:
            began = row.start_s if start is None else start
            seconds = row.finish_s - began
            self.ledger.book(row.row, row.kind, seconds)
            state.booked_s[row.kind] += seconds * len(row.gpus)
            for job, steps, lost in zip(row.jobs, row.steps, row.lost, strict=True):
                state.book(job, row.kind, seconds, known=bool(self.ledger.known[row.row]))
                state.lost[job] += lost
                state.remaining[job] -= steps
                if state.remaining[job] <= DONE * state.total_steps[job]:
                    state.remaining[job] = 0.0
                    state.completion_s[job] = row.finish_s
                    done.add(job)
            if self._disturbed:
                self._measure(row)
        if running:
            self.previous_end = state.now
        self._leave(done)

    def _measure(self, row: Running) -> None:
        rates = (self.rates.isolated_rates[row.jobs[0], row.kind], 0.0)
        partner = None
        if len(row.jobs) == 2:
            rates, partner = tuple(self.rates.pair(*row.jobs)[row.kind]), row.jobs[1]
        self.hooks.measured(row.jobs[0], row.kind, partner, float(rates[0]), float(rates[1]))

    def _leave(self, done: set[int]) -> None:
        if done:
            for job in sorted(done):
                self.hooks.completed(job, self.state.now)
            self.active = [job for job in self.active if job not in done]
            self.ledger.leave(done)
            self.dirty = True
        for stay in self.pinned.end(self.state.now):
            self.state.completion_s[stay.job] = stay.end_s
            self.state.remaining[stay.job] = 0.0
            self._book_held(stay)
            self.dirty = True

    def _admit(self) -> None:
        """Step 3: arrivals until now; then those that hold GPUs take theirs."""
        jobs, state = self.system.jobs, self.state
        while self.arrived < len(jobs) and jobs[self.arrived].arrival_s <= state.now:
            job, self.arrived = self.arrived, self.arrived + 1
            state.admitted_s[job] = state.now
            if jobs[job].kind != "training":
                self.pinned.arrive(job)
                continue
            self.hooks.arrived(job, state.now)
            self.active.append(job)
            self.ledger.arrive(job)
            self.dirty = True
        if self.pinned.start(state.now):
            self.dirty = True
        if self.dirty and self.active and not self.run.replay:
            self._isolate()

    def _isolate(self) -> Floats:
        """Set the equal shares of present jobs, for ρ; return the free GPUs of each type, shape (J,).

        At every change; in a replay only when the policy is asked, as the public simulator does.
        """
        free, rows = self.pinned.free(self.gpus), np.array(self.active)
        part = equal_shares(free, self.workers[rows])
        self.state.isolate(rows, (self.rates.isolated_rates[rows] * part).sum(axis=1))
        return free

    def _reset(self) -> None:
        """Step 4: ask the policy."""
        waited = self.state.now - self.last_reset
        first = self.last_reset == 0 if self.run.replay else self.answer is None
        if not self.dirty or not (first or waited >= self.system.reallocation_s):
            return
        since = 0.0 if math.isinf(waited) else waited
        self.last_reset, self.dirty = self.state.now, False
        if not self.active:
            self.answer = None
            return
        self._solve(since)

    def _solve(self, since: float) -> None:
        """Ask the policy for an answer from ``since`` (s) on, and reset the ledger of received time."""
        state, jobs = self.state, list(self.active)
        free = self._isolate()
        if not free.any():
            self.ledger.reset([(job,) for job in jobs], np.zeros((len(jobs), len(free))), since)
            return
        problem, kinds = self.questions.problem(state, jobs, free, self.answer, self.records.decisions)
        begin = time.perf_counter()
        allocation = self.allocate(problem)
        self.records.decided(time.perf_counter() - begin, allocation)
        allocation = self.hooks.choose(problem, allocation)
        shares = np.zeros((len(allocation.rows), len(free)))
        shares[:, kinds] = allocation.shares
        numbered = tuple(tuple(jobs[i] for i in row) for row in allocation.rows)
        self.answer = Allocation(numbered, shares, allocation.objective, allocation.bound)
        singles = {row[0] for row in numbered if len(row) == 1}
        extra = [(job,) for job in jobs if job not in singles]
        self.ledger.reset(
            (*numbered, *extra), np.concatenate([shares, np.zeros((len(extra), len(free)))]), since
        )

    def _report(self, running: list[Running]) -> None:
        if self._on_progress is None or time.monotonic() - self._reported_s < PACE_S:
            return
        self._reported_s = time.monotonic()
        jobs = sum(len(row.jobs) for row in running)
        complete = np.isfinite(self.state.completion_s)
        counted = (self.state.completion_s - self.state.arrival_s)[complete & self.system.counted]
        self._on_progress(
            TrainingProgress(
                policy=self.policy.name,
                replication=self.run.replication,
                fraction=float(self._measured().mean()),
                time_s=self.state.now,
                running=jobs,
                waiting=len(self.active) - jobs + len(self.pinned.waiting),
                completed=int(complete.sum()),
                mean_jct_s=float(counted.mean()) if len(counted) else math.nan,
                placed=tuple((r.jobs, r.kind, r.gpus, r.start_s, r.finish_s) for r in running),
            )
        )
