"""SimPy, used leanly: events that fire again and again, ties broken by content.

SimPy's cost lies in processes, resources and conditions, not in its event list. So nothing here is
a process: an event is made once per executor, link or source, carries its callbacks for good, and
goes straight into SimPy's queue. The slot that SimPy has for a priority holds a content key, and the
one for the insertion number is always 0: two different events with equal keys at one instant would
be a programming error, and comparing them fails loudly instead of falling back on insertion order.

This rests on private names of SimPy 4.1 (``_queue``, ``_now``), which the dependency pins.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop
from typing import Any, cast

import simpy
from simpy.core import StopSimulation

from nona.simulation.workload import MAX_TASKS

# What happens first at one instant. Background arrivals come before all of them.
ROUND, LINK_BACKGROUND, LINK_END, HOP, DELIVERY, HANDED, TASK_END, WAKE, ARRIVAL = range(-1, 8)
JOB_SHIFT = MAX_TASKS.bit_length() - 1
KIND_SHIFT = 60

Entry = tuple[float, int, int, simpy.Event]


ITEM_MASK = MAX_TASKS - 1  # of a content key: the task or message


def content_key(kind: int, job: int = 0, item: int = 0) -> int:
    """(kind, job, task or message) as one whole number that sorts in this order.

    >>> content_key(DELIVERY, 5, 9) < content_key(DELIVERY, 6, 0) < content_key(TASK_END, 0, 0)
    True
    """
    return (kind << KIND_SHIFT) + (job << JOB_SHIFT) + item


class LeanEvent(simpy.Event):
    """A SimPy event that keeps its callback after it was processed."""

    _ok = True
    _value = None

    def __init__(self, callback: Callable[[Any], None]) -> None:
        self.callbacks = [callback]


class LeanEnvironment(simpy.Environment):
    """A SimPy environment whose loop leaves an event's callback in place: each has just one.

    ``heap`` is SimPy's own list of (time in seconds, key, 0, event); ``key`` is that of the event
    being processed.
    """

    key: int

    def __init__(self) -> None:
        super().__init__()
        self.heap: list[Entry] = cast(Any, self._queue)

    def run_lean(self) -> None:
        """Process events until a callback raises ``StopSimulation``."""
        queue, pop = self.heap, heappop
        try:
            while True:
                self._now, self.key, _, event = pop(queue)
                [callback] = event.callbacks
                callback(event)
        except StopSimulation:
            return
