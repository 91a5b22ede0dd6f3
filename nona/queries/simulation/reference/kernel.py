"""SimPy's environment with instants in place of delays, and simultaneous events in order of their content.

SimPy orders events of one instant by when they were scheduled. Here what follows at once from an event
(a process begins, a condition is met) comes before anything else, in that order; other events of one
instant are ordered by what they are, never by insertion. So tasks that become ready at one executor at one
instant stand in its queue in the order (job, number of the input), where of the inputs that messages bring
to a task at that instant the largest number counts; then those whose last input was made on their server, in
the order of the tasks that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappush
from typing import Any

import simpy

from nona.queries.simulation.workload import MAX_TASKS

# What happens first at one instant.
BACKGROUND, ROUND, LINK_BACKGROUND, LINK_END, HOP, DELIVERY, HANDED, TASK_END, WAKE, ARRIVAL, STEP = range(
    -3, 8
)
JOB_SHIFT = MAX_TASKS.bit_length() - 1
KIND_SHIFT = 60
_AT_ONCE = -4 << KIND_SHIFT

Process = Generator[simpy.Event, Any, None]


def content_key(kind: int, job: int = 0, item: int = 0) -> int:
    """(kind, job, task or message) as one whole number that sorts in this order.

    >>> content_key(DELIVERY, 5, 9) < content_key(DELIVERY, 6, 0) < content_key(TASK_END, 0, 0)
    True
    """
    return (kind << KIND_SHIFT) + (job << JOB_SHIFT) + item


USER_SHIFT = 32
_USERS = 1 << 39  # in place of a job's number, above all of these


def user_key(query: int, user: int) -> int:
    """Return the key of the arrival of a user's query in a closed loop: after all others of its instant."""
    return (ARRIVAL << KIND_SHIFT) + ((_USERS + query) << JOB_SHIFT) + user


class Environment(simpy.Environment):
    """SimPy's, ordered as above.

    This rests on ``_queue``, ``_now`` and ``_eid`` of SimPy 4.1, which the dependency pins.
    """

    def schedule(self, event: simpy.Event, priority: int = 1, delay: float = 0.0) -> None:
        """Put what follows at once before all else at this instant."""
        self._push(self._now + delay, _AT_ONCE, event)

    def schedule_at(
        self, time_s: float, key: int, callback: Callable[[simpy.Event], None] | None = None
    ) -> simpy.Event:
        """Schedule an event at an instant, in the order of its content key, which then calls back."""
        event = simpy.Event(self)
        event._ok, event._value = True, None
        event.callbacks = [] if callback is None else [callback]
        self._push(time_s, key, event)
        return event

    def _push(self, time_s: float, key: int, event: simpy.Event) -> None:
        queue: list[Any] = self._queue
        heappush(queue, (time_s, key, next(self._eid), event))
