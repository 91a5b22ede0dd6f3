"""Steps 5 to 7 of the loop: rows are selected by priority, get GPUs, and run."""

from __future__ import annotations

import math
import random

import numpy as np

from nona.allocation.policies.base import Policy
from nona.allocation.policies.problem import Allocation
from nona.options import Options
from nona.training.engine.hooks import NO_HOOKS, Hooks, Stretch
from nona.training.engine.options import OnProgress, RunOptions
from nona.training.engine.pinned import Pinned
from nona.training.engine.question import Questioner
from nona.training.mechanism.gpus import Board
from nona.training.mechanism.ledger import Ledger
from nona.training.mechanism.selection import Chosen, select
from nona.training.model.rates import Rates
from nona.training.model.state import State
from nona.training.model.system import TrainingSystem
from nona.training.records.collector import Collector, Running

TYPE_SHUFFLE = 5  # added to the seed
NOTHING_LOST = ((), (0.0,), (0.0, 0.0))  # by the jobs of a row


class Rounds:
    """The parts of a run, and its rounds: who runs next, on which GPUs, for how many steps."""

    def __init__(
        self,
        system: TrainingSystem,
        policy: Policy,
        options: Options,
        run: RunOptions,
        on_progress: OnProgress | None,
        hooks: Hooks,
    ) -> None:
        self.system, self.policy, self.run, self.hooks = system, policy, run, hooks
        self.allocate = policy.prepare({**policy.defaults, **options})
        self.rates = Rates(system)
        self.state = State(system)
        self.gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        self.boards = [Board(system.cluster.nodes[t]) for t in system.cluster.types]
        hooks.begin(self.rates, self.state)
        self.workers = np.array([j.workers for j in system.jobs], np.int64)
        self.ledger = Ledger(self.rates, self.workers, system.round_s)
        self.questions = Questioner(system, self.rates, hooks, run.replication)
        self.pinned = Pinned(system, self.rates, self.boards)
        self.records = Collector(system, policy.name, run.trace_rounds)
        self.active: list[int] = []
        self.arrived = 0
        self.answer: Allocation | None = None
        self.last_reset, self.previous_end = 0.0, math.nan
        self.dirty = False
        self.shuffle = random.Random(system.seed + TYPE_SHUFFLE)
        self._disturbed = hooks is not NO_HOOKS
        self._told, self._on_progress = 0.0, on_progress

    def _order(self) -> list[int]:
        """Types, fastest first by the mean over jobs; shuffled in each round if the policy sees no types."""
        speed = self.rates.alone.sum(axis=0)
        order = sorted(range(len(speed)), key=lambda j: (-speed[j], j))
        if not self.policy.heterogeneous:
            self.shuffle.shuffle(order)
        return order

    def next_round(self) -> list[Running]:
        """Steps 5 to 7: select rows, give them GPUs, run them."""
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
            held=self.hooks.held(self.ledger.rows, self.ledger.shares, self.state.now),
        )
        running = self._placed(chosen)
        self.records.round(self.state, self.ledger, priorities, chosen, running, self.active)
        return running

    def _placed(self, chosen: list[Chosen]) -> list[Running]:
        running = []
        for kind, board in enumerate(self.boards):
            here = [c for c in chosen if c.kind == kind and c.runs]
            keyed = {self.ledger.rows[c.row]: c for c in here}
            sizes = [(jobs, int(self.ledger.workers[c.row])) for jobs, c in keyed.items()]
            before = {jobs: self.records.gpus_before(jobs, kind) for jobs in keyed}
            gpus = board.place(sizes, before, self.pinned.taken(kind))
            running += [self._started(keyed[jobs], jobs, gpus[jobs]) for jobs, _ in sizes]
        return running

    def _started(self, choice: Chosen, jobs: tuple[int, ...], gpus: tuple[int, ...]) -> Running:
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
            found = self.hooks.run(
                Stretch(job, choice.kind, nodes, start, end, rate, remaining, moved, paused)
            )
            if found is None:
                steps.append(self._steps(choice, place, job))
                ends.append(start + steps[-1] / rate)
                lost.append(0.0)
            else:
                steps.append(found.steps)
                ends.append(found.end_s)
                lost.append(found.lost_steps)
        return Running(choice.row, jobs, choice.kind, gpus, start, max(ends), tuple(steps), tuple(lost))

    def _steps(self, choice: Chosen, place: int, job: int) -> float:
        """What a job does undisturbed in a round; whole steps in a replay."""
        whole = float(self.ledger.rates[choice.row, choice.kind, place]) * self.system.round_s
        return min(math.floor(whole) if self.run.replay else whole, float(self.state.remaining[job]))
