"""Executors, each a process that runs one task at a time, and the load that schedulers see.

Pools of instances, and those that take several tasks in a step, are in
:mod:`~nona.queries.simulation.reference.pools`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from nona.core.arrays import Floats
from nona.queries.simulation.records import TaskInterval
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import BACKGROUND, TASK_END, Environment, Process, content_key
from nona.queries.system import System

TICK_S = 1e-12

Item = tuple[QueryJob | None, int, float]  # a task of a job; or no job, and the seconds of background
OnEnd = Callable[[list[QueryJob], int, "ExecutorProcess"], None]  # jobs of the step, task


class LoadBoard:
    """Queue lengths and backlogs by executor, kept up to date where the scheduler reads them.

    ``queue_length`` (E,) counts the tasks bound to an executor that are not complete, and the background
    that waits or runs there. ``backlog_s`` (E,) adds up their modelled times (of background: the mean), in
    whole picoseconds, so that equal loads are equal, whatever came before. ``free`` counts the executors
    with nothing, ``freed`` holds those of them whose background has ended since the last decision.
    ``card_bytes_s``: see :class:`~nona.queries.schedulers.base.SystemView`.
    """

    def __init__(self, executors: int, servers: int, is_read: bool) -> None:
        self._is_read = is_read
        self.queue_length = np.zeros(executors, dtype=np.int64)
        self.backlog_s = np.zeros(executors)
        self.card_bytes_s = np.zeros(2 * servers)
        self.free = executors
        self.freed = set[int]()
        self._ticks = [0] * executors

    def promise(self, e: int, modelled_s: float) -> None:
        """Add a task bound to executor ``e``, or background that joins its queue."""
        self._change(e, 1, round(modelled_s / TICK_S))

    def release(self, e: int, modelled_s: float) -> None:
        """Take off a complete task."""
        self._change(e, -1, -round(modelled_s / TICK_S))

    def _change(self, e: int, tasks: int, ticks: int) -> None:
        if not self._is_read:
            return
        before = self.queue_length[e]
        self.queue_length[e] += tasks
        self.free += int(self.queue_length[e] == 0) - int(before == 0)
        self._ticks[e] += ticks
        self.backlog_s[e] = self._ticks[e] * TICK_S


class Surroundings(NamedTuple):
    """Clock, system and listeners of all executors of a run."""

    env: Environment
    system: System
    run_on: bool
    board: LoadBoard
    on_end: OnEnd


class ExecutorProcess:
    """One executor, and the process that serves its queue.

    ``free_s``: when what it has started ends; ``since_s``: start of the busy period; ``closed_s``: length of
        the busy periods before it; ``work_s``: sum of the services started; ``idle_s``: of the time between
        them. ``on_end(jobs, task, executor)`` hears that a task is complete, of one job or of all in a batch,
        before the next one is chosen.
    ``expected``: where tasks are picked, so many of them are one batch.
    """

    expected = 0

    def __init__(self, number: int, background: Iterator[tuple[float, float]], of: Surroundings) -> None:
        env, system, self.run_on, self.board, self.on_end = of
        self.env, self.number, self.board_number = env, number, number
        at = min(number, system.executors - 1)  # pools of stages set their own
        self.server, self.kind = int(system.executor_server[at]), int(system.executor_class[at])
        self.free_s = self.since_s = self.closed_s = self.work_s = self.idle_s = 0.0
        self._queue: list[Item] = []
        self._in_service: Item | None = None
        self._joined = env.event()
        self._background_mean_s = system.background_compute.mean
        env.process(self._serve())
        env.process(self._background(background))

    def join(self, job: QueryJob | None, task: int = 0, service_s: float = 0.0) -> None:
        """Queue a task, all of whose inputs are here, or background."""
        self._queue.append((job, task, service_s))
        if not self._joined.triggered:
            self._joined.succeed()

    def _serve(self) -> Process:
        last: QueryJob | None = None  # whose task has just ended here
        while True:
            if not self._queue:
                last, self._joined = None, self.env.event()
                yield self._joined
            self._in_service = self._queue.pop(self._next_place(last))
            last, task, service_s = self._in_service
            yield from self._run(last, task) if last else self._run_background(service_s)

    def _next_place(self, last: QueryJob | None) -> int:
        """Run-on: the first ready task of the job that has just run here goes before all others."""
        own = (place for place, item in enumerate(self._queue) if item[0] is last)
        return next(own, 0) if last and self.run_on else 0

    def _run(self, job: QueryJob, task: int) -> Process:
        service_s = job.plan.times[self.kind][task]
        if job.draws is not None:
            service_s *= job.draws[task]
        job.start_s[task], job.end_s[task] = self.env.now, self._hold(service_s)
        if job.trace is not None:
            times = job.joined_s[task], job.start_s[task], job.end_s[task]
            job.trace.tasks.append(TaskInterval(job.number, job.query, task, self.number, *times))
        yield self.env.schedule_at(self.free_s, content_key(TASK_END, job.number, task))
        self._in_service = None
        self.on_end([job], task, self)

    def _background(self, items: Iterator[tuple[float, float]]) -> Process:
        for arrival_s, service_s in items:
            yield self.env.schedule_at(arrival_s, content_key(BACKGROUND, self.number))
            self.board.promise(self.number, self._background_mean_s)
            self.board.freed.discard(self.number)
            self.join(None, service_s=service_s)

    def _run_background(self, service_s: float) -> Process:
        yield self.env.schedule_at(self._hold(service_s), content_key(BACKGROUND, self.number, 1))
        self._in_service = None
        self._background_ended()

    def _background_ended(self) -> None:
        self.board.release(self.number, self._background_mean_s)
        if not self.board.queue_length[self.number]:
            self.board.freed.add(self.number)

    def _hold(self, service_s: float) -> float:
        """Begin a service now; return its end."""
        now = self.env.now
        if now > self.free_s:
            self.idle_s += now - self.free_s
            self.closed_s += self.free_s - self.since_s
            self.since_s = now
        self.free_s = now + service_s
        self.work_s += service_s
        return self.free_s

    def cleared_s(self) -> float:
        """When the background here will have ended; ``inf`` where there is none, or a task is bound here."""
        items = [self._in_service, *self._queue] if self._in_service else self._queue
        if not items or len(items) != self.board.queue_length[self.number] or any(job for job, _, _ in items):
            return math.inf
        cleared = self.free_s
        for _, _, service_s in self._queue:
            cleared += service_s
        return cleared

    def busy_until(self, now: float) -> float:
        """Busy seconds from 0 to ``now``: the length of the busy periods."""
        return self.closed_s + min(self.free_s, now) - self.since_s

    def served_until(self, now: float) -> float:
        """Seconds of service given by ``now``: all busy ones, as one task runs at a time."""
        return self.busy_until(now)

    def work_until(self, now: float) -> float:
        """Seconds of service done by ``now``: started services less what is left of them."""
        return self.work_s - max(0.0, self.free_s - now)


def busy_s(executors: list[ExecutorProcess], now: float) -> Floats:
    """(E,) Busy seconds of every executor from 0 to ``now``."""
    return np.array([x.busy_until(now) for x in executors])


def served_and_work(executors: list[ExecutorProcess], now: float) -> tuple[Floats, Floats]:
    """(E,) Seconds of service given by every executor from 0 to ``now``, and those of what was done."""
    return np.array([x.served_until(now) for x in executors]), np.array(
        [x.work_until(now) for x in executors]
    )
