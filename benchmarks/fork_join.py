"""The systems of the speed benchmarks: fork-join jobs on one link, and independent queues."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import Decomposition
from nona.queries.system import BackgroundStream, Batching, QueryClass, System

EXECUTORS = 80
WIDTHS = (4, 5, 6, 7, 8)  # tasks between fork and join: five job types of 8 tasks on average


def fork_join(width: int) -> TaskGraph:
    """A root, ``width`` parallel tasks, a sink; milliseconds and megabytes that differ by place."""
    edges = [(0, 1 + i, 0.4e6 + 0.05e6 * i) for i in range(width)]
    edges += [(1 + i, 1 + width, 0.2e6 + 0.05e6 * i) for i in range(width)]
    times = [2e-3] + [3e-3 + 0.5e-3 * i for i in range(width)] + [2e-3]
    return _graph(f"fork-join {width}", times, sorted(edges))


def make_system(
    compute: float = 0.7, network: float = 0.5, background: float = 0.0, executors: int = EXECUTORS
) -> System:
    """Five job types at equal rates; ``compute`` and ``network`` are the loads of the queries."""
    graphs = [fork_join(w) for w in WIDTHS]
    work = sum(float(g.compute_s.sum()) for g in graphs)
    size = sum(float(g.tensor_bytes.sum()) for g in graphs)
    rate = compute * executors / work
    return _system(graphs, rate, rate * size / network, background, executors)


def batched(system: System, largest: int) -> System:
    """The same with steps of up to ``largest`` members (0: no batches), each of which adds 45 % of a time."""
    if not largest:
        return system
    grown = 0.55 + 0.45 * np.arange(1, largest + 1)[:, None, None]
    queries = (replace(q, batching=Batching(grown * q.tasks.compute_s, "greedy")) for q in system.queries)
    return replace(system, queries=tuple(queries))


def make_queues(load: float = 0.7, executors: int = EXECUTORS) -> System:
    """Jobs of one exponential task of 10 ms: with random placement, independent queues M/M/1."""
    return _system([_graph("customer", [0.01], [])], load * executors / 0.01, 1e9, 0.0, executors)


def _graph(name: str, times: list[float], edges: list[tuple[int, int, float]]) -> TaskGraph:
    source, target = (np.array([e[k] for e in edges], dtype=np.int64) for k in (0, 1))
    return TaskGraph(
        name=name,
        task_ids=tuple(str(t) for t in range(len(times))),
        compute_s=np.array([times]),
        weight_bytes=np.zeros(len(times)),
        edge_source=source,
        edge_target=target,
        edge_tensor=np.arange(len(edges)),
        tensor_source=source,
        tensor_bytes=np.array([e[2] for e in edges]),
    )


def _system(
    graphs: list[TaskGraph], rate: float, capacity: float, background: float, executors: int
) -> System:
    return System(
        executor_server=np.arange(executors),
        executor_class=np.zeros(executors, dtype=np.int64),
        class_names=("gpu",),
        capacity=capacity,
        latency_s=0.0,
        discipline="fifo",
        background_compute=BackgroundStream(background / 5e-3, 5e-3, 1.0),
        background_network=BackgroundStream(),
        queries=tuple(
            QueryClass(g.name, g, Decomposition((), ()), rate, service_scv=1.0, slo_s=0.1) for g in graphs
        ),
        seed=7,
    )
