"""The fluid bound: every job has exactly its share of time.

Between two events a job progresses at thr_i(X) = Σ T·X over its rows. Events are arrivals, completions, and
ends of jobs that hold GPUs. Where shares add up to more GPUs than there are (as Proportional's do), all
shares of that type are cut in proportion. Nothing is lost to rounds, waiting for the next answer, moves or
failures. It is a bound on what rounds can make of the same shares, not on what another policy could reach;
rounds also give away time that the shares leave over, so they may beat it where GPUs are plenty.
"""

from __future__ import annotations

import math

import numpy as np

from nona.allocation.equal_shares import equal_shares
from nona.allocation.problem import Allocation, Floats, Policy
from nona.errors import SimulationError
from nona.options import Options
from nona.training.mechanism import Board
from nona.training.question import NO_HOOKS, Pinned, Questioner
from nona.training.state import Rates, State
from nona.training.system import TrainingSystem

DONE = 1e-9  # of a job's steps


def ideal_jcts_s(system: TrainingSystem, policy: Policy, options: Options, replication: int = 0) -> Floats:
    """(M,) JCT of each job; NaN for one that is not complete when the last measured one is.

    Raises
    ------
    SimulationError
        When the policy leaves all jobs without time, and nothing else can happen.
    """
    fluid = _Fluid(system, policy, options, replication)
    fluid.finish()
    return fluid.state.completion_s - fluid.state.arrival_s


class _Fluid:
    def __init__(self, system: TrainingSystem, policy: Policy, options: Options, replication: int) -> None:
        self.system, self.policy = system, policy
        self.allocate = policy.prepare(options)
        self.rates, self.state = Rates(system), State(system)
        self.gpus = np.array([system.cluster.gpus[t] for t in system.cluster.types], float)
        boards = [Board(system.cluster.nodes[t]) for t in system.cluster.types]
        self.pinned = Pinned(system, self.rates, boards)
        self.questions = Questioner(system, self.rates, NO_HOOKS, replication)
        self.active: list[int] = []
        self.arrived = self.calls = 0
        self.answer: Allocation | None = None
        first, last = system.window
        self._open = {i for i in range(first, last + 1) if system.jobs[i].kind == "training"}

    def finish(self) -> None:
        """All events until the measured jobs are complete."""
        speed = np.zeros(0)
        while self._open:
            coming = self._coming_s()
            left = self.state.remaining[self.active]
            ends = np.divide(left, speed, out=np.full(len(left), np.inf), where=speed > 0)
            step = float(ends.min(initial=math.inf))
            event = min(self.state.now + step, coming, self.pinned.next_end_s)
            if math.isinf(event):
                name = self.system.jobs[self.active[0]].name if self.active else ""
                raise SimulationError(
                    f"Policy {self.policy.name!r}: job {name!r} never gets a GPU; add one that it can use."
                )
            self._pass(event, speed)
            self._admit()
            speed = self._speeds()

    def _coming_s(self) -> float:
        jobs = self.system.jobs
        return jobs[self.arrived].arrival_s if self.arrived < len(jobs) else math.inf

    def _pass(self, until_s: float, speed: Floats) -> None:
        """Progress until an event; jobs whose steps are done leave."""
        state, rows = self.state, np.array(self.active, np.int64)
        state.remaining[rows] -= speed * (until_s - state.now)
        state.now = until_s
        done = {int(i) for i in rows[state.remaining[rows] <= DONE * state.asked[rows]]}
        for job in done:
            state.remaining[job], state.completion_s[job] = 0.0, until_s
        self.active = [job for job in self.active if job not in done]
        self._open -= done
        for stay in self.pinned.end(until_s):
            state.completion_s[stay.job] = stay.end_s

    def _admit(self) -> None:
        state, jobs = self.state, self.system.jobs
        while self._coming_s() <= state.now:
            job, self.arrived = self.arrived, self.arrived + 1
            state.admitted_s[job] = state.now
            if jobs[job].kind == "training":
                self.active.append(job)
            else:
                self.pinned.arrive(job)
        self.pinned.start(state.now)

    def _speeds(self) -> Floats:
        """(m,) thr_i(X) of the policy's answer now."""
        state, free = self.state, self.pinned.free(self.gpus)
        speeds = np.zeros(len(self.active))
        if not self.active or not free.any():
            return speeds
        rows = np.array(self.active)
        workers = np.array([self.system.jobs[i].workers for i in self.active])
        state.isolate(rows, (self.rates.alone[rows] * equal_shares(free, workers)).sum(axis=1))
        problem, kinds = self.questions.problem(state, self.active, free, self.answer, self.calls)
        answer = self.allocate(problem)
        self.calls += 1
        shares = np.zeros((len(answer.rows), len(free)))
        shares[:, kinds] = answer.shares
        used = workers[[row[0] for row in answer.rows]] @ shares
        shares *= np.minimum(1.0, np.divide(free, used, out=np.ones_like(free), where=used > 0))
        numbered = tuple(tuple(self.active[i] for i in row) for row in answer.rows)
        self.answer = Allocation(numbered, shares)
        for row, share in zip(answer.rows, shares, strict=True):
            if not share.any():
                continue
            if len(row) == 1:
                speeds[row[0]] += share @ self.rates.alone[self.active[row[0]]]
            else:
                both = self.rates.pair(self.active[row[0]], self.active[row[1]])
                speeds[list(row)] += share @ both
        return speeds
