"""The bottleneck link, first come first served.

A FIFO link has no events of its own: when a message is requested, all that stands before it is
known, so its delivery is too. Background messages are merged in when the link is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappush
from typing import Protocol

from nona.random_streams import RandomStreams
from nona.simulation.draws import background_items
from nona.simulation.job import Message
from nona.simulation.kernel import Entry, LeanEnvironment
from nona.simulation.shared_link import SharedLink
from nona.system import System


class Link(Protocol):
    """What the engine asks of a link. Work is in seconds of the link alone: bytes / capacity."""

    def send(self, now: float, message: Message) -> None:
        """Take a message; its delivery is put on the event list in time."""

    def pending_s(self, now: float) -> float:
        """Work waiting or in service, background included."""

    def promised_s(self, now: float) -> float:
        """Seconds until the messages of queries alone would have been served."""

    def busy_until(self, now: float) -> float:
        """Length of the busy periods from 0 to ``now``."""

    def work_until(self, now: float) -> float:
        """Work done by ``now``."""


def make_link(system: System, streams: RandomStreams, environment: LeanEnvironment) -> Link:
    """The link of ``system``, of its discipline."""
    background = background_items(system.background_network, streams, "link")
    items = ((arrival, size / system.capacity) for arrival, size in background)
    if system.discipline == "fifo":
        return FifoLink(items, system.latency_s, environment.heap)
    return SharedLink(items, system.latency_s, environment)


class FifoLink:
    """``free_s``: when all that was requested will have been served; ``closed_s``, ``since_s`` as
    in :class:`~nona.simulation.executors.Executors`."""

    def __init__(
        self, background: Iterator[tuple[float, float]], latency_s: float, heap: list[Entry]
    ) -> None:
        self.heap, self.latency_s, self._items = heap, latency_s, background
        self.free_s = self.since_s = self.closed_s = self.work_s = self.reserved_s = 0.0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))

    def send(self, now: float, message: Message) -> None:
        if self._next_s <= now:
            self._absorb(now)
        work = message.output.work_s
        start = self.free_s
        if start < now:
            self.closed_s += start - self.since_s
            self.since_s = start = now
        self.free_s = end = start + work
        self.work_s += work
        reserved = self.reserved_s
        self.reserved_s = (reserved if reserved > now else now) + work
        delivered = end + self.latency_s
        heappush(self.heap, (delivered, message.key, 0, message))
        if message.job.trace is not None:
            message.record(start, end, delivered)

    def _absorb(self, now: float) -> None:
        while self._next_s <= now:
            arrival, free = self._next_s, self.free_s
            if arrival > free:
                self.closed_s += free - self.since_s
                self.since_s = free = arrival
            self.free_s = free + self._next_work_s
            self.work_s += self._next_work_s
            self._next_s, self._next_work_s = next(self._items)

    def pending_s(self, now: float) -> float:
        self._absorb(now)
        return max(0.0, self.free_s - now)

    def promised_s(self, now: float) -> float:
        return max(0.0, self.reserved_s - now)

    def busy_until(self, now: float) -> float:
        self._absorb(now)
        return self.closed_s + min(self.free_s, now) - self.since_s

    def work_until(self, now: float) -> float:
        self._absorb(now)
        return self.work_s - max(0.0, self.free_s - now)
