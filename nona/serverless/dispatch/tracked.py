"""Containers with a life: which one a batch has, since when each is there, and when it waits.

What containers do is said by :class:`~nona.serverless.dispatch.containers.Containers`. Those of one function
on one invoker are alike there, and only counted; here each has a number and a record, kept in step by
counting what came and went. Used only where idle containers are paid for or memory is limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from nona.scenario.serverless import ContainersSpec
from nona.serverless.dispatch.containers import Containers, Times
from nona.serverless.records.containers import NEVER, ContainerLives


class TrackedContainers(Containers):
    """The same containers, each with its record.

    Whoever lets a batch :meth:`take` a container says next which batch :meth:`serves` there, and before
    :meth:`give_back` which one :meth:`ends`. ``smallest``: the configuration of a container that no batch has
    had yet.
    """

    def __init__(
        self, spec: ContainersSpec, cold_start_s: Sequence[float], invokers: int, smallest: int
    ) -> None:
        super().__init__(spec, cold_start_s, invokers)
        self._smallest = smallest
        self._at: list[tuple[int, int]] = []  # by container: invoker, function
        self._born_s: list[float] = []
        self._gone_s: list[float] = []
        self._configuration: list[int] = []
        self._evicted: list[int] = []
        self._spells: list[tuple[int, float, int]] = []  # container, since when it waits, configuration
        self._spell_until_s: list[float] = []
        self._spell: dict[int, int] = {}  # container: its spell
        self._of_batch: list[int] = []
        self._taken = self._returned = -1
        self._idle = [[deque[int]() for _ in range(invokers)] for _ in self._cold_s]
        self._starts: list[list[list[tuple[float, int]]]] = [
            [[] for _ in range(invokers)] for _ in self._cold_s
        ]
        self._fit()
        for function, row in enumerate(self._kept):
            for invoker, kept in enumerate(row):
                for since_s in kept.idle:
                    self._waits(invoker, function, self._new(invoker, function, since_s), since_s)

    def _fit(self) -> None:
        """Leave out warm containers of the start for which there is no room."""

    def _new(self, invoker: int, function: int, now_s: float) -> int:
        self._at.append((invoker, function))
        self._born_s.append(now_s)
        self._gone_s.append(NEVER)
        self._configuration.append(self._smallest)
        return len(self._at) - 1

    def _waits(self, invoker: int, function: int, container: int, now_s: float) -> None:
        self._idle[function][invoker].append(container)
        self._spell[container] = len(self._spells)
        self._spells.append((container, now_s, self._configuration[container]))
        self._spell_until_s.append(NEVER)

    def _waits_no_more(self, container: int, now_s: float) -> None:
        self._spell_until_s[self._spell.pop(container)] = now_s

    def _starting(self, invoker: int, function: int, from_s: float, ready_s: float) -> None:
        heappush(self._starts[function][invoker], (ready_s, self._new(invoker, function, from_s)))

    def take(self, invoker: int, function: int, now_s: float) -> tuple[bool, Times]:
        cold, times = super().take(invoker, function, now_s)
        if cold:
            self._taken = self._new(invoker, function, now_s)
        else:
            self._taken = self._idle[function][invoker].pop()
            self._waits_no_more(self._taken, now_s)
        for ready_s in times:
            self._starting(invoker, function, now_s, ready_s)
        return cold, times

    def serves(self, configuration: int, container: int | None = None) -> None:
        """The next batch, in order of dispatch, has ``container``; else the one that was taken last."""
        container = self._taken if container is None else container
        self._of_batch.append(container)
        self._configuration[container] = configuration

    def stands(self, configuration: int) -> int:
        """An instance has the container that was taken last, whose number is returned."""
        self._configuration[self._taken] = configuration
        return self._taken

    def stands_no_more(self, container: int) -> None:
        """The container that is given back next is this one."""
        self._returned = container

    def ends(self, batch: int) -> None:
        """The container that is given back next is that of ``batch``."""
        self._returned = self._of_batch[batch]

    def give_back(self, invoker: int, function: int, now_s: float) -> Times:
        self._waits(invoker, function, self._returned, now_s)
        return super().give_back(invoker, function, now_s)

    def due(self, invoker: int, function: int, now_s: float) -> Times:
        kept, starts = self._kept[function][invoker], self._starts[function][invoker]
        idle, starting = len(kept.idle), len(kept.starting)
        times = super().due(invoker, function, now_s)
        ready = 0
        while starts and starts[0][0] <= now_s:
            self._waits(invoker, function, heappop(starts)[1], now_s)
            ready += 1
        for _ in range(idle + ready - len(kept.idle)):
            self._ends(self._idle[function][invoker].popleft(), now_s)
        if len(kept.starting) > starting - ready:
            ready_s = times[-1]
            self._starting(invoker, function, max(now_s, ready_s - self._cold_s[function]), ready_s)
        return times

    def _ends(self, container: int, now_s: float, evicted: bool = False) -> None:
        self._waits_no_more(container, now_s)
        self._gone_s[container] = now_s
        if evicted:
            self._evicted.append(container)

    def lives(self, stopped_s: float) -> ContainerLives:
        """What has been recorded until the run stopped; one that was to start later has no length."""
        return ContainerLives(
            invoker=np.array([i for i, _ in self._at], dtype=np.int64),
            function=np.array([f for _, f in self._at], dtype=np.int64),
            born_s=np.minimum(np.array(self._born_s, dtype=np.float64), stopped_s),
            gone_s=np.array(self._gone_s, dtype=np.float64),
            evicted=np.isin(np.arange(len(self._at)), self._evicted),
            of_batch=np.array(self._of_batch, dtype=np.int64),
            idle=np.array([c for c, _, _ in self._spells], dtype=np.int64),
            idle_from_s=np.array([s for _, s, _ in self._spells], dtype=np.float64),
            idle_until_s=np.array(self._spell_until_s, dtype=np.float64),
            idle_configuration=np.array([c for _, _, c in self._spells], dtype=np.int64),
        )
