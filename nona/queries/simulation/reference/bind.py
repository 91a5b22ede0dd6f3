"""Schedulers that bind all tasks of a job at its arrival, and the rounds of those that allocate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from nona.core.errors import SimulationError
from nona.queries.schedulers.base import Scheduler, SchedulerTables, SystemView, as_lists
from nona.queries.simulation.reference.executors import ExecutorProcess, LoadBoard
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import ROUND, Environment, Process, content_key
from nona.queries.simulation.reference.links import SimulatedLink
from nona.queries.simulation.rounds import SchedulerRounds, no_totals
from nona.queries.system import System


@dataclass(frozen=True, slots=True)
class EngineParts:
    """Parts of the engine that a dispatcher works with; ``queues`` are executors and pools by number."""

    env: Environment
    system: System
    scheduler: Scheduler
    prepared: SchedulerTables
    executors: list[ExecutorProcess]
    queues: list[ExecutorProcess]
    link: SimulatedLink
    board: LoadBoard
    look: Callable[[], SystemView]


class Dispatcher(Protocol):
    """Carries out the decisions of one scheduler."""

    def admit(self, job: QueryJob, uniforms: Any) -> None:
        """Admit a job; ``uniforms`` is an array, or a list for a scheduler that takes lists."""

    def task_ended(self, job: QueryJob, task: int, executor: ExecutorProcess) -> None:
        """Send the results of a complete task; its executor has not yet gone on."""

    def settled(self, open_jobs: int) -> None:
        """Decide what is left to decide after an event."""


def load_s(job: QueryJob, task: int, executor: ExecutorProcess) -> float:
    """Modelled seconds that a task of ``job`` takes of ``executor``: without its draw."""
    return job.plan.loads[executor.kind][task]


def bad_binding(scheduler: str, query: int, places: Sequence[int], executors: int) -> SimulationError:
    """Return the error for a task bound to an executor that there is not."""
    return SimulationError(
        f"Scheduler {scheduler!r}: it bound a task of query class {query} to executors {list(places)}, of "
        f"which one does not exist; write numbers from 0 to {executors - 1}."
    )


class BindDispatcher:
    """Binds every task at the job's arrival; sends each tensor once to each server that needs it."""

    def __init__(self, parts: EngineParts) -> None:
        self._parts, self._lists = parts, parts.scheduler.takes_lists
        tables = parts.prepared.tables
        if parts.scheduler.kind == "allocate":  # rounds change them
            tables = tables._replace(work_s=tables.work_s.copy())
        self._tables = as_lists(tables) if self._lists else tables
        out = np.zeros(max(len(q.tasks) for q in parts.system.queries), dtype=np.int64)
        self._out: Any = out.tolist() if self._lists else out
        self._joins = _joins(parts.system)

    def allot(self, work_s: Any) -> None:
        """From now on decisions look at these works (Q·E,)."""
        self._tables.work_s[:] = work_s.tolist() if self._lists else work_s

    def admit(self, job: QueryJob, uniforms: Any) -> None:
        """Bind the tasks of the job to executors, and start its first ones."""
        parts = self._parts
        decide: Any = parts.scheduler.decide
        decide(parts.env.now, job.query, parts.look(), self._tables, uniforms, self._out)
        out = self._out[: job.plan.tasks]
        places: list[int] = out if self._lists else out.tolist()
        if min(places) < 0 or max(places) >= len(parts.executors):
            raise bad_binding(parts.scheduler.name, job.query, places, len(parts.executors))
        bound = [parts.executors[e] for e in places]
        if self._joins:
            joins = self._joins[job.query]
            bound = [parts.queues[joins[task][e]] for task, e in enumerate(places)]
        job.executor = [*bound]
        for task, executor in enumerate(bound):
            parts.board.promise(executor.board_number, load_s(job, task, executor))
        for task in job.plan.sources:
            job.join(task)

    def task_ended(self, job: QueryJob, task: int, executor: ExecutorProcess) -> None:
        """Send the results of a complete task to where they are read."""
        self._parts.board.release(executor.board_number, load_s(job, task, executor))
        for output in job.plan.outputs[task]:
            elsewhere: dict[int, list[int]] = {}
            for place, target in enumerate(output.targets):
                there = job.executor[target].server
                if there == executor.server:
                    job.arrive(output.numbers[place])
                else:
                    elsewhere.setdefault(there, []).append(place)
            for there, places in elsewhere.items():
                self._parts.link.send(job, output, places, executor.server, there)

    def settled(self, open_jobs: int) -> None:
        """Do nothing: all is decided at arrival."""
        return


def _joins(system: System) -> list[list[list[int]]]:
    """By query class (T, E): the pool that a task joins when it is bound to an executor; empty without."""
    if system.pools is None:
        return []
    first = np.cumsum([0, *(len(q.tasks) for q in system.queries)]).tolist()
    return [system.pools.joins[a:b].tolist() for a, b in pairwise(first)]


class RoundDispatcher:
    """Counts queries for an ``allocate`` scheduler and asks it at every round."""

    def __init__(self, parts: EngineParts, dispatcher: BindDispatcher) -> None:
        self._rounds = SchedulerRounds(parts.system, parts.scheduler, parts.prepared)
        self._totals = no_totals(parts.system)
        self._parts, self._dispatcher = parts, dispatcher
        parts.env.process(self._ask())

    def arrived(self, query: int) -> None:
        """Count a job of the class ``query`` as offered."""
        self._totals.offered[query] += 1

    def completed(self, job: QueryJob, executor: ExecutorProcess) -> None:
        """``job`` is complete; all its tasks ran on ``executor``."""
        service_s = 0.0
        for start_s, end_s, members in zip(job.start_s, job.end_s, job.members, strict=True):
            service_s += (end_s - start_s) / members
        self._totals.completed[job.query, executor.kind] += 1
        self._totals.service_s[job.query, executor.kind] += service_s
        self._totals.response_s[job.query] += self._parts.env.now - job.arrival_s

    def _ask(self) -> Process:
        env = self._parts.env
        while True:
            yield env.schedule_at(self._rounds.next_s, content_key(ROUND))
            if not self._rounds.left_out(self._totals, env.peek()):
                self._dispatcher.allot(self._rounds.work_s(self._totals, self._parts.look()))
