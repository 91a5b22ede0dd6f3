"""A job in the system."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from simpy.events import Event

from nona.simulation.records import MessageInterval, TaskInterval
from nona.simulation.reference.kernel import DELIVERY, TASK_END, content_key
from nona.simulation.workload import QueryPlan

STARTED = -1  # in ``missing``: the task has begun


class Place(Protocol):
    """An executor as its jobs know it."""

    server: int

    def join(self, now: float, job: Job, task: int) -> None:
        """Put a task whose inputs are there into the queue."""


class Trace:
    """Intervals of one job, recorded while it runs."""

    __slots__ = ("messages", "tasks")

    def __init__(self) -> None:
        self.tasks: list[TaskInterval] = []
        self.messages: list[MessageInterval] = []


class Job(Event):
    """One query in the system; as an event, that the last input of one of its tasks has arrived.

    ``missing[t]`` inputs of task t have not arrived yet (:data:`STARTED` once it runs), the
    latest known is that of number ``latest_number[t]`` at ``latest_s[t]``, which from then on is
    the instant at which t joined its executor's queue; ``start_s`` and ``end_s`` are those of its
    run. ``waiting`` holds the tasks that stand in a queue, with its executor; ``end_key`` and
    ``message_key`` begin the content keys of its events; ``left`` tasks are not complete.
    ``work_s`` and ``sent_bytes`` add up modelled compute and messages.
    """

    __slots__ = (
        "arrival_s",
        "base",
        "callbacks",
        "coming",
        "draw",
        "draws",
        "end_key",
        "end_s",
        "executor",
        "latest_number",
        "latest_s",
        "left",
        "message_key",
        "missing",
        "number",
        "picked_s",
        "plan",
        "query",
        "running",
        "sent_bytes",
        "start_s",
        "trace",
        "unfinished",
        "waiting",
        "work_s",
    )

    _ok = True
    _value = None
    # For schedulers that pick tasks: predecessors of each task that are not complete; the link's
    # token for each (tensor, server) requested; executors held; when each task was picked; the job's draw,
    # and where its tasks begin in ``places``.
    unfinished: list[int]
    coming: dict[tuple[int, int], Any]
    running: int
    picked_s: list[float]
    draw: float
    base: int

    def __init__(
        self,
        number: int,
        query: int,
        plan: QueryPlan,
        arrival_s: float,
        draws: list[float] | None,
        callbacks: list[Callable[[Any], None]],
    ) -> None:
        self.callbacks = callbacks
        self.number, self.query, self.plan = number, query, plan
        self.arrival_s, self.draws = arrival_s, draws
        self.missing = plan.inputs.copy()
        self.latest_s = [0.0] * plan.tasks
        self.latest_number = [0] * plan.tasks
        self.start_s = [0.0] * plan.tasks
        self.end_s = [0.0] * plan.tasks
        self.left = plan.tasks
        self.end_key = content_key(TASK_END, number)
        self.message_key = content_key(DELIVERY, number)
        self.executor: list[Place] = []
        self.waiting: dict[int, Place] = {}
        self.work_s = self.sent_bytes = 0.0
        self.trace: Trace | None = None
