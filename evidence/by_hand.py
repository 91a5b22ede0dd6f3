"""Systems described by hand: a few query classes on executors that are all alike, each task bound to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from nona.core.arrays import Ints
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition, SubGraph
from nona.queries.placement.result import Placement
from nona.queries.schedulers.base import NetworkView, Scheduler, SchedulerTables, SystemView
from nona.queries.system import BackgroundStream, Batching, QueryClass, System

_NO_BACKGROUND = BackgroundStream()


def query_of(tasks: TaskGraph, rate: float, scv: float = 0.0) -> QueryClass:
    """Return a query class; its decomposition is a single task, or one sub-graph between virtual ends."""
    n = len(tasks)
    virtual = Decomposition((-1, -1), (SubGraph(-1, -1, tuple(range(n))),))
    cuts = Decomposition((0,), ()) if n == 1 else virtual
    return QueryClass(tasks.name, tasks, cuts, rate, service_scv=scv)


def one_task_query(name: str, rate: float, mean_s: float, scv: float = 0.0) -> QueryClass:
    """Return queries of a single task."""
    return query_of(TaskGraph.from_edges(name, [mean_s]), rate, scv)


def batched_query(name: str, rate: float, step_s: Sequence[float], scv: float = 0.0) -> QueryClass:
    """Return queries of a single task, of which steps of 1, 2, … take ``step_s`` and start at once."""
    batching = Batching(np.array(step_s)[:, None, None])
    return replace(one_task_query(name, rate, step_s[0], scv), batching=batching)


def chain(name: str, means_s: Sequence[float], size_bytes: float = 0.0) -> TaskGraph:
    """Tasks one after the other, each handing ``size_bytes`` to the next."""
    links = [(i, i + 1, size_bytes) for i in range(len(means_s) - 1)]
    return TaskGraph.from_edges(name, means_s, links)


def system_of(
    queries: Sequence[QueryClass],
    executors: int = 1,
    capacity: float = 1e9,
    seed: int = 20,
    background_compute: BackgroundStream = _NO_BACKGROUND,
    background_network: BackgroundStream = _NO_BACKGROUND,
    sharing: bool = False,
) -> System:
    """One executor per server, all alike, on one link of ``capacity`` (bytes/s) without latency."""
    return System(
        executor_server=np.arange(executors, dtype=np.int64),
        executor_class=np.zeros(executors, dtype=np.int64),
        class_names=("gpu",),
        capacity=capacity,
        latency_s=0.0,
        discipline="processor-sharing" if sharing else "fifo",
        background_compute=background_compute,
        background_network=background_network,
        queries=tuple(queries),
        seed=seed,
    )


class Places(NamedTuple):
    """``executor`` (N,): where each task goes, class after class; ``first`` (Q+1,): where a class begins."""

    executor: Ints
    first: Ints


def decide(now: float, query: int, view: SystemView, tables: Places, u: Any, out: Any) -> None:
    """Task i of the class goes to the i-th executor of its row."""
    begin = tables.first[query]
    for i in range(tables.first[query + 1] - begin):
        out[i] = tables.executor[begin + i]


@dataclass(frozen=True, slots=True)
class _Rows:
    """``prepare`` of a bound scheduler; a class, not a closure, so that it can go to another process."""

    executors: tuple[tuple[int, ...], ...]

    def __call__(
        self, system: System, placement: Placement | None, options: Mapping[str, Any]
    ) -> SchedulerTables:
        first = np.cumsum([0, *map(len, self.executors)], dtype=np.int64)
        return SchedulerTables(
            Places(np.concatenate([np.array(r, dtype=np.int64) for r in self.executors]), first), 0
        )


def bind_to(*executors: Sequence[int]) -> Scheduler:
    """Return a scheduler that binds task i of every job of class q to ``executors[q][i]``.

    >>> bind_to([0, 1], [1]).name
    'bound'
    """
    return Scheduler(
        name="bound",
        kind="bind",
        network_view=NetworkView.N0,
        summary="Each task of a class on an executor given beforehand.",
        source="Ours, to build systems known to queueing theory",
        adaptation="Not available to scenarios.",
        decide=decide,
        build=_Rows(tuple(tuple(r) for r in executors)),
        takes_lists=True,
    )
