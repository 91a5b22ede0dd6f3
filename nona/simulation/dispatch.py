"""How decisions reach the executors, for schedulers that bind all tasks of a job at its arrival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler, View
from nona.simulation.executors import Executors
from nona.simulation.job import Job, Message
from nona.simulation.kernel import DELIVERY, JOB_SHIFT, KIND_SHIFT
from nona.simulation.link import Link
from nona.simulation.load import LoadBoard
from nona.simulation.plan import Output
from nona.system import System

_KEY = DELIVERY << KIND_SHIFT


@dataclass(frozen=True, slots=True)
class Parts:
    """What a dispatcher works with."""

    system: System
    scheduler: Scheduler
    prepared: Prepared
    executors: Executors
    link: Link
    board: LoadBoard | None
    look: Callable[[float], View]
    deliver: list[Callable[[Any], None]]


class Dispatcher(Protocol):
    """Carries out the decisions of one scheduler."""

    def admit(self, job: Job, uniforms: NDArray[np.float64], now: float) -> None:
        """A job has arrived."""

    def task_ended(self, job: Job, task: int, executor: int, now: float) -> None:
        """A task is complete: hand on its results. Its executor has not yet gone on."""

    def delivered(self, message: Message, now: float) -> None:
        """A message has reached its server."""

    def settled(self, now: float, open_jobs: int) -> None:
        """The event has been dealt with; decide what is left to decide."""


class Sender:
    """Requests messages from the link."""

    def __init__(self, link: Link, deliver: list[Callable[[Any], None]]) -> None:
        self.link, self.deliver = link, deliver

    def send(
        self,
        job: Job,
        output: Output,
        place: int,
        targets: list[int] | tuple[int, ...],
        source: int,
        destination: int,
        now: float,
    ) -> None:
        """Request the message that carries ``output`` from server ``source`` to ``destination``.

        ``place`` is that of its first target in the output; it decides the message's order in the job.
        """
        key = _KEY + (job.number << JOB_SHIFT) + output.numbers[place]
        job.sent_bytes += output.size_bytes
        self.link.send(now, Message(job, output, targets, key, source, destination, now, self.deliver))


class BindDispatcher:
    """Binds every task at the job's arrival; sends each tensor once to each server that needs it."""

    def __init__(self, parts: Parts) -> None:
        self.executors, self.board = parts.executors, parts.board
        self.send = Sender(parts.link, parts.deliver).send
        self.name, self.decide = parts.scheduler.name, parts.scheduler.decide
        self.tables, self.look = parts.prepared.tables, parts.look
        self.server: list[int] = parts.system.executor_server.tolist()
        self.classes: list[int] = parts.system.executor_class.tolist()
        self.out = np.zeros(max(len(q.tasks) for q in parts.system.queries), dtype=np.int64)

    def admit(self, job: Job, uniforms: NDArray[np.float64], now: float) -> None:
        decide: Any = self.decide
        decide(now, job.query, self.look(now), self.tables, uniforms, self.out)
        places: list[int] = self.out[: job.plan.tasks].tolist()
        if min(places) < 0 or max(places) >= len(self.server):
            raise SimulationError(
                f"Scheduler {self.name!r}: it bound a task of query class {job.query} to an executor that "
                f"does not exist (its choice: {places}); write numbers from 0 to {len(self.server) - 1}."
            )
        job.executor = places
        if self.board is not None:
            for task, e in enumerate(places):
                self.board.promise(e, job.plan.times[self.classes[e]][task])
        for task in job.plan.sources:
            self.executors.join(places[task], now, job, task)

    def task_ended(self, job: Job, task: int, executor: int, now: float) -> None:
        if self.board is not None:
            self.board.release(executor, job.plan.times[self.classes[executor]][task])
        server, places, missing = self.server, job.executor, job.missing
        here = server[executor]
        for output in job.plan.outputs[task]:
            targets = output.targets
            if len(targets) > 1:
                self._fan_out(job, output, here, now)
                continue
            target = targets[0]
            place = places[target]
            if server[place] != here:
                self.send(job, output, 0, targets, here, server[place], now)
            elif missing[target] == 1:
                missing[target] = 0
                self.executors.join(place, now, job, target)
            else:
                missing[target] -= 1

    def _fan_out(self, job: Job, output: Output, here: int, now: float) -> None:
        """Several tasks read one tensor: what is here at once, then one message per other server."""
        groups: dict[int, tuple[int, list[int]]] = {}
        for place, target in enumerate(output.targets):
            there = self.server[job.executor[target]]
            if there == here:
                self._arrived(job, target, now)
            elif there in groups:
                groups[there][1].append(target)
            else:
                groups[there] = (place, [target])
        for there, (place, targets) in groups.items():
            self.send(job, output, place, targets, here, there, now)

    def _arrived(self, job: Job, target: int, now: float) -> None:
        job.missing[target] -= 1
        if job.missing[target] == 0:
            self.executors.join(job.executor[target], now, job, target)

    def delivered(self, message: Message, now: float) -> None:
        job = message.job
        for target in message.targets:
            self._arrived(job, target, now)

    def settled(self, now: float, open_jobs: int) -> None:
        return
