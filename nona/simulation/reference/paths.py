"""Several links: a message crosses a path of them, each first come, first served.

Messages are pipelined (cut-through): with w_k = size / capacity_k, a message that joins link k at
r_k has its turn there from s_k = max(free_k, r_k) to s_k + w_k, and its first byte goes on at once:
r_{k+1} = s_k. Its last byte is through when every link has had time for it, at max_k (s_k + w_k).
So an idle path takes size / smallest capacity, and a path of one link is what
:mod:`nona.simulation.reference.links` has. (A fast link behind a slow one gets the bytes more slowly than it
could send them. It serves others in the gaps; its turn stands for the work, which is w_k in all.)
Each joining is an event, so that messages from different sources queue in order of time. Latency
is added once, after the last link.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray
from simpy.events import Event

from nona.random_streams import RandomStreams
from nona.simulation.records.run import MessageInterval
from nona.simulation.reference.inputs import Inputs
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import HOP, content_key
from nona.simulation.reference.lane import Lane
from nona.simulation.workload.draws import link_background
from nona.simulation.workload.plans import Output
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
        """Of the link that is promised longest; every link of a path is promised at the request."""
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
