"""What one query takes alone on an empty cluster: a simulation of devices and links as queues.

The semantics are those of the simulator (first come first served on executors and links, a tensor
once to each server), without background and for one query.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from nona.system import QueryClass, System

_END, _THERE = 1, 0  # at one instant, deliveries come before the ends of tasks


@dataclass(frozen=True, slots=True)
class Alone:
    """One query of T tasks on given executors.

    ``time_s`` (T,); ``outputs[t]``: of each tensor of task t its bytes and the tasks that read it;
    ``inputs[t]``: the tensors that task t reads; ``servers``: the server of each executor.
    """

    system: System
    time_s: tuple[float, ...]
    outputs: tuple[tuple[tuple[float, tuple[int, ...]], ...], ...]
    inputs: tuple[int, ...]
    servers: tuple[int, ...]

    def completion_s(self, places: Sequence[int]) -> float:
        """Seconds until all tasks are done, task t being bound to executor ``places[t]`` of ``servers``."""
        return _Run(self, places).completion_s()


def alone(system: System, query: QueryClass, executor_class: int, servers: Sequence[int]) -> Alone:
    """The query on executors of ``executor_class``, which stand on ``servers``."""
    graph = query.tasks
    readers: list[list[int]] = [[] for _ in graph.tensor_source]
    for target, tensor in sorted(
        set(zip(graph.edge_target.tolist(), graph.edge_tensor.tolist(), strict=True))
    ):
        readers[tensor].append(target)
    outputs: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(len(graph))]
    inputs = [0] * len(graph)
    for tensor, targets in enumerate(readers):
        if targets:
            source = int(graph.tensor_source[tensor])
            outputs[source].append((float(graph.tensor_bytes[tensor]), tuple(targets)))
        for target in targets:
            inputs[target] += 1
    return Alone(
        system=system,
        time_s=tuple(graph.compute_s[executor_class].tolist()),
        outputs=tuple(map(tuple, outputs)),
        inputs=tuple(inputs),
        servers=tuple(servers),
    )


class _Run:
    """State of one simulation: ``link_free_s`` by link, ``events`` a heap of (time, kind, task)."""

    def __init__(self, of: Alone, places: Sequence[int]) -> None:
        self.of, self.places = of, places
        self.missing = list(of.inputs)
        self.queues: dict[int, deque[int]] = {e: deque() for e in places}
        self.busy: set[int] = set()
        self.link_free_s: dict[int, float] = {}
        self.events: list[tuple[float, int, int]] = []

    def completion_s(self) -> float:
        now = 0.0
        for task, inputs in enumerate(self.of.inputs):
            if inputs == 0:
                self._join(now, task)
        while self.events:
            now, kind, task = heappop(self.events)
            if kind == _THERE:
                self._arrived(now, task)
            else:
                self._ended(now, task)
        return now

    def _join(self, now: float, task: int) -> None:
        e = self.places[task]
        if e in self.busy:
            self.queues[e].append(task)
        else:
            self.busy.add(e)
            heappush(self.events, (now + self.of.time_s[task], _END, task))

    def _arrived(self, now: float, task: int) -> None:
        self.missing[task] -= 1
        if self.missing[task] == 0:
            self._join(now, task)

    def _ended(self, now: float, task: int) -> None:
        e = self.places[task]
        here = self.of.servers[e]
        for size, targets in self.of.outputs[task]:
            delivered: dict[int, float] = {here: now}
            for target in targets:
                there = self.of.servers[self.places[target]]
                if there not in delivered:
                    delivered[there] = self._send(now, size, here, there)
                if there == here:
                    self._arrived(now, target)
                else:
                    heappush(self.events, (delivered[there], _THERE, target))
        queue = self.queues[e]
        if queue:
            heappush(self.events, (now + self.of.time_s[queue[0]], _END, queue.popleft()))
        else:
            self.busy.discard(e)

    def _send(self, now: float, size: float, here: int, there: int) -> float:
        """When a message is delivered: its turn at each link in order, pipelined, and the latency."""
        system = self.of.system
        path = (0,) if system.topology is None else system.topology.path(here, there)
        turn_s = end_s = now
        for link in path:
            turn_s = max(turn_s, self.link_free_s.get(link, 0.0))
            self.link_free_s[link] = turn_s + size / float(system.link_capacity[link])
            end_s = max(end_s, self.link_free_s[link])
        return end_s + system.latency_s
