"""Links of the second simulator: a list of all that ever joined each, gone through from its start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nona.random_streams import RandomStreams
from nona.serverless.system import SharedNetwork
from nona.simulation.workload import link_background


class ReferenceLink:
    """First come, first served; (when it joined, seconds of service) in order of joining."""

    def __init__(self, background: Any) -> None:
        self.background, self.head = background, next(background, None)
        self.joined: list[tuple[float, float]] = []

    def join(self, now_s: float, work_s: float) -> tuple[float, float]:
        """When the service of what joins now begins, and when it ends."""
        while self.head is not None and self.head[0] <= now_s:
            self.joined.append(self.head)
            self.head = next(self.background)
        self.joined.append((now_s, work_s))
        end_s = begin_s = 0.0
        for at_s, work in self.joined:
            begin_s = max(end_s, at_s)
            end_s = begin_s + work
        return begin_s, end_s


@dataclass(eq=False)
class Message:
    """Bytes for ``batch`` over ``path``; joined links so far, and when each of them is through with it."""

    batch: Any
    which: int
    path: tuple[int, ...]
    size: float
    through_s: list[float] = field(default_factory=list)


class ReferenceLinks:
    """``push(message, time)`` makes the event that the message joins its next link."""

    def __init__(
        self, network: SharedNetwork, seed: int, replication: int, push: Callable[[Message, float], None]
    ) -> None:
        streams = RandomStreams(seed, replication)
        self.network, self.push = network, push
        self.capacity = network.topology.link_capacity.tolist()
        self.links = [
            ReferenceLink(link_background(stream, streams, name, capacity))
            for (name, stream), capacity in zip(network.streams, self.capacity, strict=True)
        ]

    def path(self, source: int, to: int) -> tuple[int, ...]:
        """Card out, uplink, core, downlink, card in: as far as there are such, and they are on the way."""
        t = self.network.topology
        into = [int(t.down_link[to]), int(t.in_link[to])]
        if source < 0:
            return tuple(link for link in (t.core, *into) if link >= 0)
        up = [int(t.out_link[source]), int(t.up_link[source]), t.core]
        whole = [*up, *into] if t.rack[source] != t.rack[to] else [up[0], into[1]]
        return tuple(link for link in whole if link >= 0)

    def alone_s(self, size: float, source: int, to: int) -> float:
        """Seconds of a message that meets nobody."""
        return self.network.latency_s + max(size / self.capacity[link] for link in self.path(source, to))

    def step(self, message: Message, now_s: float) -> float | None:
        """The message joins its next link; when it is delivered, once that is known."""
        link = message.path[len(message.through_s)]
        begin_s, end_s = self.links[link].join(now_s, message.size / self.capacity[link])
        message.through_s.append(end_s)
        if len(message.through_s) < len(message.path):
            self.push(message, begin_s)
            return None
        return max(message.through_s) + self.network.latency_s
