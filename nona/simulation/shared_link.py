"""The bottleneck link shared equally by all messages in service (processor sharing).

Virtual time V runs at rate 1/n while n messages are in service. A message of work w that arrives
at V leaves when V reaches the tag V + w. So one number changes per event, not every message, and
rounding cannot drift: at each departure V is set to the tag itself. (The formulation is that of
fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager 1993, from memory.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from heapq import heappop, heappush

from nona.simulation.job import Message
from nona.simulation.kernel import (
    LINK_BACKGROUND,
    LINK_END,
    LeanEnvironment,
    LeanEvent,
    content_key,
)


class SharedLink:
    """``flows`` is a heap of (tag, content key, message), the message of background being ``None``."""

    def __init__(
        self, background: Iterator[tuple[float, float]], latency_s: float, environment: LeanEnvironment
    ) -> None:
        self.environment, self.latency_s, self._items = environment, latency_s, background
        self.flows: list[tuple[float, int, Message | None]] = []
        self.virtual_s = self.last_s = self.since_s = self.closed_s = 0.0
        self.requested_s = self.reserved_s = 0.0
        self._end, self._end_s, self._serial = LeanEvent(self._depart), math.inf, 0
        self._arrival, self._background = LeanEvent(self._background_arrives), 0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))
        self._schedule_background()

    def _schedule_background(self) -> None:
        if self._next_s < math.inf:
            key = content_key(LINK_BACKGROUND)
            heappush(self.environment.heap, (self._next_s, key, 0, self._arrival))

    def _background_arrives(self, _: LeanEvent) -> None:
        now, work = self._next_s, self._next_work_s
        self._background += 1
        self._add(now, work, content_key(LINK_BACKGROUND, self._background), None)
        self._next_s, self._next_work_s = next(self._items)
        self._schedule_background()

    def send(self, now: float, message: Message) -> None:
        work = message.output.work_s
        self.reserved_s = max(self.reserved_s, now) + work
        self._add(now, work, message.key, message)

    def _advance(self, now: float) -> None:
        if self.flows:
            self.virtual_s += (now - self.last_s) / len(self.flows)
        self.last_s = now

    def _add(self, now: float, work: float, key: int, message: Message | None) -> None:
        self._advance(now)
        if not self.flows:
            self.virtual_s, self.since_s = 0.0, now
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
        self._serial += 1  # tells plans for the same instant apart; they are one event, so order is no matter
        entry = (self._end_s, content_key(LINK_END), self._serial, self._end)
        heappush(self.environment.heap, entry)

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
            heappush(self.environment.heap, (delivered, key, 0, message))
            if message.job.trace is not None:
                message.record(message.request_s, now, delivered)

    def pending_s(self, now: float) -> float:
        if not self.flows:
            return 0.0
        virtual = self.virtual_s + (now - self.last_s) / len(self.flows)
        return math.fsum(max(0.0, tag - virtual) for tag, _, _ in self.flows)

    def promised_s(self, now: float) -> float:
        """As if the messages of queries had the link alone, one after the other."""
        return max(0.0, self.reserved_s - now)

    def busy_until(self, now: float) -> float:
        return self.closed_s + (now - self.since_s if self.flows else 0.0)

    def work_until(self, now: float) -> float:
        return self.requested_s - self.pending_s(now)
