"""A job in the system, and a message on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simpy.events import Event

from nona.simulation.plan import Output, QueryPlan
from nona.simulation.records import MessageInterval, TaskInterval

STARTED = -1  # in ``missing``: the task has begun


class Trace:
    """Intervals of one job, recorded while it runs."""

    __slots__ = ("messages", "ready_s", "tasks")

    def __init__(self) -> None:
        self.tasks: list[TaskInterval] = []
        self.messages: list[MessageInterval] = []
        self.ready_s: dict[int, float] = {}


class Job:
    """One query in the system.

    ``missing[t]`` inputs of task t have not arrived yet (:data:`STARTED` once it runs); ``waiting``
    holds the (executor, task) pairs that stand in a queue; ``left`` tasks are not complete.
    ``work_s`` and ``sent_bytes`` add up modelled compute and messages.
    """

    __slots__ = (
        "arrival_s",
        "coming",
        "draws",
        "executor",
        "left",
        "missing",
        "number",
        "plan",
        "present",
        "query",
        "running",
        "sent_bytes",
        "trace",
        "unfinished",
        "waiting",
        "work_s",
    )

    # For schedulers that pick tasks: predecessors of each task that are not complete; who waits
    # for a (tensor, server) on its way, which are there; executors held.
    unfinished: list[int]
    coming: dict[tuple[int, int], list[int]]
    present: set[tuple[int, int]]
    running: int

    def __init__(
        self, number: int, query: int, plan: QueryPlan, arrival_s: float, draws: list[float] | None
    ) -> None:
        self.number, self.query, self.plan = number, query, plan
        self.arrival_s, self.draws = arrival_s, draws
        self.missing = plan.inputs.copy()
        self.left = plan.tasks
        self.executor: list[int] = []
        self.waiting: list[tuple[int, int]] = []
        self.work_s = self.sent_bytes = 0.0
        self.trace: Trace | None = None


class Message(Event):
    """A tensor on its way to a server; as an event, its delivery there to ``targets``."""

    __slots__ = ("destination", "job", "key", "output", "request_s", "source", "targets")
    _ok = True
    _value = None

    def __init__(
        self,
        job: Job,
        output: Output,
        targets: tuple[int, ...] | list[int],
        key: int,
        source: int,
        destination: int,
        request_s: float,
        callbacks: list[Callable[[Any], None]],
    ) -> None:
        self.callbacks = callbacks
        self.job, self.output, self.targets, self.key = job, output, targets, key
        self.source, self.destination, self.request_s = source, destination, request_s

    def record(self, start_s: float, end_s: float, delivered_s: float) -> None:
        """Write the interval into the job's trace, which must be there."""
        job = self.job
        if job.trace is not None:
            job.trace.messages.append(
                MessageInterval(
                    job.number,
                    job.query,
                    self.output.tensor,
                    self.source,
                    self.destination,
                    self.request_s,
                    start_s,
                    end_s,
                    delivered_s,
                )
            )
