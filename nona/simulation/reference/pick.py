"""Decisions of schedulers that pick a ready task for a free executor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from heapq import heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.schedulers.base import NetworkView, Ready, card_rate
from nona.simulation.reference.bind import Parts, modelled_s
from nona.simulation.reference.executors import Executor, LoadBoard
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import HANDED, WAKE, LeanEnvironment, LeanEvent, content_key

_JOB, _QUERY, _TASK, _RUNNING, _HOME, _FIRST, _SIZE, _BASE = range(8)


class ReadyList:
    """Ready tasks in the order in which they became ready.

    ``jobs[i]`` is the job of entry i; the arrays of :meth:`table` say the same in numbers. ``places`` says
    where the tasks of all jobs in the system are, see :class:`~nona.schedulers.base.Ready`.
    """

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.zeros((8, 64), dtype=np.int64)
        self._since_s, self._draw = np.zeros(64), np.zeros(64)
        self.jobs: list[Job] = []
        self.places: NDArray[np.int64] = np.full(64, -1)
        self._used, self._left = 0, dict[int, list[int]]()

    def __len__(self) -> int:
        return len(self.jobs)

    def enter(self, job: Job) -> None:
        """Give the job's tasks their part of ``places``: that of a job which has left, or a new one."""
        tasks, left = job.plan.tasks, self._left.setdefault(job.plan.tasks, [])
        if left:
            job.base = left.pop()
        else:
            job.base, self._used = self._used, self._used + tasks
            if self._used > len(self.places):
                self.places = np.concatenate([self.places, np.full(self._used, -1)])
        self.places[job.base : job.base + tasks] = -1

    def leave(self, job: Job) -> None:
        """The job is complete."""
        self._left[job.plan.tasks].append(job.base)

    def append(self, job: Job, task: int, now: float, home: int) -> None:
        """``task`` of ``job`` has become ready; ``home`` is where its last predecessor ran."""
        n = len(self.jobs)
        if n == self._numbers.shape[1]:
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)], axis=1)
            self._since_s = np.concatenate([self._since_s, np.zeros(n)])
            self._draw = np.concatenate([self._draw, np.zeros(n)])
        self._numbers[:, n] = (job.number, job.query, task, job.running, home, task, 1, job.base)
        self._since_s[n], self._draw[n] = now, job.draw
        self.jobs.append(job)

    def close_batch(self, size: int) -> None:
        """The last ``size`` entries have become ready together."""
        n = len(self.jobs)
        if size:
            self._numbers[_FIRST, n - size : n] = self._numbers[_TASK, n - size]
            self._numbers[_SIZE, n - size : n] = size

    def remove(self, place: int) -> tuple[Job, int]:
        """Take out entry ``place``: its job and task."""
        n = len(self.jobs)
        task = int(self._numbers[_TASK, place])
        self._numbers[:, place : n - 1] = self._numbers[:, place + 1 : n]
        self._since_s[place : n - 1] = self._since_s[place + 1 : n]
        self._draw[place : n - 1] = self._draw[place + 1 : n]
        return self.jobs.pop(place), task

    def running_changed(self, job: Job) -> None:
        """``job`` holds more or fewer executors than before."""
        n = len(self.jobs)
        if n:
            self._numbers[_RUNNING, :n][self._numbers[_JOB, :n] == job.number] = job.running

    def table(self, open_jobs: int) -> Ready:
        """The list as arrays of its length."""
        n = len(self.jobs)
        rows = self._numbers[:, :n]
        return Ready(
            n=n,
            job=rows[_JOB],
            query=rows[_QUERY],
            task=rows[_TASK],
            since_s=self._since_s[:n],
            job_running=rows[_RUNNING],
            home=rows[_HOME],
            open_jobs=open_jobs,
            batch_first=rows[_FIRST],
            batch_size=rows[_SIZE],
            job_draw=self._draw[:n],
            base=rows[_BASE],
            places=self.places,
        )


_BLOCK = 512


def uniform_blocks(streams: RandomStreams, width: int) -> Iterator[NDArray[np.float64]]:
    """Endless blocks of rows of uniforms: a row per pick, the same for every scheduler of equal width."""
    rng = streams.generator("picks")
    while True:
        yield rng.random((_BLOCK, max(width, 1)))


def bad_pick(scheduler: str, place: int, ready: int, executor: int) -> SimulationError:
    """Make the error for a pick outside the list, or for an executor that is not free."""
    return SimulationError(
        f"Scheduler {scheduler!r}: it picked ready task {place} of {ready} for executor "
        f"{executor}; pick one that is in the list, for an executor whose queue_length is 0."
    )


class HandOver(LeanEvent):
    """The event that a picked task reaches its executor."""

    __slots__ = ("job", "task")

    def __init__(self, callback: Callable[[Any], None], job: Job, task: int) -> None:
        super().__init__(callback)
        self.job, self.task = job, task


class PickDispatcher:
    """Keeps ready tasks in one list and asks the policy while there are some and free executors.

    A task is picked when all its predecessors are complete; only then is it known where its
    inputs must go. The executor is promised to it while they travel: it takes no other task, but
    its background goes on.
    """

    def __init__(
        self, parts: Parts, board: LoadBoard, streams: RandomStreams, environment: LeanEnvironment
    ) -> None:
        self.executors, self.board, self.look = parts.executors, board, parts.look
        self.link, self.inputs = parts.link, parts.inputs
        self.name, self.decide, self.tables = (
            parts.scheduler.name,
            parts.scheduler.decide,
            parts.prepared.tables,
        )
        self.ready, self._environment = ReadyList(), environment
        self.hand_over_s = parts.prepared.hand_over_s
        self.promises_cards = parts.scheduler.network_view >= NetworkView.N3
        self.has_background = parts.system.background_compute.rate > 0
        self._rows = (
            row for rows in uniform_blocks(streams, parts.prepared.uniforms_per_job) for row in rows
        )
        self._row = next(self._rows)
        self._out = np.zeros(2, dtype=np.int64)
        self._wake, self._wake_s, self._serial = LeanEvent(self._woken), math.inf, 0
        self._open_jobs = 0

    def admit(self, job: Job, uniforms: Any, now: float) -> None:
        job.executor = [self.executors.all[0]] * job.plan.tasks  # the true one is set when picked
        job.unfinished = job.plan.predecessors.copy()
        job.coming = {}
        job.picked_s = [0.0] * job.plan.tasks
        job.running = 0
        job.draw = float(uniforms[0]) if len(uniforms) else 0.0
        self.ready.enter(job)
        for task in job.plan.sources:
            self.ready.append(job, task, now, -1)
        self.ready.close_batch(len(job.plan.sources))

    def task_ended(self, job: Job, task: int, executor: Executor, now: float) -> None:
        self.board.release(executor.number, modelled_s(job, task, executor))
        if self.promises_cards:
            self._promise_cards(job, task, executor, -1.0)
        self.ready.places[job.base + task] = -2 - executor.number
        if job.left == 1:
            self.ready.leave(job)
        job.running -= 1
        self.ready.running_changed(job)
        before = len(self.ready)
        for target in job.plan.successors[task]:
            job.unfinished[target] -= 1
            if job.unfinished[target] == 0:
                self.ready.append(job, target, now, executor.number)
        self.ready.close_batch(len(self.ready) - before)

    def settled(self, now: float, open_jobs: int) -> None:
        self._open_jobs = open_jobs
        if not len(self.ready):
            return
        if self.has_background:
            self.executors.settle(now)
        self.board.background_freed = False
        decide: Any = self.decide
        while len(self.ready) and self.board.free:
            table = self.ready.table(open_jobs)
            if not decide(now, self.look(now), table, self.tables, self._row, self._out):
                break
            self._bind(int(self._out[0]), int(self._out[1]), now)
            self._row = next(self._rows)
        if self.has_background and len(self.ready):
            self._plan_wake()

    def _bind(self, place: int, number: int, now: float) -> None:
        if not (0 <= place < len(self.ready) and 0 <= number < len(self.executors.all)) or (
            self.board.queue_length[number] != 0
        ):
            raise bad_pick(self.name, place, len(self.ready), number)
        job, task = self.ready.remove(place)
        executor = job.executor[task] = self.executors.all[number]
        self.ready.places[job.base + task] = number
        job.running += 1
        self.ready.running_changed(job)
        self.board.promise(number, modelled_s(job, task, executor))
        if self.promises_cards:
            self._promise_cards(job, task, executor, 1.0)
        if self.hand_over_s > 0:
            event = HandOver(self._handed, job, task)
            key = content_key(HANDED, job.number, task)
            heappush(self._environment.heap, (now + self.hand_over_s, key, 0, event))
        else:
            self._fetch(job, task, now)

    def _promise_cards(self, job: Job, task: int, executor: Executor, sign: float) -> None:
        """Add (1) or take off (−1) the rates of the task's inputs from other servers."""
        rates, there = self.board.card_bytes_s, executor.server
        seconds = modelled_s(job, task, executor)
        for output, _, source in job.plan.reads[task]:
            here = job.executor[source].server
            if here != there:
                rate = sign * card_rate(output.size_bytes, seconds)
                rates[there] += rate
                rates[len(rates) // 2 + here] += rate

    def _handed(self, event: HandOver) -> None:
        self._fetch(event.job, event.task, self._environment._now)

    def _fetch(self, job: Job, task: int, now: float) -> None:
        """The executor has the task: send for its inputs."""
        job.picked_s[task] = now
        executor = job.executor[task]
        there = executor.server
        for output, place, source in job.plan.reads[task]:
            here = job.executor[source].server
            copy = (output.tensor, there)
            if here == there:
                self.inputs.here(now, job, task)
            elif copy in job.coming:
                self.link.also(now, job.coming[copy], job, output, place)
            else:
                job.coming[copy] = self.link.send(now, job, output, (place,), here, there)
        if not job.plan.inputs[task]:
            job.latest_s[task] = now
            executor.join(now, job, task)

    def _plan_wake(self) -> None:
        """Decide again when background that is there now sets an executor free."""
        freed = self.board.next_freed_s()
        if freed == self._wake_s or math.isinf(freed):
            return
        self._wake_s = freed
        self._serial += 1  # tells plans for one instant apart; all but the last are ignored
        heappush(self._environment.heap, (freed, content_key(WAKE), self._serial, self._wake))

    def _woken(self, _: LeanEvent) -> None:
        now = self._environment._now
        if now != self._wake_s:
            return
        self._wake_s = math.inf
        self.executors.settle(now)
        if self.board.background_freed:
            self.settled(now, self._open_jobs)
        else:  # more background has come meanwhile
            self._plan_wake()
