"""How decisions reach the executors, for schedulers that pick a ready task for a free executor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.random_streams import RandomStreams
from nona.simulation.dispatch import Parts, Sender
from nona.simulation.job import Job, Message
from nona.simulation.kernel import WAKE, LeanEnvironment, LeanEvent, content_key
from nona.simulation.load import LoadBoard
from nona.simulation.ready import ReadyList

_BLOCK = 512


def _rows(streams: RandomStreams, width: int) -> Iterator[NDArray[np.float64]]:
    """Endless rows of uniforms: one per pick made, the same for every scheduler of equal width."""
    rng = streams.generator("picks")
    while True:
        yield from rng.random((_BLOCK, max(width, 1)))


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
        self.send = Sender(parts.link, parts.deliver).send
        self.name, self.decide, self.tables = (
            parts.scheduler.name,
            parts.scheduler.decide,
            parts.prepared.tables,
        )
        self.server: list[int] = parts.system.executor_server.tolist()
        self.classes: list[int] = parts.system.executor_class.tolist()
        self.ready, self._environment = ReadyList(), environment
        self.has_background = not math.isinf(min(parts.executors.next_background_s))
        self._rows = _rows(streams, parts.prepared.uniforms_per_job)
        self._row = next(self._rows)
        self._out = np.zeros(2, dtype=np.int64)
        self._wake, self._wake_s, self._serial = LeanEvent(self._woken), math.inf, 0
        self._open_jobs = 0

    def admit(self, job: Job, uniforms: NDArray[np.float64], now: float) -> None:
        job.executor = [-1] * job.plan.tasks
        job.unfinished = job.plan.predecessors.copy()
        job.coming, job.present = {}, set()
        job.running = 0
        for task in job.plan.sources:
            self.ready.append(job, task, now, -1)

    def task_ended(self, job: Job, task: int, executor: int, now: float) -> None:
        self.board.release(executor, job.plan.times[self.classes[executor]][task])
        job.running -= 1
        self.ready.running_changed(job)
        for target in job.plan.successors[task]:
            job.unfinished[target] -= 1
            if job.unfinished[target] == 0:
                self.ready.append(job, target, now, executor)

    def delivered(self, message: Message, now: float) -> None:
        job = message.job
        job.present.add((message.output.tensor, message.destination))
        for target in message.targets:
            self._arrived(job, target, now)

    def _arrived(self, job: Job, target: int, now: float) -> None:
        job.missing[target] -= 1
        if job.missing[target] == 0:
            self.executors.join(job.executor[target], now, job, target)

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

    def _bind(self, place: int, executor: int, now: float) -> None:
        if not (0 <= place < len(self.ready) and 0 <= executor < len(self.server)) or (
            self.board.queue_length[executor] != 0
        ):
            raise SimulationError(
                f"Scheduler {self.name!r}: it picked ready task {place} of {len(self.ready)} for executor "
                f"{executor}; pick one that is in the list, for an executor whose queue_length is 0."
            )
        job, task = self.ready.remove(place)
        job.executor[task] = executor
        job.running += 1
        self.ready.running_changed(job)
        self.board.promise(executor, job.plan.times[self.classes[executor]][task])
        there = self.server[executor]
        for number, output, source in job.plan.reads[task]:
            here = self.server[job.executor[source]]
            copy = (output.tensor, there)
            if here == there or copy in job.present:
                job.missing[task] -= 1
            elif copy in job.coming:
                job.coming[copy].append(task)
            else:
                job.coming[copy] = [task]
                self.send(job, output, output.numbers.index(number), job.coming[copy], here, there, now)
        if job.missing[task] == 0:
            self.executors.join(executor, now, job, task)

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
