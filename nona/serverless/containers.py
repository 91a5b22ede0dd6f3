"""Containers on invokers: cold and warm starts, keep-alive, lives, limited memory.

The data structure has no clock of its own. Its methods return the times at which its user shall call
:meth:`Containers.due` for that invoker and function; calls too many do no harm.

What containers do is said by :class:`~nona.serverless.containers.Containers`. Those of one function
on one invoker are alike there, and only counted; here each has a number and a record, kept in step by
counting what came and went. Used only where idle containers are paid for or memory is limited.

A container holds its function's memory from when its start is decided until it is removed. One that a batch
needs and that does not fit removes idle ones of its node; where busy and starting ones leave too little,
the node has no room, and the batch waits. Starts ahead of a batch remove nothing: without room there is none.
At the start a node has as many warm containers as fit, one of each function in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

import numpy as np

from nona.scenario.serverless import ContainersSpec
from nona.serverless.records import NEVER, ContainerLives
from nona.serverless.system import NodeMemory, ServerlessSystem

Times = tuple[float, ...]


class _Kept:
    """The containers of one function on one invoker.

    ``idle``: since when each is idle, so the last one was used last; ``starting``: heap of when each is
    ready; ``check_s``: when an expiry is looked for, −1 for never.
    """

    __slots__ = ("busy", "check_s", "gap_s", "idle", "last_s", "starting")

    def __init__(self, warm: int) -> None:
        self.idle: deque[float] = deque([0.0] * warm)
        self.starting: list[float] = []
        self.busy = 0
        self.check_s = self.last_s = self.gap_s = -1.0


class Containers:
    """All containers. At the start ``warm`` are idle for each function on each invoker.

    A batch takes the idle container that was used last, or starts one (a cold start); at its end the
    container is idle, and goes away when it has been so for ``keep_alive``. Pre-warming:

    * ``spare``: whenever a batch leaves fewer than ``spare`` idle or starting, one more starts;
    * ``ewma``: when the last container goes away, one is started so as to be ready at

          last + m,   m ← weight · gap + (1 − weight) · m,

      where ``last`` is when the last batch came and the gaps are those between batches; as soon as it
      can be if that is too early, and not at all if that time has passed, for then the prediction failed.

    Source of the second: recollected from ESG (HPDC 2024), where the pre-warming is by an exponentially
    weighted mean of gaps.

    Examples
    --------
    >>> kept = Containers(ContainersSpec(warm=0, prewarm="none", keep_alive=10.0), [3.0], invokers=2)
    >>> kept.take(1, 0, 5.0), kept.give_back(1, 0, 9.0), list(kept.warm(0))
    ((True, ()), (19.0,), [1])
    >>> kept.due(1, 0, 19.0), list(kept.warm(0))
    ((), [])
    """

    def __init__(self, spec: ContainersSpec, cold_start_s: Sequence[float], invokers: int) -> None:
        self._keep_s, self._weight = spec.keep_alive, spec.ewma_weight
        self._spare = spec.spare if spec.prewarm == "spare" else 0
        self._predicts = spec.prewarm == "ewma"
        self._cold_s = tuple(cold_start_s)
        self._kept = [[_Kept(spec.warm) for _ in range(invokers)] for _ in self._cold_s]

    def begin(self) -> tuple[tuple[float, int, int], ...]:
        """(time, invoker, function) of the first calls of :meth:`due`."""
        return tuple(
            (time_s, i, f)
            for f, row in enumerate(self._kept)
            for i, kept in enumerate(row)
            for time_s in self._check(kept)
        )

    def idle(self, invoker: int, function: int) -> int:
        """Return the number of containers that wait for a batch."""
        return len(self._kept[function][invoker].idle)

    def warm(self, function: int) -> Iterator[int]:
        """Invokers with an idle container of the function, in order, looked for one by one."""
        return (i for i, kept in enumerate(self._kept[function]) if kept.idle)

    def take(self, invoker: int, function: int, now_s: float) -> tuple[bool, Times]:
        """A batch takes a container: whether it starts cold, and when a pre-warmed one will be ready."""
        kept = self._kept[function][invoker]
        cold = not kept.idle
        if not cold:
            kept.idle.pop()
        kept.busy += 1
        if self._predicts:
            self._learn(kept, now_s)
        if len(kept.idle) + len(kept.starting) < self._spare and self._room(invoker, function):
            return cold, self._start(kept, now_s + self._cold_s[function])
        return cold, ()

    def give_back(self, invoker: int, function: int, now_s: float) -> Times:
        """A batch ends; its container is idle."""
        kept = self._kept[function][invoker]
        kept.busy -= 1
        kept.idle.append(now_s)
        return self._check(kept)

    def due(self, invoker: int, function: int, now_s: float) -> Times:
        """Containers whose start has ended are idle, those idle for too long are removed."""
        kept = self._kept[function][invoker]
        while kept.starting and kept.starting[0] <= now_s:
            heappop(kept.starting)
            kept.idle.append(now_s)
        gone = False
        while kept.idle and kept.idle[0] + self._keep_s <= now_s:
            kept.idle.popleft()
            gone = True
        if kept.check_s <= now_s:
            kept.check_s = -1.0
        times = self._check(kept)
        lonely = gone and self._predicts and not (kept.idle or kept.starting or kept.busy)
        if lonely and self._room(invoker, function):
            times += self._predicted(kept, now_s, self._cold_s[function])
        return times

    def _room(self, invoker: int, function: int) -> bool:
        """Return whether a container may start ahead; always, as memory is not limited."""
        return True

    def _check(self, kept: _Kept) -> Times:
        if kept.check_s >= 0 or not kept.idle:
            return ()
        kept.check_s = kept.idle[0] + self._keep_s
        return (kept.check_s,)

    def _start(self, kept: _Kept, ready_s: float) -> Times:
        heappush(kept.starting, ready_s)
        return (ready_s,)

    def _learn(self, kept: _Kept, now_s: float) -> None:
        if kept.last_s >= 0:
            gap_s = now_s - kept.last_s
            w = self._weight
            kept.gap_s = gap_s if kept.gap_s < 0 else w * gap_s + (1 - w) * kept.gap_s
        kept.last_s = now_s

    def _predicted(self, kept: _Kept, now_s: float, cold_s: float) -> Times:
        next_s = kept.last_s + kept.gap_s
        if kept.gap_s < 0 or next_s <= now_s:
            return ()
        return self._start(kept, max(next_s, now_s + cold_s))


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
        """Return all containers up to the end of the run; one that was to start later has no length."""
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


class MemoryContainers(TrackedContainers):
    """Containers within ``memory``.

    ``made_room``: whether the last :meth:`due` made one idle, where some function had no room before.

    >>> spec, memory = ContainersSpec(warm=2, prewarm="none"), NodeMemory((3,), (1, 2), ("a", "b"))
    >>> kept = MemoryContainers(spec, [5.0, 5.0], 1, 0, memory)
    >>> kept.idle(0, 0), kept.idle(0, 1)
    (1, 1)
    >>> kept.take(0, 1, 1.0)[0], kept.has_room(0, 1), kept.take(0, 0, 2.0)[0], kept.has_room(0, 0)
    (False, False, False, False)
    """

    def __init__(
        self,
        spec: ContainersSpec,
        cold_start_s: Sequence[float],
        invokers: int,
        smallest: int,
        memory: NodeMemory,
    ) -> None:
        self._node, self._needs = memory.node_bytes, memory.container_bytes
        self.made_room = False
        super().__init__(spec, cold_start_s, invokers, smallest)

    def _fit(self) -> None:
        for invoker in range(len(self._kept[0]) if self._kept else 0):
            warm = [len(row[invoker].idle) for row in self._kept]
            for row in self._kept:
                row[invoker].idle = deque()
            for nth in range(max(warm)):
                for function, row in enumerate(self._kept):
                    if nth < warm[function] and self._room(invoker, function):
                        row[invoker].idle.append(0.0)

    def _resident(self, invoker: int, idle_too: bool = True) -> int:
        """Bytes that containers hold on an invoker."""
        resident_bytes = 0
        for row, needs in zip(self._kept, self._needs, strict=True):
            kept = row[invoker]
            resident_bytes += needs * (kept.busy + len(kept.starting) + (len(kept.idle) if idle_too else 0))
        return resident_bytes

    def _room(self, invoker: int, function: int) -> bool:
        return self._resident(invoker) + self._needs[function] <= self._node[invoker]

    def has_room(self, invoker: int, function: int) -> bool:
        """Return whether a batch would get a container: an idle one, or one for which others make room."""
        if self._kept[function][invoker].idle:
            return True
        return self._resident(invoker, idle_too=False) + self._needs[function] <= self._node[invoker]

    def take(self, invoker: int, function: int, now_s: float) -> tuple[bool, Times]:
        if not self._kept[function][invoker].idle:
            while not self._room(invoker, function):
                self._evict(invoker, now_s)
        return super().take(invoker, function, now_s)

    def _evict(self, invoker: int, now_s: float) -> None:
        """Remove the idle container that has waited longest; of equal ones that of the first function."""
        waits = [(row[invoker].idle[0], f) for f, row in enumerate(self._kept) if row[invoker].idle]
        function = min(waits)[1]
        self._kept[function][invoker].idle.popleft()
        self._ends(self._idle[function][invoker].popleft(), now_s, evicted=True)

    def due(self, invoker: int, function: int, now_s: float) -> Times:
        starting = self._kept[function][invoker].starting
        ready = bool(starting) and starting[0] <= now_s
        self.made_room = ready and not all(self.has_room(invoker, f) for f in range(len(self._kept)))
        return super().due(invoker, function, now_s)


def containers_of(system: ServerlessSystem) -> Containers:
    """The containers of a run."""
    cold_s = [function.cold_start_s for function in system.functions]
    spec, invokers, smallest = system.containers, len(system.invokers), system.space.smallest
    if system.memory is not None:
        return MemoryContainers(spec, cold_s, invokers, smallest, system.memory)
    if system.idle_cost > 0:
        return TrackedContainers(spec, cold_s, invokers, smallest)
    return Containers(spec, cold_s, invokers)
