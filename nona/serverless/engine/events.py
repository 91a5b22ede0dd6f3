"""What is under way: the events still to come, a decision on its way, a batch that runs.

An event is (time, kind, application, stage, number, version). Times decide, then the kind, then content:
nothing depends on the order in which events were made. ``version`` tells outdated events, and is compared
only of messages of one batch: the fields before it differ else.
"""

from __future__ import annotations

import math

from nona.gpu_sharing.pool import Lease
from nona.serverless.policies.base import Plan

Event = tuple[float, int, int, int, int, int]

END = 0  # a batch ends; number: the batch
GPU_PHASE = 1  # a batch that shares its GPU begins to compute there; number: the batch
ARRIVAL = 2  # number: the call
CONTAINERS = 3  # a container is ready or its time is over; application: invoker, stage: function
DECISION = 4  # a search ends
WAIT_OVER = 5  # a queue is to be looked at again; number: which wait
HOP = 6  # a message joins its next link; number: the batch, version: which of its messages
READY = 7  # a standing instance can serve; number: the instance
SCALE = 8  # the numbers of instances are looked at; number: which look


class Decision:
    """A plan on its way to an invoker.

    ``ranked``, ``search_s``, ``steps``, ``carry``: of the plan; ``plan_missed``: whether it said that
    what was carried could not be used; ``decided_s``: when the search began; ``forced``: whether the
    smallest configuration was forced; ``missed``: whether the batch counts as a miss.
    """

    __slots__ = ("carry", "decided_s", "forced", "missed", "plan_missed", "ranked", "search_s", "steps")

    def __init__(self, plan: Plan, now_s: float, forced: bool) -> None:
        self.ranked = plan.ranked
        self.search_s, self.steps, self.carry = plan.search_s, plan.steps, plan.carry
        self.plan_missed = plan.missed
        self.missed = False
        self.decided_s, self.forced = now_s, forced


class Instance:
    """A lease that stands for an AFW queue, with its container.

    ``by_jobs``: by the number of jobs less one, the configuration whose time a batch of so many takes;
    ``timeout_s``: how long a batch waits to be full; ``ready_s``: when its container runs and its slice is
    made; ``busy``: not ready yet, or with a batch; ``stopping``: it serves no more; ``ended_s``: when it
    gave everything back, ``nan`` while it stands; ``container``: its number, where these are recorded.
    """

    __slots__ = (
        "busy",
        "by_jobs",
        "cold",
        "configuration",
        "container",
        "ended_s",
        "forced",
        "function",
        "invoker",
        "lease",
        "number",
        "queue",
        "ready_s",
        "started_s",
        "stopping",
        "timeout_s",
    )

    def __init__(
        self, number: int, queue: int, function: int, configuration: int, invoker: int, lease: Lease
    ) -> None:
        self.number, self.queue, self.function = number, queue, function
        self.configuration, self.invoker, self.lease = configuration, invoker, lease
        self.by_jobs: tuple[int, ...] = ()
        self.timeout_s = self.started_s = self.ready_s = 0.0
        self.cold = self.forced = self.busy = self.stopping = False
        self.ended_s = math.nan
        self.container = -1


class Running:
    """A batch between its dispatch and its end.

    It holds what its end needs to know; the last five matter only where batches slow each other down.
    ``instance``: the standing one that it runs on, ``None`` where its lease is its own.

    ``left_s``: seconds of its own GPU work; ``speed``: of them per second, since ``since_s``; ``end_s``:
    when it ends if nothing changes; ``version``: how often that was said.
    """

    __slots__ = (
        "calls",
        "end_s",
        "function",
        "instance",
        "invoker",
        "lease",
        "left_s",
        "number",
        "queue",
        "since_s",
        "speed",
        "version",
    )

    def __init__(
        self,
        number: int,
        queue: int,
        function: int,
        calls: list[int],
        invoker: int,
        lease: Lease,
        instance: Instance | None = None,
    ) -> None:
        self.number = number
        self.queue = queue
        self.function = function
        self.calls = calls
        self.invoker = invoker
        self.lease = lease
        self.instance = instance
        self.left_s = self.speed = self.since_s = self.end_s = 0.0
        self.version = 0
