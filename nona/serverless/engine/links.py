"""Inputs that come over links which all transfers share, with the background of the network.

A batch asks for its inputs when its set-up and its cold start are over: one message from each other invoker
that has some, or from outside the cluster. Messages cross their links as in
:mod:`nona.simulation.reference.paths`: first come, first served, pipelined, each joining an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappush

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.serverless.engine.events import HOP, Event, Running
from nona.serverless.engine.tables import Tables
from nona.serverless.model.network import SharedNetwork
from nona.serverless.records.transfers import LinkTransfers
from nona.simulation.reference.lane import Lane
from nona.simulation.workload.draws import link_background

Floats = NDArray[np.float64]


class _Message:
    """Bytes on their way over ``path``; ``steps`` links of it are joined, the last ends at ``end_s``."""

    __slots__ = ("end_s", "path", "size", "steps")

    def __init__(self, path: tuple[int, ...], size: float) -> None:
        self.path, self.size, self.steps, self.end_s = path, size, 0, 0.0


class Fetch:
    """The inputs of a batch, asked for at ``asked_s``; on its invoker they lie at ``ready_s`` at least.

    ``configuration`` and ``noise`` are of the batch, which waits for them.
    """

    __slots__ = ("asked_s", "batch", "configuration", "messages", "missing", "noise", "ready_s")

    def __init__(
        self, batch: Running, configuration: int, noise: float, asked_s: float, local_s: float
    ) -> None:
        self.batch, self.configuration, self.noise = batch, configuration, noise
        self.asked_s, self.ready_s = asked_s, asked_s + local_s
        self.messages: list[_Message] = []
        self.missing = 0


class Links:
    """All links of a run, and the fetches under way by number of the batch."""

    def __init__(
        self, network: SharedNetwork, tables: Tables, streams: RandomStreams, heap: list[Event]
    ) -> None:
        self._network, self._tables, self._heap = network, tables, heap
        self._capacity: list[float] = network.topology.link_capacity.tolist()
        self._lanes = [
            Lane(link_background(stream, streams, name, capacity))
            for (name, stream), capacity in zip(network.streams, self._capacity, strict=True)
        ]
        self._under_way: dict[int, Fetch] = {}
        self._alone_s: dict[int, float] = {}

    def alone_s(self, number: int, remote: Mapping[int, float], invoker: int, local_s: float) -> float:
        """Seconds of a batch's transfer if each of its messages were alone.

        ``remote``: bytes from each source, −1 for outside; ``local_s``: what it takes on the invoker.
        """
        alone_s = [self._network.alone_s(size, source, invoker) for source, size in remote.items()]
        if alone_s:
            self._alone_s[number] = max(local_s, *alone_s)
        return max(local_s, *alone_s, 0.0)

    def ask(self, fetch: Fetch, remote: Mapping[int, float]) -> None:
        """The fetch begins at its ``asked_s``, which is not past."""
        number, invoker = fetch.batch.number, fetch.batch.invoker
        self._under_way[number] = fetch
        for which, source in enumerate(sorted(remote)):
            fetch.messages.append(_Message(self._network.path(source, invoker), remote[source]))
            self._push(fetch.asked_s, fetch.batch, which)
        fetch.missing = len(fetch.messages)

    def _push(self, at_s: float, batch: Running, which: int) -> None:
        tables, queue = self._tables, batch.queue
        heappush(self._heap, (at_s, HOP, tables.application[queue], tables.stage[queue], batch.number, which))

    def hop(self, number: int, which: int, now_s: float) -> Fetch | None:
        """A message joins its next link; the fetch of which all is on its last link, its end thus known."""
        fetch = self._under_way[number]
        message = fetch.messages[which]
        link = message.path[message.steps]
        lane = self._lanes[link]
        start_s = lane.serve(now_s, message.size / self._capacity[link])
        message.end_s = max(message.end_s, lane.free_s)
        message.steps += 1
        if message.steps < len(message.path):
            self._push(start_s, fetch.batch, which)
            return None
        fetch.ready_s = max(fetch.ready_s, message.end_s + self._network.latency_s)
        fetch.missing -= 1
        return None if fetch.missing else self._under_way.pop(number)

    def records(self, batches: int, stopped_s: float) -> LinkTransfers:
        """What all links did until the end of the run, which served ``batches`` batches."""
        alone_s: Floats = np.array([self._alone_s.get(n, np.nan) for n in range(batches)])
        known = np.ones(batches, dtype=bool)
        known[list(self._under_way)] = False
        return LinkTransfers(
            links=self._network.topology.link_names,
            busy_s=np.array([lane.busy_until(stopped_s) for lane in self._lanes]),
            work_s=np.array([lane.work_until(stopped_s) for lane in self._lanes]),
            alone_s=alone_s,
            known=known,
        )


def links_of(tables: Tables, replication: int, heap: list[Event]) -> Links | None:
    """The links of a run, ``None`` where every transfer takes its time alone."""
    system = tables.system
    if system.network is None:
        return None
    return Links(system.network, tables, RandomStreams(system.seed, replication), heap)
