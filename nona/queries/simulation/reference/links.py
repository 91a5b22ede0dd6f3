"""Links: one or a path of several, first come first served, or one that is shared.

Messages are pipelined (cut-through): with w_k = size / capacity_k, a message that joins link k at
r_k has its turn there from s_k = max(free_k, r_k) to s_k + w_k, and its first byte goes on at once:
r_{k+1} = s_k. Its last byte is through when every link has had time for it, at max_k (s_k + w_k).
So an idle path takes size / smallest capacity. (A fast link behind a slow one gets the bytes more slowly
than it could send them. It serves others in the gaps; its turn stands for the work, which is w_k in all.)
Each joining is an event, so that messages from different sources queue in order of time. Latency
is added once, after the last link.

Shared: virtual time V runs at rate 1/n while n messages are in service. A message of work w that arrives
at V leaves when V reaches the tag V + w. So one number changes per event, not every message, and
rounding cannot drift: at each departure V is set to the tag itself. (The formulation is that of
fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager 1993, from memory.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Protocol

import numpy as np
import simpy

from nona.core.arrays import Floats
from nona.core.random_streams import RandomStreams
from nona.queries.simulation.records import MessageInterval
from nona.queries.simulation.reference.jobs import QueryJob
from nona.queries.simulation.reference.kernel import (
    DELIVERY,
    HOP,
    LINK_BACKGROUND,
    LINK_END,
    Environment,
    Process,
    content_key,
)
from nona.queries.simulation.workload import Output, link_background
from nona.queries.system import System


class FifoLink:
    """A link that serves first come, first served, with its background. Work is in seconds: bytes / capacity.

    It has no events of its own: when a message joins, all that stands before it is known, so its end is too.
    Background is merged in when the link is looked at. The compiled engine has the same rule once more
    (:func:`nona.queries.simulation.compiled.events.links.join_link`), so that the two engines can check each
    other.

    ``free_s``: when all that has joined will have been served; ``since_s``: start of the busy
    period; ``closed_s``: length of the busy periods before it; ``work_s``: sum of the services
    begun or promised; ``reserved_s``: when the messages of queries alone would have been served.
    """

    def __init__(self, background: Iterator[tuple[float, float]]) -> None:
        self._items = background
        self.free_s = self.since_s = self.closed_s = self.work_s = self.reserved_s = 0.0
        self._next_s, self._next_work_s = next(background, (math.inf, 0.0))

    def serve(self, now: float, work: float) -> float:
        """Let a message join; return the start of its service. Its end is :attr:`free_s`."""
        if self._next_s <= now:
            self._absorb(now)
        return self._join(now, work)

    def _join(self, at: float, work: float) -> float:
        """Queue ``work`` at ``at``, behind all before it; return the time at which it begins."""
        start = self.free_s
        if start < at:
            self.closed_s += start - self.since_s
            self.since_s = start = at
        self.free_s = start + work
        self.work_s += work
        return start

    def reserve(self, now: float, work: float) -> float:
        """Enter a requested message of a query that will cross this link; return :attr:`reserved_s`."""
        self.reserved_s = reserved = max(self.reserved_s, now) + work
        return reserved

    def _absorb(self, now: float) -> None:
        while self._next_s <= now:
            self._join(self._next_s, self._next_work_s)
            self._next_s, self._next_work_s = next(self._items)

    def pending_s(self, now: float) -> float:
        """Work waiting or in service, background included."""
        self._absorb(now)
        return max(0.0, self.free_s - now)

    def busy_until(self, now: float) -> float:
        """Return the seconds in which the link was busy up to ``now``."""
        self._absorb(now)
        return self.closed_s + min(self.free_s, now) - self.since_s

    def work_until(self, now: float) -> float:
        """Return the seconds of work that the link has done up to ``now``."""
        self._absorb(now)
        return self.work_s - max(0.0, self.free_s - now)


class Message:
    """A tensor on its way to a server, for the readers at ``places`` of the output.

    ``steps`` links of ``path`` have been joined; the last of them ends with it at ``end_s``. ``delivered_s``
    is ``nan`` until it is known.
    """

    __slots__ = (
        "delivered_s", "destination", "end_s", "job", "output", "path", "places", "request_s", "source",
        "start_s", "steps",
    )  # fmt: skip

    def __init__(
        self, job: QueryJob, output: Output, places: Sequence[int], route: tuple[int, int], request_s: float
    ) -> None:
        self.job, self.output, self.places = job, output, list(places)
        self.source, self.destination = route
        self.request_s = self.start_s = self.end_s = request_s
        self.delivered_s, self.steps = math.nan, 0
        self.path: tuple[int, ...] = (0,)

    def key(self, kind: int, place: int) -> int:
        """Return the content key of what it does, for the reader at a place."""
        return content_key(kind, self.job.number, self.output.numbers[place])

    def record(self) -> None:
        """Write the interval into the job's trace, if there is one."""
        if self.job.trace is not None:
            route, times = (self.source, self.destination), (self.start_s, self.end_s, self.delivered_s)
            self.job.trace.messages.append(
                MessageInterval(
                    self.job.number, self.job.query, self.output.tensor, *route, self.request_s, *times
                )
            )


class SimulatedLink(Protocol):
    """Interface of the link to the engine, or of all links together (L of them, in order)."""

    def send(
        self, job: QueryJob, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Message:
        """Take the message that carries ``output`` from server ``source`` to ``destination``.

        ``places`` are those of its targets in the output; the first decides the message's order in
        its job.
        """

    def also(self, message: Message, place: int) -> None:
        """One more target on the same server reads the message, which may have arrived already."""

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        """Seconds from request to delivery of the message when nothing else is on its way."""

    def past_transfer_s(self) -> float:
        """Mean seconds from request to delivery of the messages delivered so far; 0 before any."""

    def promised_s(self) -> float:
        """Seconds until the messages of queries alone would have been served."""

    def queue_bytes(self) -> float:
        """Bytes waiting or in service, background included."""

    def busy_and_work(self, now: float) -> tuple[Floats, Floats]:
        """(L,) Length of the busy periods, and seconds of service done, from 0 to ``now``."""

    def crossed_bytes(self) -> Floats | None:
        """Bytes (classes, L + 1) that each query class sent over each link, and in all.

        ``None`` when all it sent crossed the one link.
        """


def make_link(env: Environment, system: System, streams: RandomStreams) -> SimulatedLink:
    """Return the link of the system: FIFO with its links, or shared."""
    if system.discipline == "fifo":
        return FifoLinks(env, system, streams)
    ((name, stream),) = system.link_streams
    return SharedLink(env, system, link_background(stream, streams, name, system.capacity))


class _Deliveries:
    """The common part of links: each reader of a message hears of its delivery in an event of its own.

    ``_due`` holds (delivery, serial, seconds) of the messages whose delivery is known, in order of delivery,
    then of its being known.
    """

    def __init__(self, env: Environment, latency_s: float) -> None:
        self.env, self.latency_s = env, latency_s
        self._due: list[tuple[float, int, float]] = []
        self._serial = self._delivered = 0
        self._transfer_s = 0.0

    def _leave(self, message: Message) -> None:
        """Schedule the delivery now that the end of the last link is known."""
        self.past_transfer_s()  # keeps the list of those on their way short
        message.delivered_s = message.end_s + self.latency_s
        for place in message.places:
            self._reach(message, place)
        self._serial += 1
        heappush(self._due, (message.delivered_s, self._serial, message.delivered_s - message.request_s))
        message.record()

    def _reach(self, message: Message, place: int) -> None:
        number = message.output.numbers[place]
        self.env.schedule_at(
            message.delivered_s, message.key(DELIVERY, place), lambda _: message.job.deliver(number)
        )

    def also(self, message: Message, place: int) -> None:
        if math.isnan(message.delivered_s):
            message.places.append(place)
        elif message.delivered_s > self.env.now:
            self._reach(message, place)
        else:
            message.job.arrive(message.output.numbers[place])

    def past_transfer_s(self) -> float:
        while self._due and self._due[0][0] <= self.env.now:
            self._transfer_s += heappop(self._due)[2]
            self._delivered += 1
        return self._transfer_s / self._delivered if self._delivered else 0.0


class FifoLinks(_Deliveries):
    """All links, in ``lanes``."""

    def __init__(self, env: Environment, system: System, streams: RandomStreams) -> None:
        super().__init__(env, system.latency_s)
        self.topology = system.topology
        self.capacity: list[float] = system.link_capacity.tolist()
        self.lanes = [
            FifoLink(link_background(stream, streams, name, capacity))
            for (name, stream), capacity in zip(system.link_streams, self.capacity, strict=True)
        ]
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}
        self._reserved_s = 0.0
        self._crossed = np.zeros((len(system.queries), len(self.lanes) + 1))

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """Return the links between two servers."""
        if self.topology is None:
            return (0,)
        route = (source, destination)
        if route not in self._paths:
            self._paths[route] = self.topology.path(source, destination)
        return self._paths[route]

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        """Return the seconds of a transfer when nothing else is sent."""
        slowest = min(self.capacity[link] for link in self.path(source, destination))
        return output.size_bytes / slowest + self.latency_s

    def send(
        self, job: QueryJob, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Message:
        """Send an output from one server to another; return the message."""
        now, size = self.env.now, output.size_bytes
        message = Message(job, output, places, (source, destination), now)
        message.path = self.path(source, destination)
        job.sent_bytes += size
        for link in message.path:
            self._crossed[job.query, link] += size
            self._reserved_s = max(
                self._reserved_s, self.lanes[link].reserve(now, size / self.capacity[link])
            )
        self._crossed[job.query, -1] += size
        self._join(message)
        return message

    def _join(self, message: Message) -> None:
        """Let the message join its next link; with the last one its delivery is known."""
        link, lane = message.path[message.steps], self.lanes[message.path[message.steps]]
        start_s = lane.serve(self.env.now, message.output.size_bytes / self.capacity[link])
        message.end_s = max(message.end_s, lane.free_s)
        if message.steps == 0:
            message.start_s = start_s
        message.steps += 1
        if message.steps < len(message.path):
            self.env.schedule_at(start_s, message.key(HOP, message.places[0]), lambda _: self._join(message))
            return
        self._leave(message)

    def promised_s(self) -> float:
        """Return the wait (s) for the link promised longest; the request promises every link of a path."""
        return max(0.0, self._reserved_s - self.env.now)

    def queue_bytes(self) -> float:
        """Over all links in order; a message counts at the links that it has joined."""
        total = 0.0
        for lane, capacity in zip(self.lanes, self.capacity, strict=True):
            total += lane.pending_s(self.env.now) * capacity
        return total

    def busy_and_work(self, now: float) -> tuple[Floats, Floats]:
        """Return (L,) busy seconds and seconds of work done of each link up to ``now``."""
        busy = [lane.busy_until(now) for lane in self.lanes]
        return np.array(busy), np.array([lane.work_until(now) for lane in self.lanes])

    def crossed_bytes(self) -> Floats | None:
        """Return the bytes by class and link; ``None`` without a topology."""
        return None if self.topology is None else self._crossed


class SharedLink(_Deliveries):
    """``flows`` is a heap of (tag, content key, message), the message of background being ``None``."""

    def __init__(self, env: Environment, system: System, background: Iterator[tuple[float, float]]) -> None:
        super().__init__(env, system.latency_s)
        self.capacity = system.capacity
        self.flows: list[tuple[float, int, Message | None]] = []
        self.virtual_s = self.last_s = self.since_s = self.closed_s = 0.0
        self.requested_s = self.reserved_s = 0.0
        self._end_s = math.inf
        env.process(self._arrive(background))

    def _arrive(self, background: Iterator[tuple[float, float]]) -> Process:
        for number, (arrival_s, work_s) in enumerate(background, start=1):
            yield self.env.schedule_at(arrival_s, content_key(LINK_BACKGROUND))
            self._add(work_s, content_key(LINK_BACKGROUND, number), None)

    def send(
        self, job: QueryJob, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Message:
        """Send an output from one server to another; return the message."""
        self.reserved_s = max(self.reserved_s, self.env.now) + output.work_s
        job.sent_bytes += output.size_bytes
        message = Message(job, output, places, (source, destination), self.env.now)
        self._add(output.work_s, message.key(DELIVERY, places[0]), message)
        return message

    def _add(self, work_s: float, key: int, message: Message | None) -> None:
        now = self.env.now
        if self.flows:
            self.virtual_s += (now - self.last_s) / len(self.flows)
        else:
            self.virtual_s, self.since_s = 0.0, now
        self.last_s = now
        self.requested_s += work_s
        heappush(self.flows, (self.virtual_s + work_s, key, message))
        self._plan_end()

    def _plan_end(self) -> None:
        """Put the next departure on the event list. Earlier plans stay there and are ignored."""
        if not self.flows:
            self._end_s = math.inf
            return
        now = self.env.now
        self._end_s = max(now, now + (self.flows[0][0] - self.virtual_s) * len(self.flows))
        self.env.schedule_at(self._end_s, content_key(LINK_END), self._depart)

    def _depart(self, _: simpy.Event) -> None:
        now = self.env.now
        if now != self._end_s:
            return
        self.virtual_s, _key, message = heappop(self.flows)
        self.last_s = now
        if not self.flows:
            self.closed_s += now - self.since_s
        self._plan_end()
        if message is not None:
            message.end_s = self.env.now
            self._leave(message)

    def promised_s(self) -> float:
        """Return the wait (s) as if the messages of queries had the link alone, one after the other."""
        return max(0.0, self.reserved_s - self.env.now)

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        """Return the seconds of a transfer when nothing else is sent."""
        return output.work_s + self.latency_s

    def queue_bytes(self) -> float:
        """Return the bytes that wait for the link or are on it."""
        return self._pending_s(self.env.now) * self.capacity

    def _pending_s(self, now: float) -> float:
        return pending_s([tag for tag, _, _ in self.flows], self.virtual_s, now - self.last_s)

    def busy_and_work(self, now: float) -> tuple[Floats, Floats]:
        """Return (1,) busy seconds and seconds of work done of the link up to ``now``."""
        busy = self.closed_s + (now - self.since_s if self.flows else 0.0)
        return np.array([busy]), np.array([self.requested_s - self._pending_s(now)])

    def crossed_bytes(self) -> None:
        """Return ``None``: all bytes crossed the one link."""
        return None


def pending_s(tags: Sequence[float], virtual_s: float, since_s: float) -> float:
    """Work left of the messages with these tags, ``since_s`` seconds after the virtual time was noted.

    In seconds of the link alone, background included. The sum is exact before it is rounded, so the order of
    the messages is no matter.
    """
    if not tags:
        return 0.0
    virtual = virtual_s + since_s / len(tags)
    return math.fsum(max(0.0, tag - virtual) for tag in tags)
