"""How decisions reach the executors, for schedulers that bind all tasks of a job at its arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler, View, as_lists
from nona.simulation.reference.executors import Executor, Executors
from nona.simulation.reference.inputs import Inputs
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.links import Link
from nona.simulation.reference.load import LoadBoard
from nona.simulation.workload.plans import Output
from nona.system import System


@dataclass(frozen=True, slots=True)
class Parts:
    """What a dispatcher works with."""

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
        self.tables = as_lists(parts.prepared.tables) if self.lists else parts.prepared.tables
        self.look = parts.look
        out = np.zeros(max(len(q.tasks) for q in parts.system.queries), dtype=np.int64)
        self.out: Any = out.tolist() if self.lists else out

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
        """Several tasks read one tensor: what is here at once, then one message per other server."""
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
