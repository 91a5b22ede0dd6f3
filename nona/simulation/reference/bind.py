"""Decisions of schedulers that bind all tasks of a job at its arrival.

and the rounds of those that allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappush
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler, View, as_lists
from nona.simulation.reference.executors import Executor, Executors, Inputs, LoadBoard
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import ROUND, LeanEnvironment, LeanEvent, content_key
from nona.simulation.reference.links import Link
from nona.simulation.rounds import Rounds, no_totals
from nona.simulation.workload import Output
from nona.system import System


@dataclass(frozen=True, slots=True)
class Parts:
    """Parts of the engine that a dispatcher works with."""

    system: System
    scheduler: Scheduler
    prepared: Prepared
    executors: Executors
    link: Link
    inputs: Inputs
    board: LoadBoard | None
    look: Callable[[float], View]


class Dispatcher(Protocol):
    """Carries out the decisions of one scheduler."""

    def admit(self, job: Job, uniforms: Any, now: float) -> None:
        """A job has arrived; ``uniforms`` is an array, or a list for a scheduler that takes lists."""

    def task_ended(self, job: Job, task: int, executor: Executor, now: float) -> None:
        """A task is complete: hand on its results. Its executor has not yet gone on."""

    def settled(self, now: float, open_jobs: int) -> None:
        """The event has been dealt with; decide what is left to decide."""


def modelled_s(job: Job, task: int, executor: Executor) -> float:
    """Modelled seconds of a task of ``job`` on ``executor``: without its draw."""
    return job.plan.times[executor.executor_class][task]


def bad_binding(scheduler: str, query: int, places: Sequence[int], executors: int) -> SimulationError:
    """The error for a task bound to an executor that there is not."""
    return SimulationError(
        f"Scheduler {scheduler!r}: it bound a task of query class {query} to an executor that "
        f"does not exist (its choice: {list(places)}); write numbers from 0 to {executors - 1}."
    )


class BindDispatcher:
    """Binds every task at the job's arrival; sends each tensor once to each server that needs it."""

    def __init__(self, parts: Parts) -> None:
        self.executors, self.board = parts.executors.all, parts.board
        self.send, self.here = parts.link.send, parts.inputs.here
        self.name, self.decide = parts.scheduler.name, parts.scheduler.decide
        self.lists = parts.scheduler.takes_lists
        tables = parts.prepared.tables
        if parts.scheduler.kind == "allocate":  # rounds change them
            tables = tables._replace(work_s=tables.work_s.copy())
        self.tables = as_lists(tables) if self.lists else tables
        self.look = parts.look
        out = np.zeros(max(len(q.tasks) for q in parts.system.queries), dtype=np.int64)
        self.out: Any = out.tolist() if self.lists else out

    def allot(self, work_s: NDArray[np.float64]) -> None:
        """From now on decisions look at these works."""
        self.tables.work_s[:] = work_s.tolist() if self.lists else work_s

    def admit(self, job: Job, uniforms: Any, now: float) -> None:
        decide: Any = self.decide
        decide(now, job.query, self.look(now), self.tables, uniforms, self.out)
        out = self.out[: job.plan.tasks]
        places: list[int] = out if self.lists else out.tolist()
        if min(places) < 0 or max(places) >= len(self.executors):
            raise bad_binding(self.name, job.query, places, len(self.executors))
        everywhere = self.executors
        bound = [everywhere[e] for e in places]
        job.executor = [*bound]
        if self.board is not None:
            for task, executor in enumerate(bound):
                self.board.promise(executor.number, modelled_s(job, task, executor))
        for task in job.plan.sources:
            job.latest_s[task] = now
            job.executor[task].join(now, job, task)

    def task_ended(self, job: Job, task: int, executor: Executor, now: float) -> None:
        if self.board is not None:
            self.board.release(executor.number, modelled_s(job, task, executor))
        places, here = job.executor, executor.server
        for output in job.plan.outputs[task]:
            target = output.only
            if target < 0:
                self._fan_out(job, output, here, now)
                continue
            place = places[target]
            if place.server != here:
                self.send(now, job, output, (0,), here, place.server)
            elif job.missing[target] > 1:
                job.missing[target] -= 1
            else:
                self.here(now, job, target)

    def _fan_out(self, job: Job, output: Output, here: int, now: float) -> None:
        """Hand a tensor to its readers: at once on this server, by one message to each other server."""
        groups: dict[int, list[int]] = {}
        for place, target in enumerate(output.targets):
            there = job.executor[target].server
            if there == here:
                self.here(now, job, target)
            else:
                groups.setdefault(there, []).append(place)
        for there, places in groups.items():
            self.send(now, job, output, places, here, there)

    def settled(self, now: float, open_jobs: int) -> None:
        return


class RoundEvents:
    """Counts queries for an ``allocate`` scheduler and asks it at every round."""

    def __init__(self, parts: Parts, dispatcher: BindDispatcher, environment: LeanEnvironment) -> None:
        self._rounds = Rounds(parts.system, parts.scheduler, parts.prepared)
        self._totals = no_totals(parts.system)
        self._dispatcher, self._look, self._environment = dispatcher, parts.look, environment
        self._event = LeanEvent(self._round)
        self._schedule()

    def arrived(self, query: int) -> None:
        """A query has arrived."""
        self._totals.offered[query] += 1

    def completed(self, job: Job, executor: Executor, now: float) -> None:
        """``job`` is complete; all its tasks ran on ``executor``."""
        service_s = 0.0
        for start_s, end_s in zip(job.start_s, job.end_s, strict=True):
            service_s += end_s - start_s
        self._totals.completed[job.query, executor.executor_class] += 1
        self._totals.service_s[job.query, executor.executor_class] += service_s
        self._totals.response_s[job.query] += now - job.arrival_s

    def _schedule(self) -> None:
        heappush(self._environment.heap, (self._rounds.next_s, content_key(ROUND), 0, self._event))

    def _round(self, _: LeanEvent) -> None:
        if not self._rounds.left_out(self._totals, self._environment.heap[0][0]):
            self._dispatcher.allot(self._rounds.work_s(self._totals, self._look(self._rounds.next_s)))
        self._schedule()
