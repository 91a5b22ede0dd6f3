"""The executors: one task at a time, first come first served, run-on, background in between.

Background needs no events. Its arrivals do not depend on the queries, so they are merged into an
executor's queue when the executor is looked at; and once background stands before a task in the
queue, the task's start is known, for only the end of a task can change the order.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from heapq import heappush

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.draws import background_items
from nona.simulation.job import STARTED, Job
from nona.simulation.kernel import JOB_SHIFT, KIND_SHIFT, TASK_END, Entry, LeanEvent
from nona.simulation.load import LoadBoard
from nona.simulation.records import TaskInterval
from nona.system import System

_END_KEY = TASK_END << KIND_SHIFT


class TaskEnd(LeanEvent):
    """The end of the task that runs on one executor."""

    def __init__(self, callback: Callable[[TaskEnd], None], executor: int) -> None:
        super().__init__(callback)
        self.executor = executor
        self.job: Job
        self.task = -1


class Executors:
    """State of all executors, in lists by executor.

    ``active``: a task runs or is certain to run next; ``free_s``: when all that was started will
    have ended; ``since_s``: start of the busy period; ``closed_s``: length of the busy periods
    before it; ``work_s``: sum of the services started.
    """

    def __init__(
        self,
        system: System,
        streams: RandomStreams,
        heap: list[Entry],
        on_end: Callable[[TaskEnd], None],
        run_on: bool,
        board: LoadBoard | None,
    ) -> None:
        n = system.executors
        self.heap, self.run_on, self.board = heap, run_on, board
        self.classes: list[int] = system.executor_class.tolist()
        self.events = [TaskEnd(on_end, e) for e in range(n)]
        self.queues: list[deque[tuple[Job | None, int, float]]] = [deque() for _ in range(n)]
        self.active = [False] * n
        self.free_s, self.since_s, self.closed_s, self.work_s = ([0.0] * n for _ in range(4))
        self._items = [
            background_items(system.background_compute, streams, "executor", str(e)) for e in range(n)
        ]
        first = [next(items, (math.inf, 0.0)) for items in self._items]
        self.next_background_s = [t for t, _ in first]
        self._next_service_s = [s for _, s in first]
        if board is not None:
            board.next_change_s[:] = self.next_background_s

    def join(self, e: int, now: float, job: Job, task: int) -> None:
        """``task`` has all its inputs: it stands in the queue of executor ``e``, or starts."""
        if job.trace is not None:
            job.trace.ready_s[task] = now
        if self.next_background_s[e] <= now:
            self.absorb(e, now)
        if self.active[e]:
            self.queues[e].append((job, task, 0.0))
            job.waiting.append((e, task))
        else:
            free = self.free_s[e]
            self._start(e, now if now > free else free, job, task)

    def proceed(self, e: int, now: float, job: Job) -> None:
        """A task of ``job`` has ended on ``e``: start the next, of the same job if one is ready."""
        waiting = job.waiting
        if waiting and self.run_on:
            for k, (place, task) in enumerate(waiting):
                if place == e:
                    del waiting[k]
                    self._start(e, now, job, task)
                    return
        if self.next_background_s[e] <= now:
            self.absorb(e, now)
        queue = self.queues[e]
        while queue:
            owner, task, service = queue.popleft()
            if owner is None:
                self._run_background(e, self.free_s[e], service)
            elif owner.missing[task] != STARTED:  # else it has run on earlier
                owner.waiting.remove((e, task))
                self._start(e, self.free_s[e], owner, task)
                return
        self.active[e] = False

    def _start(self, e: int, start: float, job: Job, task: int) -> None:
        modelled = job.plan.times[self.classes[e]][task]
        service = modelled if job.draws is None else modelled * job.draws[task]
        free = self.free_s[e]
        if start > free:
            self.closed_s[e] += free - self.since_s[e]
            self.since_s[e] = start
        end = start + service
        self.free_s[e] = end
        self.work_s[e] += service
        self.active[e] = True
        job.missing[task] = STARTED
        job.work_s += modelled
        event = self.events[e]
        event.job = job
        event.task = task
        heappush(self.heap, (end, _END_KEY + (job.number << JOB_SHIFT) + task, 0, event))
        if job.trace is not None:
            ready = job.trace.ready_s[task]
            job.trace.tasks.append(TaskInterval(job.number, job.query, task, e, ready, start, end))

    def absorb(self, e: int, now: float) -> None:
        """Let the background of executor ``e`` that arrived up to ``now`` join its queue."""
        arrival, board = self.next_background_s[e], self.board
        while arrival <= now:
            service = self._next_service_s[e]
            if board is not None:
                board.add_background(e)
            if self.active[e]:
                self.queues[e].append((None, 0, service))
            else:
                free = self.free_s[e]
                self._run_background(e, arrival if arrival > free else free, service)
            arrival, self._next_service_s[e] = next(self._items[e])
            self.next_background_s[e] = arrival
        if board is not None:
            board.note_arrival(e, arrival)

    def _run_background(self, e: int, start: float, service: float) -> None:
        free = self.free_s[e]
        if start > free:
            self.closed_s[e] += free - self.since_s[e]
            self.since_s[e] = start
        self.free_s[e] = end = start + service
        self.work_s[e] += service
        if self.board is not None:
            self.board.note_end(e, end)

    def settle(self, now: float) -> None:
        """Bring the load board up to ``now``."""
        board = self.board
        if board is None:
            return
        for e in np.flatnonzero(board.next_change_s <= now).tolist():
            if self.next_background_s[e] <= now:
                self.absorb(e, now)
            board.end_background(e, now, self.next_background_s[e])

    def busy_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Busy seconds of every executor from 0 to ``now``: the length of its busy periods."""
        self._absorb_all(now)
        free, since, closed = (np.array(x) for x in (self.free_s, self.since_s, self.closed_s))
        open_s: NDArray[np.float64] = closed + np.minimum(free, now) - since
        return open_s

    def work_until(self, now: float) -> NDArray[np.float64]:
        """(E,) Seconds of service done by ``now``: started services less what is left of them."""
        self._absorb_all(now)
        done: NDArray[np.float64] = np.array(self.work_s) - np.maximum(0.0, np.array(self.free_s) - now)
        return done

    def _absorb_all(self, now: float) -> None:
        for e, arrival in enumerate(self.next_background_s):
            if arrival <= now:
                self.absorb(e, now)
