"""The network as the engine sees it, and the single bottleneck link, first come first served."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.records.run import MessageInterval
from nona.simulation.reference.inputs import Inputs
from nona.simulation.reference.jobs import Job
from nona.simulation.reference.lane import Lane
from nona.simulation.reference.paths import PathLinks
from nona.simulation.reference.shared_link import SharedLink
from nona.simulation.workload.draws import link_background
from nona.simulation.workload.plans import Output
from nona.system import System


class Link(Protocol):
    """What the engine asks of the link, or of all links together (L of them, in order)."""

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
