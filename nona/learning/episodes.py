"""Systems to train on: clusters, networks, loads and query graphs drawn from ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.dominators import decompose
from nona.schedulers.learned.ranges import Ranges
from nona.system import QueryClass, Stream, System

WORK_S = 0.02  # mean seconds of a query: the features know no unit, so that one is enough
CAPACITY = 1e9


def drawn_system(ranges: Ranges, rng: np.random.Generator) -> System:
    """A system of these ranges.

    >>> system = drawn_system(Ranges(servers=(4, 4)), np.random.default_rng(1))
    >>> system.servers, system.total_rate > 0
    (4, True)
    """
    servers = _log_between(ranges.servers, rng)
    each = int(rng.integers(ranges.executors_per_server[0], ranges.executors_per_server[1] + 1))
    executors = servers * each
    slow = float(rng.uniform(*ranges.speed)) if rng.random() < 0.5 else 1.0
    classes = np.repeat((np.arange(servers) >= servers // 2).astype(np.int64), each) * (slow > 1)
    load = float(rng.uniform(*ranges.load))
    crossing = float(np.exp(rng.uniform(*np.log(ranges.crossing))))
    transfer = crossing / (load * executors)
    number = int(rng.integers(ranges.queries[0], ranges.queries[1] + 1))
    graphs = [_graph(f"q{k}", ranges, transfer, slow, rng) for k in range(number)]
    shares = rng.dirichlet(np.full(number, 2.0))
    weights = np.bincount(classes, minlength=2)[: 2 if slow > 1 else 1] / executors
    background = float(rng.uniform(*ranges.background)) * (1 - load)
    return System(
        executor_server=np.repeat(np.arange(servers), each),
        executor_class=classes,
        class_names=("fast", "slow")[: len(weights)],
        capacity=CAPACITY,
        latency_s=0.0,
        discipline="fifo",
        background_compute=Stream(background / (0.5 * WORK_S), 0.5 * WORK_S, 1.0),
        background_network=_link_background(float(rng.uniform(*ranges.link)), transfer),
        queries=tuple(
            QueryClass(g.name, g, decompose(g.dag), _rate(g, load * share, executors, weights))
            for g, share in zip(graphs, shares.tolist(), strict=True)
        ),
        seed=int(rng.integers(2**31)),
    )


def _log_between(bounds: tuple[int, int], rng: np.random.Generator) -> int:
    return round(float(np.exp(rng.uniform(*np.log(bounds)))))


def _rate(graph: TaskGraph, load: float, executors: int, weights: NDArray[np.float64]) -> float:
    """The rate at which a query class takes ``load`` of the executors' time."""
    return float(load * executors / (weights @ graph.compute_s).sum())


def _link_background(share: float, transfer: float) -> Stream:
    """Messages of others as large as those of the queries on average take ``share`` of the link."""
    size = transfer * WORK_S * CAPACITY / 4
    return Stream(share * CAPACITY / size, size, 1.0)


def _graph(name: str, ranges: Ranges, transfer: float, slow: float, rng: np.random.Generator) -> TaskGraph:
    """A chain, a fork and join, or a random graph, each task with an edge from an earlier one."""
    n = int(rng.integers(ranges.tasks[0], ranges.tasks[1] + 1))
    kind = int(rng.integers(3))
    pairs: set[tuple[int, int]] = set()
    for v in range(1, n):
        if kind == 0:
            pairs.add((0 if v < n - 1 else int(rng.integers(0, n - 1)), v))
        elif kind == 1:
            pairs.add((int(rng.integers(max(0, v - 3), v)), v))
        else:
            before = rng.choice(v, size=min(v, int(rng.integers(1, 4))), replace=False)
            pairs |= {(int(u), v) for u in before}
    if kind == 0:
        pairs |= {(v, n - 1) for v in range(1, n - 1)}
    time_s = rng.lognormal(0.0, 0.7, n)
    time_s *= WORK_S * float(rng.uniform(0.3, 1.7)) / time_s.sum()
    size = rng.lognormal(0.0, 0.7, len(pairs))
    size *= transfer * float(time_s.sum()) * CAPACITY / max(float(size.sum()), 1e-300)
    times = np.array([time_s, slow * time_s] if slow > 1 else [time_s])
    return TaskGraph.from_edges(
        name, times, [(u, v, float(b)) for (u, v), b in zip(sorted(pairs), size, strict=True)]
    )
