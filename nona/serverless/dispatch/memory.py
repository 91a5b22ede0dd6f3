"""Containers on nodes whose memory is limited: idle ones make room, the least recently used first.

A container holds its function's memory from when its start is decided until it is removed. One that a batch
needs and that does not fit removes idle ones of its node; where busy and starting ones leave too little,
the node has no room, and the batch waits. Starts ahead of a batch remove nothing: without room there is none.
At the start a node has as many warm containers as fit, one of each function in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from nona.scenario.serverless import ContainersSpec
from nona.serverless.dispatch.containers import Times
from nona.serverless.dispatch.tracked import TrackedContainers
from nona.serverless.model.memory import NodeMemory


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
        held = 0
        for row, needs in zip(self._kept, self._needs, strict=True):
            kept = row[invoker]
            held += needs * (kept.busy + len(kept.starting) + (len(kept.idle) if idle_too else 0))
        return held

    def _room(self, invoker: int, function: int) -> bool:
        return self._resident(invoker) + self._needs[function] <= self._node[invoker]

    def has_room(self, invoker: int, function: int) -> bool:
        """Whether a batch would get a container there: an idle one, or one for which others make room."""
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
