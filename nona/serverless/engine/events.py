"""What is under way: the events still to come, a decision on its way, a batch that runs.

An event is (time, kind, application, stage, number, version). Times decide, then the kind, then content:
nothing depends on the order in which events were made. ``version`` tells outdated events, and is compared
only of messages of one batch: the fields before it differ else.
"""

from __future__ import annotations

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


class Running:
    """A batch between its dispatch and its end.

    It holds what its end needs to know; the last five matter only where batches slow each other down.

    ``left_s``: seconds of its own GPU work; ``speed``: of them per second, since ``since_s``; ``end_s``:
    when it ends if nothing changes; ``version``: how often that was said.
    """

    __slots__ = (
        "calls",
        "end_s",
        "function",
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
        self, number: int, queue: int, function: int, calls: list[int], invoker: int, lease: Lease
    ) -> None:
        self.number = number
        self.queue = queue
        self.function = function
        self.calls = calls
        self.invoker = invoker
        self.lease = lease
        self.left_s = self.speed = self.since_s = self.end_s = 0.0
        self.version = 0
