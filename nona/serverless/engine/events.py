"""Things under way: events to come, batches that slow each other, inputs on links.

An event is (time, kind, application, stage, number, version). Times decide, then the kind, then content:
nothing depends on the order in which events were made. ``version`` tells outdated events, and is compared
only of messages of one batch: the fields before it differ else.

Every batch has ``left_s`` seconds of its own work; while a set of batches computes on one GPU each does
``speed`` of them a second, so that its end is now + left_s / speed until the set changes.

A batch asks for its inputs when its set-up and its cold start are over: one message from each other invoker
that has some, or from outside the cluster. Messages cross their links as in
:mod:`nona.simulation.reference.links`: first come, first served, pipelined, each joining an event.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from heapq import heappush

import numpy as np
from numpy.typing import NDArray

from nona.gpu_sharing.pool import Lease, Pool
from nona.random_streams import RandomStreams
from nona.serverless.engine.invokers import Tables
from nona.serverless.policies.base import Plan
from nona.serverless.records import LinkTransfers
from nona.serverless.system import SharedNetwork
from nona.simulation.reference.lane import Lane
from nona.simulation.workload import link_background

Event = tuple[float, int, int, int, int, int]

END = 0  # a batch ends; number: the batch
GPU_PHASE = 1  # a batch that shares its GPU begins to compute there; number: the batch
ARRIVAL = 2  # number: the call
CONTAINERS = 3  # a container is ready or its time is over; application: invoker, stage: function
DECISION = 4  # a search ends
WAIT_OVER = 5  # a queue is to be looked at again; number: which wait
HOP = 6  # a message joins its next link; number: the batch, version: which of its messages
READY = 7  # a standing instance can serve; number: the instance
SCALE = 8  # the numbers of instances are looked at; number: which look


class Decision:
    """A plan on its way to an invoker.

    ``ranked``, ``search_s``, ``steps``, ``carry``: of the plan; ``plan_missed``: whether it said that
    what was carried could not be used; ``decided_s``: when the search began; ``forced``: whether the
    smallest configuration was forced; ``missed``: whether the batch counts as a miss.
    """

    __slots__ = ("carry", "decided_s", "forced", "missed", "plan_missed", "ranked", "search_s", "steps")

    def __init__(self, plan: Plan, now_s: float, forced: bool) -> None:
        self.ranked = plan.ranked
        self.search_s, self.steps, self.carry = plan.search_s, plan.steps, plan.carry
        self.plan_missed = plan.missed
        self.missed = False
        self.decided_s, self.forced = now_s, forced


class Instance:
    """A lease that stands for an AFW queue, with its container.

    ``by_jobs``: by the number of jobs less one, the configuration whose time a batch of so many takes;
    ``timeout_s``: how long a batch waits to be full; ``ready_s``: when its container runs and its slice is
    made; ``busy``: not ready yet, or with a batch; ``stopping``: it serves no more; ``ended_s``: when it
    gave everything back, ``nan`` while it stands; ``container``: its number, where these are recorded.
    """

    __slots__ = (
        "busy",
        "by_jobs",
        "cold",
        "configuration",
        "container",
        "ended_s",
        "forced",
        "function",
        "invoker",
        "lease",
        "number",
        "queue",
        "ready_s",
        "started_s",
        "stopping",
        "timeout_s",
    )

    def __init__(
        self, number: int, queue: int, function: int, configuration: int, invoker: int, lease: Lease
    ) -> None:
        self.number, self.queue, self.function = number, queue, function
        self.configuration, self.invoker, self.lease = configuration, invoker, lease
        self.by_jobs: tuple[int, ...] = ()
        self.timeout_s = self.started_s = self.ready_s = 0.0
        self.cold = self.forced = self.busy = self.stopping = False
        self.ended_s = math.nan
        self.container = -1


class Running:
    """A batch between its dispatch and its end.

    It holds what its end needs to know; the last five matter only where batches slow each other down.
    ``instance``: the standing one that it runs on, ``None`` where its lease is its own.

    ``left_s``: seconds of its own GPU work; ``speed``: of them per second, since ``since_s``; ``end_s``:
    when it ends if nothing changes; ``version``: how often that was said.
    """

    __slots__ = (
        "calls",
        "end_s",
        "function",
        "instance",
        "invoker",
        "lease",
        "left_s",
        "number",
        "queue",
        "since_s",
        "speed",
        "version",
    )

    def __init__(
        self,
        number: int,
        queue: int,
        function: int,
        calls: list[int],
        invoker: int,
        lease: Lease,
        instance: Instance | None = None,
    ) -> None:
        self.number = number
        self.queue = queue
        self.function = function
        self.calls = calls
        self.invoker = invoker
        self.lease = lease
        self.instance = instance
        self.left_s = self.speed = self.since_s = self.end_s = 0.0
        self.version = 0


class SharedGpus:
    """The batches in their GPU phase, by (invoker, GPU)."""

    def __init__(self, pools: list[Pool]) -> None:
        self._pools = pools
        self._active: dict[tuple[int, int], list[Running]] = {}

    def enter(self, batch: Running, now_s: float) -> Iterable[Running]:
        """Begin a batch's GPU phase; return the batches whose ends have moved, with their new ends."""
        active = self._active.setdefault((batch.invoker, batch.lease.gpu), [])
        self._advance(active, now_s)
        batch.since_s = now_s
        active.append(batch)
        active.sort(key=_by_number)
        return self._again(active, now_s)

    def leave(self, batch: Running, now_s: float) -> Iterable[Running]:
        """End a batch; return the others whose ends have moved."""
        active = self._active[batch.invoker, batch.lease.gpu]
        active.remove(batch)
        self._advance(active, now_s)
        return self._again(active, now_s)

    def _advance(self, active: list[Running], now_s: float) -> None:
        for batch in active:
            batch.left_s = max(0.0, batch.left_s - batch.speed * (now_s - batch.since_s))
            batch.since_s = now_s

    def _again(self, active: list[Running], now_s: float) -> list[Running]:
        leases = tuple(b.lease for b in active)
        moved = []
        for batch in active:
            speed = self._pools[batch.invoker].speed(batch.lease, leases)
            if speed == batch.speed and batch.version:
                continue  # its end stands
            batch.speed = speed
            batch.version += 1
            batch.end_s = now_s + batch.left_s / speed
            moved.append(batch)
        return moved


def _by_number(batch: Running) -> int:
    return batch.number


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
        """Return the transfers on all links until the end of the run, which served ``batches`` batches."""
        alone_s: Floats = np.array([self._alone_s.get(n, np.nan) for n in range(batches)])
        complete = np.ones(batches, dtype=bool)
        complete[list(self._under_way)] = False
        return LinkTransfers(
            links=self._network.topology.link_names,
            busy_s=np.array([lane.busy_until(stopped_s) for lane in self._lanes]),
            work_s=np.array([lane.work_until(stopped_s) for lane in self._lanes]),
            alone_s=alone_s,
            known=complete,
        )


def links_of(tables: Tables, replication: int, heap: list[Event]) -> Links | None:
    """The links of a run, ``None`` where every transfer takes its time alone."""
    system = tables.system
    if system.network is None:
        return None
    return Links(system.network, tables, RandomStreams(system.seed, replication), heap)
