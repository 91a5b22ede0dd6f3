"""The bottleneck link, first come first served.

A FIFO link has no events of its own: when a message is requested, all that stands before it is
known, so its delivery is too. Background messages are merged in when the link is looked at.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from nona.random_streams import RandomStreams
from nona.simulation.draws import background_items
from nona.simulation.inputs import Inputs
from nona.simulation.job import Job
from nona.simulation.plan import Output
from nona.simulation.records import MessageInterval
from nona.simulation.shared_link import SharedLink
from nona.system import System


class Link(Protocol):
    """What the engine asks of a link. Work is in seconds of the link alone: bytes / capacity."""

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Any:
        """Take the message that carries ``output`` from server ``source`` to ``destination``.

        ``places`` are those of its targets in the output; the first decides the message's order in
        its job. Returns a token for :meth:`also`.
        """

    def also(self, now: float, token: Any, job: Job, output: Output, place: int) -> None:
        """One more target on the same server reads the message, which may have arrived already."""

    def past_transfer_s(self, now: float) -> float:
        """Mean seconds from request to delivery of the messages delivered so far; 0 before any."""

    def promised_s(self, now: float) -> float:
        """Seconds until the messages of queries alone would have been served."""

    def pending_s(self, now: float) -> float:
        """Work waiting or in service, background included."""

    def busy_until(self, now: float) -> float:
        """Length of the busy periods from 0 to ``now``."""

    def work_until(self, now: float) -> float:
        """Work done by ``now``."""


def make_link(system: System, streams: RandomStreams, inputs: Inputs, watched: bool) -> Link:
    """The link of ``system``, of its discipline; ``watched``: past transfers will be asked for."""
    background = background_items(system.background_network, streams, "link")
    items = ((arrival, size / system.capacity) for arrival, size in background)
    if system.discipline == "fifo":
        return FifoLink(items, system.latency_s, inputs, watched)
    return SharedLink(items, system.latency_s, inputs)


class FifoLink:
    """``free_s``: when all that was requested will have been served; ``closed_s``, ``since_s`` and
    ``work_s`` as in :class:`~nona.simulation.executor.Executor`. A token is the delivery instant."""

    def __init__(
        self, background: Iterator[tuple[float, float]], latency_s: float, inputs: Inputs, watched: bool
    ) -> None:
        self.latency_s, self.later, self.here, self.wait = latency_s, inputs.later, inputs.here, inputs.wait
        self._items, self._watched = background, watched
        self.free_s = self.since_s = self.closed_s = self.work_s = self.reserved_s = 0.0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))
        self._due: deque[tuple[float, float]] = deque()
        self._delivered, self._transfer_s = 0, 0.0

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> float:
        if self._next_s <= now:
            self._absorb(now)
        work = output.work_s
        start = self.free_s
        if start < now:
            self.closed_s += start - self.since_s
            self.since_s = start = now
        self.free_s = end = start + work
        self.work_s += work
        job.sent_bytes += output.size_bytes
        delivered = end + self.latency_s
        latest_s, missing = job.latest_s, job.missing
        for place in places:  # as Inputs.later, without a call: most of a run's time is spent here
            task = output.targets[place]
            if delivered > latest_s[task]:
                latest_s[task] = delivered
                job.latest_number[task] = output.numbers[place]
            elif delivered == latest_s[task]:
                job.latest_number[task] = max(job.latest_number[task], output.numbers[place])
            if missing[task] > 1:
                missing[task] -= 1
            else:
                self.wait(job, task)
        if self._watched:
            self.reserved_s = max(self.reserved_s, now) + work
            self._due.append((delivered, delivered - now))
        if job.trace is not None:
            job.trace.messages.append(
                MessageInterval(
                    job.number, job.query, output.tensor, source, destination, now, start, end, delivered
                )
            )
        return delivered

    def also(self, now: float, token: float, job: Job, output: Output, place: int) -> None:
        if token > now:
            self.later(token, job, output.targets[place], output.numbers[place])
        else:
            self.here(now, job, output.targets[place])

    def _absorb(self, now: float) -> None:
        while self._next_s <= now:
            arrival, free = self._next_s, self.free_s
            if arrival > free:
                self.closed_s += free - self.since_s
                self.since_s = free = arrival
            self.free_s = free + self._next_work_s
            self.work_s += self._next_work_s
            self._next_s, self._next_work_s = next(self._items)

    def past_transfer_s(self, now: float) -> float:
        while self._due and self._due[0][0] <= now:
            self._transfer_s += self._due.popleft()[1]
            self._delivered += 1
        return self._transfer_s / self._delivered if self._delivered else 0.0

    def promised_s(self, now: float) -> float:
        return max(0.0, self.reserved_s - now)

    def pending_s(self, now: float) -> float:
        self._absorb(now)
        return max(0.0, self.free_s - now)

    def busy_until(self, now: float) -> float:
        self._absorb(now)
        return self.closed_s + min(self.free_s, now) - self.since_s

    def work_until(self, now: float) -> float:
        self._absorb(now)
        return self.work_s - max(0.0, self.free_s - now)
