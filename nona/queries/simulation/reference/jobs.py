"""A job in the system, and the parts of its completion time.

The parts go from the task that completes the job back to its arrival, along the last cause of each: what a
task waited for last decides when it ran, so these stretches follow on one another without a gap, and add up
to the completion time. Of the seconds for which a message was on its way, those that it would have taken on
idle links are transfer, the others waiting. Of the seconds that a task waits for its executor, those in
which that runs another task of the same job are waits for own tasks: more servers do not shorten them;
those in which it stands idle are waits for the batch to fill. A task that waits for its pick waits for the
executor that it then gets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from nona.queries.simulation.records import MessageInterval, TaskInterval
from nona.queries.simulation.reference.kernel import DELIVERY, Environment, content_key
from nona.queries.simulation.workload import Output, QueryPlan


class JobExecutor(Protocol):
    """An executor as its jobs know it."""

    server: int
    kind: int  # executor class

    def join(self, job: QueryJob, task: int) -> None:
        """Put a task whose inputs are there into the queue."""


class JobIntervals:
    """Intervals of one job, recorded while it runs."""

    def __init__(self) -> None:
        self.tasks: list[TaskInterval] = []
        self.messages: list[MessageInterval] = []


class QueryJob:
    """One query in the system.

    By task: ``missing`` inputs, which are not on its server yet; ``executor``, where it runs; ``joined_s``,
    when it joined the queue there; ``start_s``, ``end_s``, its run, in a batch of ``members``, ``step`` of
    its GPU; ``fill_s``, for how long the executor stood idle while it waited (before it starts: when it
    joined); ``last_message``, the number of the input that a message brought last, at ``message_s`` (the
    largest of those of one instant, in whichever order they come within it); ``picked_s``, when it was
    picked. ``left`` tasks are not complete. ``user``: who sent it in a closed loop, else −1. ``sent_bytes``
    adds up messages. Where tasks are picked: ``unfinished`` predecessors of each, ``messages`` by (tensor,
    server), ``running`` executors held, the job's ``draw``, and where its tasks begin in the list of places
    (``base``).
    """

    __slots__ = (
        "arrival_s", "base", "draw", "draws", "end_s", "env", "executor", "fill_s", "joined_s",
        "last_message", "left", "members", "message_s", "messages", "missing", "number", "picked_s", "plan",
        "query", "running", "sent_bytes", "start_s", "step", "trace",
        "unfinished", "user",
    )  # fmt: skip
    base: int
    draw: float

    def __init__(
        self,
        env: Environment,
        number: int,
        query: int,
        plan: QueryPlan,
        arrival_s: float,
        draws: list[float] | None,
        user: int = -1,
    ) -> None:
        self.user = user
        self.env, self.number, self.query, self.plan = env, number, query, plan
        self.arrival_s, self.draws = arrival_s, draws
        self.missing = plan.inputs.copy()
        self.executor: list[JobExecutor] = []
        self.last_message, self.message_s = [0] * plan.tasks, [0.0] * plan.tasks
        self.joined_s, self.start_s = [0.0] * plan.tasks, [0.0] * plan.tasks
        self.end_s, self.picked_s = [0.0] * plan.tasks, [0.0] * plan.tasks
        self.members, self.fill_s = [1] * plan.tasks, [0.0] * plan.tasks
        self.step = [0] * plan.tasks
        self.left = plan.tasks
        self.sent_bytes = 0.0
        self.unfinished = plan.predecessors.copy()
        self.messages: dict[tuple[int, int], Any] = {}
        self.running = 0
        self.trace: JobIntervals | None = None

    def join(self, task: int) -> None:
        """``task`` has all its inputs."""
        self.joined_s[task] = self.env.now
        self.executor[task].join(self, task)

    def arrive(self, number: int) -> None:
        """Input ``number`` is on its reader's server; with the last one its reader joins the queue."""
        task = self.plan.readers[number]
        self.missing[task] -= 1
        if not self.missing[task]:
            self.join(task)

    def load_s(self) -> float:
        """Modelled seconds that its tasks take of their executors: without draws."""
        total = 0.0
        for task, place in enumerate(self.executor):
            total += self.plan.loads[place.kind][task]
        return total

    def deliver(self, number: int) -> None:
        """Record that a message has brought input ``number``.

        Of the inputs that messages bring to a task at one instant the largest number counts: with the last
        of them it joins in the order of that one.
        """
        task, now = self.plan.readers[number], self.env.now
        last = max(self.last_message[task], number) if self.message_s[task] == now else number
        self.last_message[task], self.message_s[task] = last, now
        if last == number or self.missing[task] > 1:
            self.arrive(number)
        else:
            key = content_key(DELIVERY, self.number, last)
            self.env.schedule_at(now, key, lambda _: self.arrive(number))


JctParts = tuple[
    float, float, float, float, float, float
]  # in the order of nona.queries.simulation.collected.PARTS
NO_PARTS: JctParts = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
IsolatedS = Callable[[Output, int, int], float]  # of a message between two servers


def parts_of_bound(job: QueryJob, task: int, isolated_s: IsolatedS) -> JctParts:
    """Parts of a job whose tasks were bound at its arrival; ``task`` is the one that completed it.

    The last cause of a task is the end of the task that made its last input: on the same server the
    first of its inputs whose source ended just when it joined its executor's queue, else the
    input delivered last.
    """
    start_s, end_s, joined_s, places = job.start_s, job.end_s, job.joined_s, job.executor
    compute = transfer = link_wait = server_wait = own_wait = fill_wait = 0.0
    while True:
        start, joined = start_s[task], joined_s[task]
        compute += end_s[task] - start
        own = _own_s(job, task, joined, start)
        fill = min(job.fill_s[task], start - joined - own)
        own_wait += own
        fill_wait += fill
        server_wait += start - joined - own - fill
        sources = job.plan.makers[task]
        if not sources:
            return compute, transfer, link_wait, server_wait, own_wait, fill_wait
        here = places[task].server
        for source in sources:
            if end_s[source] == joined and places[source].server == here:
                break
        else:
            output, source = job.plan.numbered[job.last_message[task]]
            gap = joined - end_s[source]
            alone = min(gap, isolated_s(output, places[source].server, here))
            transfer += alone
            link_wait += gap - alone
        task = source


def parts_of_picked(job: QueryJob, task: int, isolated_s: IsolatedS) -> JctParts:
    """Parts of a job whose tasks were picked once their predecessors were complete.

    The last cause of a task is the predecessor that ended last (the least number among equals); it
    waits for its pick, as for an executor, and then for the input delivered last.
    """
    places, plan = job.executor, job.plan
    compute = transfer = link_wait = server_wait = own_wait = fill_wait = 0.0
    while True:
        start, joined, picked = job.start_s[task], job.joined_s[task], job.picked_s[task]
        compute += job.end_s[task] - start
        own = _own_s(job, task, joined, start)
        fill = min(job.fill_s[task], start - joined - own)
        own_wait += own
        fill_wait += fill
        server_wait += start - joined - own - fill
        gap = joined - picked
        if gap > 0:
            output, source = plan.numbered[job.last_message[task]]
            alone = min(gap, isolated_s(output, places[source].server, places[task].server))
            transfer += alone
            link_wait += gap - alone
        before = -1
        if plan.makers[task]:
            before = -max((job.end_s[source], -source) for source in plan.makers[task])[1]
        since = job.arrival_s if before < 0 else job.end_s[before]
        own = _own_s(job, task, since, picked)
        own_wait += own
        server_wait += picked - since - own
        if before < 0:
            return compute, transfer, link_wait, server_wait, own_wait, fill_wait
        task = before


def _own_s(job: QueryJob, task: int, begin_s: float, end_s: float) -> float:
    """Seconds within which the executor of a task runs others of its job."""
    own = 0.0
    if end_s > begin_s:
        here = job.executor[task]
        for other, place in enumerate(job.executor):
            if place is here and other != task:
                shared = min(end_s, job.end_s[other]) - max(begin_s, job.start_s[other])
                if shared > 0:
                    own += shared
    return min(own, end_s - begin_s)
