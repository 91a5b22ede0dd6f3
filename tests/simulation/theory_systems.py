"""Small systems with known answers, and a scheduler that binds tasks to given executors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import Decomposition, SubGraph
from nona.schedulers.base import NetworkView, Prepared, Scheduler
from nona.system import QueryClass, Stream, System


def task_graph(
    name: str, compute_s: Sequence[float], edges: Sequence[tuple[int, int, float]] = ()
) -> TaskGraph:
    """Tasks on one executor class; edges (source, target, bytes), each with a tensor of its own."""
    edges = sorted(edges)
    return TaskGraph(
        name=name,
        task_ids=tuple(f"t{i}" for i in range(len(compute_s))),
        compute_s=np.array([compute_s], dtype=float),
        weight_bytes=np.zeros(len(compute_s)),
        edge_source=np.array([e[0] for e in edges], dtype=np.int64),
        edge_target=np.array([e[1] for e in edges], dtype=np.int64),
        edge_tensor=np.arange(len(edges), dtype=np.int64),
        tensor_source=np.array([e[0] for e in edges], dtype=np.int64),
        tensor_bytes=np.array([e[2] for e in edges], dtype=float),
    )


def query_of(tasks: TaskGraph, rate: float, scv: float = 0.0) -> QueryClass:
    """A query class; its decomposition is one sub-graph between virtual ends."""
    n = len(tasks)
    virtual = Decomposition((-1, -1), (SubGraph(-1, -1, tuple(range(n))),))
    return QueryClass(
        tasks.name, tasks, Decomposition((0,), ()) if n == 1 else virtual, rate, service_scv=scv
    )


def one_task_query(name: str, rate: float, mean_s: float, scv: float = 0.0) -> QueryClass:
    """Queries of a single task."""
    return query_of(task_graph(name, [mean_s]), rate, scv)


def system_of(
    queries: Sequence[QueryClass],
    executors: int = 1,
    capacity: float = 1e9,
    seed: int = 20,
    background_compute: Stream = Stream(),  # noqa: B008  (frozen)
    background_network: Stream = Stream(),  # noqa: B008
) -> System:
    """One executor per server, all alike."""
    return System(
        executor_server=np.arange(executors, dtype=np.int64),
        executor_class=np.zeros(executors, dtype=np.int64),
        class_names=("gpu",),
        capacity=capacity,
        latency_s=0.0,
        discipline="fifo",
        background_compute=background_compute,
        background_network=background_network,
        queries=tuple(queries),
        seed=seed,
    )


class Places(NamedTuple):
    """``executor`` (T,): where each task goes, for every query class."""

    executor: np.ndarray


def decide(now: float, query: int, view: Any, tables: Places, u: Any, out: Any) -> None:
    """Task i goes to ``tables.executor[i]``."""
    for i in range(min(len(tables.executor), len(out))):
        out[i] = tables.executor[i]


class _Prepare(NamedTuple):
    executors: tuple[int, ...]

    def __call__(self, system: System, placement: Any, options: Any) -> Prepared:
        return Prepared(Places(np.array(self.executors, dtype=np.int64)), 0)


def bind_to(executors: Sequence[int]) -> Scheduler:
    """A scheduler that binds task i of every job to ``executors[i]``."""
    return Scheduler("bound", "bind", NetworkView.N0, "", "", "", decide, _Prepare(tuple(executors)))
