"""Links: one or a path of several, first come first served, or one that is shared.

Messages are pipelined (cut-through): with w_k = size / capacity_k, a message that joins link k at
r_k has its turn there from s_k = max(free_k, r_k) to s_k + w_k, and its first byte goes on at once:
r_{k+1} = s_k. Its last byte is through when every link has had time for it, at max_k (s_k + w_k).
So an idle path takes size / smallest capacity, and a path of one link is what
:mod:`nona.simulation.reference.links` has. (A fast link behind a slow one gets the bytes more slowly than it
could send them. It serves others in the gaps; its turn stands for the work, which is w_k in all.)
Each joining is an event, so that messages from different sources queue in order of time. Latency
is added once, after the last link.

Virtual time V runs at rate 1/n while n messages are in service. A message of work w that arrives
at V leaves when V reaches the tag V + w. So one number changes per event, not every message, and
rounding cannot drift: at each departure V is set to the tag itself. (The formulation is that of
fair queueing: Demers, Keshav and Shenker 1989; Parekh and Gallager 1993, from memory.)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from simpy.events import Event

from nona.random_streams import RandomStreams
from nona.simulation.records import MessageInterval
from nona.simulation.reference.executors import Inputs
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import HOP, LINK_BACKGROUND, LINK_END, LeanEvent, content_key
from nona.simulation.reference.lane import Lane
from nona.simulation.workload import Output, link_background
from nona.system import System
from nona.topology import Topology


class Crossing(Event):
    """A message on its way; as an event, that it joins its next link.

    ``steps`` links of ``path`` have been joined; the last of them ends with it at ``end_s``.
    ``delivered_s`` is ``nan`` until all are: only then is it known when the readers at ``places`` of
    the output have it.
    """

    __slots__ = (
        "callbacks", "delivered_s", "destination", "end_s", "job", "output", "path", "places", "request_s",
        "source", "start_s", "steps",
    )  # fmt: skip
    _ok = True
    _value = None

    def __init__(
        self,
        job: Job,
        output: Output,
        places: Sequence[int],
        route: tuple[int, int],
        path: tuple[int, ...],
        request_s: float,
        callbacks: list[Callable[[Any], None]],
    ) -> None:
        self.callbacks, self.job, self.output, self.places = callbacks, job, output, list(places)
        (self.source, self.destination), self.path = route, path
        self.request_s = self.start_s = self.end_s = request_s
        self.steps, self.delivered_s = 0, math.nan


class PathLinks:
    """All links, in ``lanes``. A token is the :class:`Crossing` itself.

    Where past transfers are asked for (``watched``), ``_due`` holds (delivery, serial, seconds) of
    the messages that have joined their last link, in order of delivery, then of that joining.
    """

    def __init__(
        self, system: System, topology: Topology, streams: RandomStreams, inputs: Inputs, watched: bool
    ) -> None:
        self.topology, self.latency_s = topology, system.latency_s
        self.inputs, self._watched = inputs, watched
        self.environment, self.heap = inputs.environment, inputs.heap
        self.capacity: list[float] = system.link_capacity.tolist()
        self.lanes = [
            Lane(link_background(stream, streams, name, capacity))
            for (name, stream), capacity in zip(system.link_streams, self.capacity, strict=True)
        ]
        self.callbacks: list[Callable[[Any], None]] = [self._hops]
        self._paths: dict[tuple[int, int], tuple[int, ...]] = {}
        self._due: list[tuple[float, int, float]] = []
        self._serial = self._delivered = 0
        self._transfer_s = self._reserved_s = 0.0
        classes = len(system.queries)
        self._crossed = [[0.0] * len(self.lanes) for _ in range(classes)]
        self._requested = [0.0] * classes

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """The links between two servers."""
        route = (source, destination)
        if route not in self._paths:
            self._paths[route] = self.topology.path(source, destination)
        return self._paths[route]

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        """Seconds of the message of ``output`` when nothing else is on its way."""
        slowest = min(self.capacity[link] for link in self.path(source, destination))
        return output.size_bytes / slowest + self.latency_s

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Crossing:
        path, size = self.path(source, destination), output.size_bytes
        crossing = Crossing(job, output, places, (source, destination), path, now, self.callbacks)
        job.sent_bytes += size
        self._requested[job.query] += size
        crossed = self._crossed[job.query]
        for link in path:
            crossed[link] += size
            if self._watched:
                self._reserved_s = max(
                    self._reserved_s, self.lanes[link].reserve(now, size / self.capacity[link])
                )
        self._join(now, crossing)
        return crossing

    def _hops(self, crossing: Crossing) -> None:
        self._join(self.environment._now, crossing)

    def _join(self, now: float, crossing: Crossing) -> None:
        path, step, size = crossing.path, crossing.steps, crossing.output.size_bytes
        lane = self.lanes[path[step]]
        start = lane.serve(now, size / self.capacity[path[step]])
        if lane.free_s > crossing.end_s:
            crossing.end_s = lane.free_s
        if step == 0:
            crossing.start_s = start
        crossing.steps = step = step + 1
        if step < len(path):
            number = crossing.output.numbers[crossing.places[0]]
            heappush(self.heap, (start, content_key(HOP, crossing.job.number, number), 0, crossing))
        else:
            self._deliver(crossing)

    def _deliver(self, crossing: Crossing) -> None:
        """The last link is joined: hand on when each reader has the message."""
        job, output = crossing.job, crossing.output
        crossing.delivered_s = delivered = crossing.end_s + self.latency_s
        for place in crossing.places:
            self.inputs.later(delivered, job, output.targets[place], output.numbers[place])
        if self._watched:
            self._serial += 1
            heappush(self._due, (delivered, self._serial, delivered - crossing.request_s))
        if job.trace is not None:
            job.trace.messages.append(
                MessageInterval(
                    job.number, job.query, output.tensor, crossing.source, crossing.destination,
                    crossing.request_s, crossing.start_s, crossing.end_s, delivered,
                )
            )  # fmt: skip

    def also(self, now: float, token: Crossing, job: Job, output: Output, place: int) -> None:
        if math.isnan(token.delivered_s):
            token.places.append(place)
        elif token.delivered_s > now:
            self.inputs.later(token.delivered_s, job, output.targets[place], output.numbers[place])
        else:
            self.inputs.here(now, job, output.targets[place])

    def past_transfer_s(self, now: float) -> float:
        while self._due and self._due[0][0] <= now:
            self._transfer_s += heappop(self._due)[2]
            self._delivered += 1
        return self._transfer_s / self._delivered if self._delivered else 0.0

    def promised_s(self, now: float) -> float:
        """Return the wait (s) for the link promised longest; the request promises every link of a path."""
        return max(0.0, self._reserved_s - now)

    def queue_bytes(self, now: float) -> float:
        """Over all links in order; a message counts at the links that it has joined."""
        total = 0.0
        for lane, capacity in zip(self.lanes, self.capacity, strict=True):
            total += lane.pending_s(now) * capacity
        return total

    def busy_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([lane.busy_until(now) for lane in self.lanes])

    def work_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([lane.work_until(now) for lane in self.lanes])

    def crossed_bytes(self) -> NDArray[np.float64]:
        """(classes, L + 1) Bytes requested that cross each link; in the last column all requested."""
        return np.column_stack([np.array(self._crossed), np.array(self._requested)])


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
        """Return the wait (s) as if the messages of queries had the link alone, one after the other."""
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


class Link(Protocol):
    """Interface of the link to the engine, or of all links together (L of them, in order)."""

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> Any:
        """Take the message that carries ``output`` from server ``source`` to ``destination``.

        ``places`` are those of its targets in the output; the first decides the message's order in
        its job. Returns a token for :meth:`also`.
        """

    def also(self, now: float, token: Any, job: Job, output: Output, place: int) -> None:
        """One more target on the same server reads the message, which may have arrived already."""

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        """Seconds from request to delivery of the message when nothing else is on its way."""

    def past_transfer_s(self, now: float) -> float:
        """Mean seconds from request to delivery of the messages delivered so far; 0 before any."""

    def promised_s(self, now: float) -> float:
        """Seconds until the messages of queries alone would have been served."""

    def queue_bytes(self, now: float) -> float:
        """Bytes waiting or in service, background included."""

    def busy_per_link(self, now: float) -> NDArray[np.float64]:
        """(L,) Length of the busy periods from 0 to ``now``."""

    def work_per_link(self, now: float) -> NDArray[np.float64]:
        """(L,) Seconds of service done by ``now``."""

    def crossed_bytes(self) -> NDArray[np.float64] | None:
        """(classes, L + 1) Bytes that each query class sent over each link, and in all; ``None`` when
        all it sent crossed the one link."""


def make_link(system: System, streams: RandomStreams, inputs: Inputs, watched: bool) -> Link:
    """The link or links of ``system``; ``watched``: past transfers will be asked for."""
    if system.topology is not None:
        return PathLinks(system, system.topology, streams, inputs, watched)
    ((name, stream),) = system.link_streams
    items = link_background(stream, streams, name, system.capacity)
    if system.discipline == "fifo":
        return FifoLink(items, system.capacity, system.latency_s, inputs, watched)
    return SharedLink(items, system.capacity, system.latency_s, inputs)


class FifoLink(Lane):
    """The one link. The delivery of a message is known at its request; it is the token."""

    def __init__(
        self,
        background: Iterator[tuple[float, float]],
        capacity: float,
        latency_s: float,
        inputs: Inputs,
        watched: bool,
    ) -> None:
        super().__init__(background)
        self.capacity, self.latency_s, self._watched = capacity, latency_s, watched
        self.later, self.here, self.wait = inputs.later, inputs.here, inputs.wait
        self._due: deque[tuple[float, float]] = deque()
        self._delivered, self._transfer_s = 0, 0.0

    def send(
        self, now: float, job: Job, output: Output, places: Sequence[int], source: int, destination: int
    ) -> float:
        if self._next_s <= now:
            self._absorb(now)
        work = output.work_s
        start = self.free_s  # from here as Lane._join and Inputs.later, without calls: they cost most
        if start < now:
            self.closed_s += start - self.since_s
            self.since_s = start = now
        self.free_s = end = start + work
        self.work_s += work
        job.sent_bytes += output.size_bytes
        delivered = end + self.latency_s
        latest_s, missing = job.latest_s, job.missing
        for place in places:
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
            self.reserve(now, work)
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

    def isolated_s(self, output: Output, source: int, destination: int) -> float:
        return output.work_s + self.latency_s

    def past_transfer_s(self, now: float) -> float:
        while self._due and self._due[0][0] <= now:
            self._transfer_s += self._due.popleft()[1]
            self._delivered += 1
        return self._transfer_s / self._delivered if self._delivered else 0.0

    def promised_s(self, now: float) -> float:
        return max(0.0, self.reserved_s - now)

    def queue_bytes(self, now: float) -> float:
        return self.pending_s(now) * self.capacity

    def busy_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([self.busy_until(now)])

    def work_per_link(self, now: float) -> NDArray[np.float64]:
        return np.array([self.work_until(now)])

    def crossed_bytes(self) -> None:
        return None
