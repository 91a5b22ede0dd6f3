"""Executors: one task at a time; the load that schedulers see; the inputs of tasks.

Background needs no events. Its arrivals do not depend on the queries, so they are merged into the
queue when the executor is looked at; and once background stands before a task in the queue, the
task's start is known, for only the end of a task can change the order.

Where the delivery of a message is known when it is requested, the task needs one event, at the
latest delivery, however many messages it waits for. Deliveries at one instant are ordered by
(job, input), so the event carries the number of the last.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from heapq import heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.records import TaskInterval
from nona.simulation.reference.jobs import STARTED, Job
from nona.simulation.reference.kernel import ITEM_MASK, Entry, LeanEnvironment, LeanEvent
from nona.simulation.workload import background_items
from nona.system import System

TICK_S = 1e-12


class LoadBoard:
    """Queue lengths and backlogs, kept up to date only for schedulers that read them.

    ``queue_length`` (E,) counts the tasks bound to an executor that are not complete, and the
    background that waits or runs there. ``backlog_s`` (E,) adds up their modelled times (of
    background: the mean). They are added and taken off in whole picoseconds, so that equal loads
    are equal, whatever came before. ``free`` counts the executors with nothing;
    ``background_freed`` says whether the end of background has freed one since it was last set to false.
    ``card_bytes_s``: what is promised at the cards of the servers, see :class:`~nona.schedulers.base.View`.
    """

    def __init__(self, executors: int, background_mean_s: float, servers: int = 0) -> None:
        self.queue_length = np.zeros(executors, dtype=np.int64)
        self.backlog_s = np.zeros(executors)
        self.card_bytes_s = np.zeros(2 * servers)
        self.next_change_s = np.full(executors, math.inf)
        self.free = executors
        self.background_freed = False
        self._ends: list[deque[float]] = [deque() for _ in range(executors)]
        self._mean_s = background_mean_s
        self._ticks = [0] * executors

    def promise(self, e: int, modelled_s: float) -> None:
        """A task is bound to executor ``e``."""
        if self.queue_length[e] == 0:
            self.free -= 1
        self.queue_length[e] += 1
        self._ticks[e] += round(modelled_s / TICK_S)
        self.backlog_s[e] = self._ticks[e] * TICK_S

    def release(self, e: int, modelled_s: float) -> None:
        """A task on executor ``e`` is complete."""
        self.queue_length[e] -= 1
        if self.queue_length[e] == 0:
            self.free += 1
        self._ticks[e] -= round(modelled_s / TICK_S)
        self.backlog_s[e] = self._ticks[e] * TICK_S

    def add_background(self, e: int) -> None:
        """A background task has joined the queue of ``e``."""
        self.promise(e, self._mean_s)

    def note_arrival(self, e: int, next_arrival_s: float) -> None:
        """The next background task of ``e`` arrives then."""
        ends = self._ends[e]
        self.next_change_s[e] = min(next_arrival_s, ends[0]) if ends else next_arrival_s

    def note_end(self, e: int, end_s: float) -> None:
        """A background task on ``e`` has its end fixed."""
        self._ends[e].append(end_s)
        self.next_change_s[e] = min(self.next_change_s[e], end_s)

    def end_background(self, e: int, now: float, next_arrival_s: float) -> None:
        """Take off the background tasks of ``e`` that have ended by ``now``."""
        ends = self._ends[e]
        while ends and ends[0] <= now:
            ends.popleft()
            self.release(e, self._mean_s)
            self.background_freed |= bool(self.queue_length[e] == 0)
        self.note_arrival(e, next_arrival_s)

    def next_freed_s(self) -> float:
        """Return the time at which the next executor busy with background alone becomes free."""
        waiting = (ends for e, ends in enumerate(self._ends) if len(ends) == self.queue_length[e])
        return min((ends[-1] for ends in waiting if ends), default=math.inf)


class Executor(LeanEvent):
    """State of an executor, and the event that its task ends.

    ``active``: a task runs or is certain to run next, :attr:`task` of :attr:`job`; ``free_s``: when
    all that was started will have ended; ``since_s``: start of the busy period; ``closed_s``: length
    of the busy periods before it; ``work_s``: sum of the services started.
    """

    __slots__ = (
        "_items",
        "_next_service_s",
        "active",
        "board",
        "callbacks",
        "closed_s",
        "executor_class",
        "free_s",
        "heap",
        "job",
        "next_background_s",
        "number",
        "queue",
        "run_on",
        "server",
        "since_s",
        "task",
        "work_s",
    )
    job: Job

    def __init__(
        self,
        number: int,
        server: int,
        executor_class: int,
        background: Iterator[tuple[float, float]],
        heap: list[Entry],
        on_end: Callable[[Any], None],
        run_on: bool,
        board: LoadBoard | None,
    ) -> None:
        super().__init__(on_end)
        self.number, self.server, self.executor_class = number, server, executor_class
        self.heap, self.run_on, self.board = heap, run_on, board
        self.queue: deque[tuple[Job | None, int, float]] = deque()
        self.active, self.task = False, -1
        self.free_s = self.since_s = self.closed_s = self.work_s = 0.0
        self._items = background
        self.next_background_s, self._next_service_s = next(background, (math.inf, 0.0))

    def join(self, now: float, job: Job, task: int) -> None:
        """``task`` has all its inputs, the last since ``now``: it stands in the queue, or starts."""
        if self.next_background_s <= now:
            self.absorb(now)
        if self.active:
            self.queue.append((job, task, 0.0))
            job.waiting[task] = self
        else:
            free = self.free_s
            self._start(now if now > free else free, job, task)

    def proceed(self, now: float, job: Job) -> None:
        """A task of ``job`` has ended here: start the next, of the same job if one is ready."""
        waiting = job.waiting
        if waiting and self.run_on:
            for task, place in waiting.items():  # in the order in which they joined
                if place is self:
                    del waiting[task]
                    self._start(now, job, task)
                    return
        if self.next_background_s <= now:
            self.absorb(now)
        queue = self.queue
        while queue:
            owner, task, service = queue.popleft()
            if owner is None:
                self._run_background(self.free_s, service)
            elif owner.missing[task] != STARTED:  # else it has run on earlier
                del owner.waiting[task]
                self._start(self.free_s, owner, task)
                return
        self.active = False

    def _start(self, start: float, job: Job, task: int) -> None:
        service = job.plan.times[self.executor_class][task]
        job.work_s += service
        if job.draws is not None:
            service *= job.draws[task]
        if start > self.free_s:
            self.closed_s += self.free_s - self.since_s
            self.since_s = start
        self.free_s = end = start + service
        self.work_s += service
        job.start_s[task] = start
        job.end_s[task] = end
        self.active = True
        self.job = job
        self.task = task
        job.missing[task] = STARTED
        heappush(self.heap, (end, job.end_key + task, 0, self))
        if job.trace is not None:
            interval = TaskInterval(job.number, job.query, task, self.number, job.latest_s[task], start, end)
            job.trace.tasks.append(interval)

    def absorb(self, now: float) -> None:
        """Let the background that arrived up to ``now`` join the queue."""
        arrival, board = self.next_background_s, self.board
        while arrival <= now:
            if board is not None:
                board.add_background(self.number)
            if self.active:
                self.queue.append((None, 0, self._next_service_s))
            else:
                free = self.free_s
                self._run_background(arrival if arrival > free else free, self._next_service_s)
            arrival, self._next_service_s = next(self._items)
        self.next_background_s = arrival
        if board is not None:
            board.note_arrival(self.number, arrival)

    def _run_background(self, start: float, service: float) -> None:
        if start > self.free_s:
            self.closed_s += self.free_s - self.since_s
            self.since_s = start
        self.free_s = end = start + service
        self.work_s += service
        if self.board is not None:
            self.board.note_end(self.number, end)

    def busy_until(self, now: float) -> float:
        """Busy seconds from 0 to ``now``: the length of the busy periods."""
        if self.next_background_s <= now:
            self.absorb(now)
        return self.closed_s + min(self.free_s, now) - self.since_s

    def work_until(self, now: float) -> float:
        """Seconds of service done by ``now``: started services less what is left of them."""
        if self.next_background_s <= now:
            self.absorb(now)
        return self.work_s - max(0.0, self.free_s - now)


class Executors:
    """The executors, in ``all`` by number, and their common state."""

    def __init__(
        self,
        system: System,
        streams: RandomStreams,
        heap: list[Entry],
        on_end: Callable[[Any], None],
        run_on: bool,
        board: LoadBoard | None,
    ) -> None:
        self.board = board
        servers, classes = system.executor_server.tolist(), system.executor_class.tolist()
        self.all = [
            Executor(
                number=e,
                server=servers[e],
                executor_class=classes[e],
                background=background_items(system.background_compute, streams, "executor", str(e)),
                heap=heap,
                on_end=on_end,
                run_on=run_on,
                board=board,
            )
            for e in range(system.executors)
        ]
        if board is not None:
            board.next_change_s[:] = [x.next_background_s for x in self.all]

    def settle(self, now: float) -> None:
        """Bring the load board up to ``now``."""
        board = self.board
        if board is None:
            return
        for e in np.flatnonzero(board.next_change_s <= now).tolist():
            executor = self.all[e]
            if executor.next_background_s <= now:
                executor.absorb(now)
            board.end_background(e, now, executor.next_background_s)

    def busy_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Busy seconds of every executor from 0 to ``now``: the length of its busy periods."""
        return np.array([x.busy_until(now) for x in self.all])

    def work_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Seconds of service done by every executor by ``now``."""
        return np.array([x.work_until(now) for x in self.all])


class Inputs:
    """Counts inputs down; the task joins its executor's queue with the last."""

    def __init__(self, environment: LeanEnvironment) -> None:
        self.environment, self.heap = environment, environment.heap
        self.callbacks: list[Callable[[Any], None]] = [self._joins]

    def _joins(self, job: Job) -> None:
        """The event of a job: which input has arrived is in its key."""
        task = job.plan.readers[self.environment.key & ITEM_MASK]
        job.executor[task].join(self.environment._now, job, task)

    def here(self, now: float, job: Job, task: int) -> None:
        """One input of ``task`` is on its server ``now``."""
        missing = job.missing
        if missing[task] > 1:
            missing[task] -= 1
        elif job.latest_s[task] > now:
            self.wait(job, task)
        else:
            missing[task] = 0
            job.latest_s[task] = now
            job.executor[task].join(now, job, task)

    def later(self, delivered_s: float, job: Job, task: int, number: int) -> None:
        """Input ``number`` of the job, which ``task`` reads, will be there at ``delivered_s``."""
        if delivered_s > job.latest_s[task]:
            job.latest_s[task] = delivered_s
            job.latest_number[task] = number
        elif delivered_s == job.latest_s[task]:
            job.latest_number[task] = max(job.latest_number[task], number)
        if job.missing[task] > 1:
            job.missing[task] -= 1
        else:
            self.wait(job, task)

    def wait(self, job: Job, task: int) -> None:
        """All inputs of ``task`` are there or on their way: let it join with the last."""
        job.missing[task] = 0
        key = job.message_key + job.latest_number[task]
        heappush(self.heap, (job.latest_s[task], key, 0, job))
