"""``flexflow``: a fixed placement per model, found by simulating the model alone.

The semantics are those of the simulator (first come first served on executors and links, a tensor
once to each server), without background and for one query.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Ints
from nona.core.options import PolicyOption
from nona.core.random_streams import RandomStreams
from nona.core.registry import ChartStyle
from nona.queries.placement.capacity import allowed_classes
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.system import QueryClass, System

_END, _THERE = 1, 0  # at one instant, deliveries come before the ends of tasks


@dataclass(frozen=True, slots=True)
class IsolatedQuery:
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


def isolated_query(
    system: System, query: QueryClass, executor_class: int, servers: Sequence[int]
) -> IsolatedQuery:
    """Return the query on executors of ``executor_class``, which stand on ``servers``."""
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
    return IsolatedQuery(
        system=system,
        time_s=tuple(graph.compute_s[executor_class].tolist()),
        outputs=tuple(map(tuple, outputs)),
        inputs=tuple(inputs),
        servers=tuple(servers),
    )


class _Run:
    """State of one simulation: ``link_free_s`` by link, ``events`` a heap of (time, kind, task)."""

    def __init__(self, of: IsolatedQuery, places: Sequence[int]) -> None:
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
                self._end_task(now, task)
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

    def _end_task(self, now: float, task: int) -> None:
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
        """Return when a message is delivered: its turn at each link in order, pipelined, plus the latency."""
        system = self.of.system
        path = (0,) if system.topology is None else system.topology.path(here, there)
        turn_s = end_s = now
        for link in path:
            turn_s = max(turn_s, self.link_free_s.get(link, 0.0))
            self.link_free_s[link] = turn_s + size / float(system.link_capacity[link])
            end_s = max(end_s, self.link_free_s[link])
        return end_s + system.latency_s


Places = tuple[int, ...]
MOST_PATIENCE = 1000


@dataclass(frozen=True, slots=True)
class RandomWalk:
    """Limits of a search for placements.

    ``steps``: proposals. ``alpha``: a proposal that is slower by x % of the time on one device is accepted
    with probability exp(−alpha·x).
    """

    steps: int
    alpha: float

    @property
    def patience(self) -> int:
        """Steps without a better placement after which the walk goes back to the best."""
        return max(1, min(self.steps // 100, MOST_PATIENCE))


def best_placement(
    time_of: Callable[[Sequence[int]], float],
    tasks: int,
    devices: int,
    walk: RandomWalk,
    rng: np.random.Generator,
) -> Places:
    """Return the fastest placement that the walk meets: a device from 0 to ``devices`` − 1 for each task.

    It starts with all tasks on device 0. A step moves a random task to a random device.

    >>> apart = lambda places: 2.0 - (places[0] != places[1])
    >>> best = best_placement(apart, 2, 3, RandomWalk(50, 0.05), np.random.default_rng(0))
    >>> best[0] != best[1]
    True
    """
    current = [0] * tasks
    current_s = best_s = whole_s = time_of(current)
    best, stale = tuple(current), 0
    if tasks == 1 or devices == 1:
        return best
    moved = rng.integers(0, tasks, walk.steps).tolist()
    chosen, chance = rng.integers(0, devices, walk.steps).tolist(), rng.random(walk.steps).tolist()
    for task, device, u in zip(moved, chosen, chance, strict=True):
        before, current[task] = current[task], device
        proposed_s = current_s if device == before else time_of(current)
        slower = 100 * (proposed_s - current_s) / whole_s if whole_s > 0 else 0.0
        if slower <= 0 or u < math.exp(-walk.alpha * slower):
            current_s = proposed_s
        else:
            current[task] = before
        stale += 1
        if current_s < best_s:
            best, best_s, stale = tuple(current), current_s, 0
        elif stale >= walk.patience:
            current, current_s, stale = list(best), best_s, 0
    return best


class Offline(NamedTuple):
    """Q query classes, K executor classes, E executors.

    ``tasks`` (Q,). ``start`` (Q+1,) delimits in ``allowed`` the executors that can hold the model.
    ``pool_start`` (K+1,) delimits in ``pool`` the executors of each class, server by server. Executor e
    is there at ``rank`` of its class; those of its server begin at ``server_place`` and are
    ``server_size``. The tasks of query class q, begun on class k, go to the places
    ``place[place_start[q·K + k] + i]``, counted from there.
    """

    tasks: Ints
    start: Ints
    allowed: Ints
    pool_start: Ints
    pool: Ints
    rank: Ints
    server_place: Ints
    server_size: Ints
    place_start: Ints
    place: Ints
    classes: int


def decide(now: float, query: int, view: SystemView, tables: Offline, u: Any, out: Any) -> None:
    """Place the model from an executor drawn among those that can hold it.

    The places on its server are counted from it, round about; those beyond from the next server on.
    """
    first = tables.start[query]
    e = tables.allowed[first + int(u[0] * (tables.start[query + 1] - first))]
    k = view.executor_class[e]
    begin = tables.pool_start[k]
    size = tables.pool_start[k + 1] - begin
    home = tables.server_place[e]
    near = tables.server_size[e]
    places = tables.place_start[query * tables.classes + k]
    for i in range(tables.tasks[query]):
        place = tables.place[places + i]
        if place < near:
            place = (tables.rank[e] - home + place) % near
        out[i] = tables.pool[begin + (home + place) % size]


def searched(system: System, query: QueryClass, executor_class: int, walk: RandomWalk) -> Places:
    """Return the placement of ``query`` on executors of one class, server by server, the first as server 0.

    As many executors as tasks are enough: no task gains from a second one of its own.
    """
    pool = _by_server(system, executor_class)
    near = pool[: len(query.tasks)]
    cost = isolated_query(system, query, executor_class, system.executor_server[near].tolist())
    rng = RandomStreams(system.seed).generator("flexflow", query.name, system.class_names[executor_class])
    return best_placement(cost.completion_s, len(query.tasks), len(near), walk, rng)


def _build(system: System, placement: Placement | None, options: Mapping[str, Any]) -> SchedulerTables:
    walk = RandomWalk(options["steps"], options["alpha"])
    may, classes = allowed_classes(system), len(system.class_names)
    rows = [np.flatnonzero(row[system.executor_class]) for row in may]
    by_class = [
        searched(system, q, k, walk) if may[j, k] and system.class_counts[k] else ()
        for j, q in enumerate(system.queries)
        for k in range(classes)
    ]
    pools = [_by_server(system, k) for k in range(classes)]
    rank, server_place, server_size = _on_servers(system, pools)
    return SchedulerTables(
        Offline(
            tasks=np.array([len(q.tasks) for q in system.queries], dtype=np.int64),
            start=_borders(rows),
            allowed=np.concatenate(rows).astype(np.int64),
            pool_start=_borders(pools),
            pool=np.concatenate(pools).astype(np.int64),
            rank=rank,
            server_place=server_place,
            server_size=server_size,
            place_start=_borders(by_class),
            place=np.array([p for places in by_class for p in places], dtype=np.int64),
            classes=classes,
        ),
        1,
    )


def _by_server(system: System, executor_class: int) -> Ints:
    members = np.flatnonzero(system.executor_class == executor_class)
    return members[np.argsort(system.executor_server[members], kind="stable")]


def _on_servers(system: System, pools: list[Ints]) -> tuple[Ints, Ints, Ints]:
    """Return (E,) each executor's place in the pool of its class, its server's begin there and size."""
    rank, begin, size = (np.zeros(system.executors, dtype=np.int64) for _ in range(3))
    for pool in pools:
        servers = system.executor_server[pool]
        rank[pool] = np.arange(len(pool))
        begin[pool] = np.searchsorted(servers, servers)
        size[pool] = np.searchsorted(servers, servers, side="right") - begin[pool]
    return rank, begin, size


def _borders(rows: Any) -> Ints:
    return np.cumsum([0, *(len(row) for row in rows)]).astype(np.int64)


SCHEDULER = Scheduler(
    name="flexflow",
    kind="bind",
    family="placement",
    network_view=NetworkView.N1,
    summary="Uses for each model one placement, searched beforehand by simulating the model alone.",
    source=(
        "Jia, Zaharia and Aiken: Beyond Data and Model Parallelism for Deep Neural Networks (FlexFlow), "
        "SysML 2019, execution optimizer. Step and return rules follow its public code (recollected)"
    ),
    adaptation=(
        "Forward pass only, and whole tasks: no tensor is split. The search runs once per model and executor "
        "class, on a cluster without other queries. Executors and links serve first come, first served. "
        "The option alpha says how much slower a placement may be and still be accepted, in percent of the "
        "time on one executor. The placement is relative; its first server is drawn for each query."
    ),
    decide=decide,
    build=_build,
    settings={
        "steps": PolicyOption(1000, "proposals of a search", least=1, most=1_000_000),
        "alpha": PolicyOption(
            0.05,
            "one slower by x % of the time on one device is taken with probability exp(−alpha·x)",
            most=1000.0,
        ),
    },
    takes_lists=True,
    style=ChartStyle("#b5473c", "solid", "triangle-nw"),
)
