"""The network that transfers share, where the scenario says that they do: links, latency, background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from nona.system import Stream, link_streams
from nona.topology import Topology

NO_BACKGROUND = Stream()


@dataclass(frozen=True, eq=False)
class SharedNetwork:
    """The core's links between invokers, as :mod:`nona.simulation.reference.paths` crosses them.

    Every link is first come, first served; ``latency_s`` is added once, after the last link; ``background``
    is that of the core. An invoker is the server of its number.
    """

    topology: Topology
    latency_s: float
    background: Stream = NO_BACKGROUND

    @property
    def streams(self) -> tuple[tuple[tuple[str, ...], Stream], ...]:
        """For each link the name of its random streams, and its background."""
        links = self.topology
        return link_streams(self.background, links.link_names, links.link_capacity.tolist(), links.core)

    @cached_property
    def slowest(self) -> float:
        """Bytes/s of the slowest link that a message may cross."""
        return float(self.topology.link_capacity.min())

    def path(self, source: int, destination: int) -> tuple[int, ...]:
        """The links from one invoker to another, or from outside where ``source`` is −1."""
        if source < 0:
            return self.topology.entry(destination)
        return self.topology.path(source, destination)

    def alone_s(self, size: float, source: int, destination: int) -> float:
        """Seconds of a message when nothing else is on its way: size / slowest link + latency.

        >>> from nona.topology import make_topology
        >>> SharedNetwork(make_topology(2, 100.0, nic=50.0), 0.5).alone_s(100.0, -1, 0)
        2.5
        """
        capacity = self.topology.link_capacity
        return size / min(float(capacity[link]) for link in self.path(source, destination)) + self.latency_s
