"""The bottleneck link shared equally by all messages in service (processor sharing).

Virtual time V runs at rate 1/n while n messages are in service. A message of work w that arrives
at V leaves when V reaches the tag V + w. So one number changes per event, not every message, and
rounding cannot drift: at each departure V is set to the tag itself. (The formulation is that of
fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager 1993, from memory.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpy.events import Event

from nona.simulation.records.run import MessageInterval
from nona.simulation.reference.inputs import Inputs
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import LINK_BACKGROUND, LINK_END, LeanEvent, content_key
from nona.simulation.workload.plans import Output


class Message(Event):
    """A tensor on its way to server ``destination``; as an event, its delivery there."""

    __slots__ = ("callbacks", "delivered", "destination", "job", "output", "places", "request_s", "source")
    _ok = True
    _value = None

    def __init__(
        self,
        job: Job,
        output: Output,
        places: Sequence[int],
        route: tuple[int, int],
        request_s: float,
        callbacks: list[Callable[[Any], None]],
    ) -> None:
        self.callbacks, self.job, self.output, self.places = callbacks, job, output, list(places)
        self.source, self.destination = route
        self.request_s, self.delivered = request_s, False

    def record(self, end_s: float, delivered_s: float) -> None:
        """Write the interval into the job's trace, if there is one."""
        job, tensor, begin = self.job, self.output.tensor, self.request_s
        if job.trace is not None:
            interval = MessageInterval(
                job.number, job.query, tensor, self.source, self.destination, begin, begin, end_s, delivered_s
            )
            job.trace.messages.append(interval)


class SharedLink:
    """``flows`` is a heap of (tag, content key, message), the message of background being ``None``.

    A token is the message itself.
    """

    def __init__(
        self, background: Iterator[tuple[float, float]], capacity: float, latency_s: float, inputs: Inputs
    ) -> None:
        self.capacity = capacity
        self.inputs, self.environment, self.heap = inputs, inputs.environment, inputs.heap
        self.latency_s, self._items = latency_s, background
        self.callbacks: list[Callable[[Any], None]] = [self._deliver]
        self.flows: list[tuple[float, int, Message | None]] = []
        self.virtual_s = self.last_s = self.since_s = self.closed_s = 0.0
        self.requested_s = self.reserved_s = 0.0
        self._end, self._end_s, self._serial = LeanEvent(self._depart), math.inf, 0
        self._arrival, self._background = LeanEvent(self._background_arrives), 0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))
        self._delivered, self._transfer_s = 0, 0.0
        self._schedule_background()

    def _schedule_background(self) -> None:
        if self._next_s < math.inf:
            heappush(self.heap, (self._next_s, content_key(LINK_BACKGROUND), 0, self._arrival))

    def _background_arrives(self, _: LeanEvent) -> None:
        now, work = self._next_s, self._next_work_s
        self._background += 1
        self._add(now, work, content_key(LINK_BACKGROUND, self._background), None)
        self._next_s, self._next_work_s = next(self._items)
        self._schedule_background()

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Message:
        work = output.work_s
        self.reserved_s = max(self.reserved_s, now) + work
        job.sent_bytes += output.size_bytes
        message = Message(job, output, places, (source, destination), now, self.callbacks)
        self._add(now, work, job.message_key + output.numbers[places[0]], message)
        return message

    def also(self, now: float, token: Message, job: Job, output: Output, place: int) -> None:
        if token.delivered:
            self.inputs.here(now, job, output.targets[place])
        else:
            token.places.append(place)

    def _add(self, now: float, work: float, key: int, message: Message | None) -> None:
        if self.flows:
            self.virtual_s += (now - self.last_s) / len(self.flows)
        else:
            self.virtual_s, self.since_s = 0.0, now
        self.last_s = now
        self.requested_s += work
        heappush(self.flows, (self.virtual_s + work, key, message))
        self._plan_end(now)

    def _plan_end(self, now: float) -> None:
        """Put the next departure on the event list. Earlier plans stay there and are ignored."""
        if not self.flows:
            self._end_s = math.inf
            return
        tag = self.flows[0][0]
        self._end_s = max(now, now + (tag - self.virtual_s) * len(self.flows))
        self._serial += 1  # plans for one instant are one and the same event: their order is no matter
        heappush(self.heap, (self._end_s, content_key(LINK_END), self._serial, self._end))

    def _depart(self, _: LeanEvent) -> None:
        now = self.environment._now
        if now != self._end_s:
            return
        tag, key, message = heappop(self.flows)
        self.virtual_s, self.last_s = tag, now
        if not self.flows:
            self.closed_s += now - self.since_s
        self._plan_end(now)
        if message is not None:
            delivered = now + self.latency_s
            heappush(self.heap, (delivered, key, 0, message))
            message.record(now, delivered)

    def _deliver(self, message: Message) -> None:
        now = self.environment._now
        message.delivered = True
        self._delivered += 1
        self._transfer_s += now - message.request_s
        job, output = message.job, message.output
        for place in message.places:
            job.latest_number[output.targets[place]] = output.numbers[place]
            self.inputs.here(now, job, output.targets[place])

    def past_transfer_s(self, now: float) -> float:
        return self._transfer_s / self._delivered if self._delivered else 0.0

    def promised_s(self, now: float) -> float:
        """As if the messages of queries had the link alone, one after the other."""
        return max(0.0, self.reserved_s - now)

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        return output.work_s + self.latency_s

    def queue_bytes(self, now: float) -> float:
        return self.pending_s(now) * self.capacity

    def pending_s(self, now: float) -> float:
        """Work waiting or in service, background included, in seconds of the link alone."""
        return pending_s([tag for tag, _, _ in self.flows], self.virtual_s, now - self.last_s)

    def busy_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([self.closed_s + (now - self.since_s if self.flows else 0.0)])

    def work_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([self.requested_s - self.pending_s(now)])

    def crossed_bytes(self) -> None:
        return None


def pending_s(tags: Sequence[float], virtual_s: float, since_s: float) -> float:
    """Work left of the messages with these tags, ``since_s`` seconds after the virtual time was noted.

    The sum is exact before it is rounded, so the order of the messages is no matter.
    """
    if not tags:
        return 0.0
    virtual = virtual_s + since_s / len(tags)
    return math.fsum(max(0.0, tag - virtual) for tag in tags)
