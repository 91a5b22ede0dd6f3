"""Configurations of a sub-graph: its shape, labels of tasks by server, the extremes.

Inside the placement a configuration is a row of *labels*: the server of each interior task and
of the sink, 0 being the root's server and 1, 2, … others in the order of their first task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import VIRTUAL, SubGraph
from nona.models.graph.dag import Dag
from nona.queries.placement.result import Configuration
from nona.queries.system import System


@dataclass(frozen=True, eq=False)
class SubgraphShape:
    """Times and tensors between a root and a sink, without the root's and the sink's own time.

    Nodes are numbered 0 (root), 1…m (interior, in topological order), m+1 (sink).

    ``has_root``, ``has_sink``: False where the root or the sink is virtual: it takes no time and moves no
        bytes.
    ``class_s`` (K, m): seconds of each interior task on each executor class.
    ``mean_s`` (m,): the mean of these over the executor classes, by the shares of the query class.
    ``source``, ``target``, ``tensor`` (E,): edges by source, then tensor, then target, the order in which the
        simulator sends what a task made; ``tensor`` numbers distinct tensors.
    ``size`` (E,): bytes of the tensor of each edge.
    """

    has_root: bool
    has_sink: bool
    class_s: Floats
    mean_s: Floats
    source: Ints
    target: Ints
    tensor: Ints
    size: Floats

    @property
    def m(self) -> int:
        """Number of interior tasks."""
        return len(self.mean_s)

    @property
    def local_s(self) -> float:
        """Seconds of the interior when all of it runs on one executor."""
        return float(self.mean_s.sum())

    @cached_property
    def interior_dag(self) -> Dag:
        """The edges among interior tasks, numbered from 0."""
        arcs = zip(self.source.tolist(), self.target.tolist(), strict=True)
        return Dag.from_edges(self.m, ((u - 1, v - 1) for u, v in arcs if u > 0 and v <= self.m))

    @cached_property
    def critical_s(self) -> float:
        """Longest chain of interior tasks in seconds: a lower bound for every configuration."""
        return self.interior_dag.critical_path(self.mean_s.tolist())[0]

    def work_s(self, nodes: Iterable[int]) -> float:
        """Seconds of some interior tasks, 1…m, on one executor."""
        return float(sum(self.mean_s[v - 1] for v in nodes))

    @cached_property
    def edges_of(self) -> tuple[tuple[int, ...], ...]:
        """Edges out of every node, in order."""
        return _listed(self.source, self.m + 2)

    @cached_property
    def edges_into(self) -> tuple[tuple[int, ...], ...]:
        """Edges into every node, in order."""
        return _listed(self.target, self.m + 2)

    @cached_property
    def signature(self) -> bytes:
        """Equal for sub-graphs of equal structure, times and sizes (to 12 digits).

        Tasks are compared in their topological order, so equal layers of a model agree.
        """
        flags = np.array([self.has_root, self.has_sink, self.m, len(self.source)], dtype=np.int64)
        numbers = [*_rounded(self.class_s), *_rounded(self.mean_s), *_rounded(self.size)]
        arrays = [flags, self.source, self.target, self.tensor, *numbers]
        return b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)


def _listed(ends: Ints, nodes: int) -> tuple[tuple[int, ...], ...]:
    lists: list[list[int]] = [[] for _ in range(nodes)]
    for e, v in enumerate(ends.tolist()):
        lists[v].append(e)
    return tuple(tuple(e) for e in lists)


def _rounded(values: Floats) -> tuple[Floats, NDArray[np.int32]]:
    mantissa, exponent = np.frexp(values)
    rounded = np.asarray(np.round(mantissa, 12) + 0.0, dtype=np.float64)
    return rounded, exponent.astype(np.int32)


def shape_of(tasks: TaskGraph, subgraph: SubGraph, weights: Floats) -> SubgraphShape:
    """Cut ``subgraph`` out of ``tasks``; ``weights`` (K,) is the share of each executor class."""
    return shapes_of(tasks, (subgraph,), weights)[0]


def shapes_of(tasks: TaskGraph, subgraphs: Sequence[SubGraph], weights: Floats) -> tuple[SubgraphShape, ...]:
    """Return the shapes of all sub-graphs of a task graph: O(tasks + edges)."""
    into: list[list[int]] = [[] for _ in range(len(tasks))]
    targets = tasks.edge_target.tolist()
    for e, v in enumerate(targets):
        into[v].append(e)
    sources, edge_tensors = tasks.edge_source.tolist(), tasks.edge_tensor.tolist()
    shapes = []
    for s in subgraphs:
        local = {v: i for i, v in enumerate(s.interior, start=1)}
        if s.root != VIRTUAL:
            local[s.root] = 0
        if s.sink != VIRTUAL:
            local[s.sink] = len(s.interior) + 1
        ends = s.interior + ((s.sink,) if s.sink != VIRTUAL else ())
        edges = sorted(
            (e for v in ends for e in into[v] if sources[e] in local),
            key=lambda e: (sources[e], edge_tensors[e], targets[e]),
        )
        tensors: dict[int, int] = {}
        named = [tensors.setdefault(int(tasks.edge_tensor[e]), len(tensors)) for e in edges]
        class_s = tasks.compute_s[:, list(s.interior)]
        shapes.append(
            SubgraphShape(
                has_root=s.root != VIRTUAL,
                has_sink=s.sink != VIRTUAL,
                class_s=class_s,
                mean_s=weights @ class_s,
                source=np.array([local[sources[e]] for e in edges], dtype=np.int64),
                target=np.array([local[targets[e]] for e in edges], dtype=np.int64),
                tensor=np.array(named, dtype=np.int64),
                size=tasks.tensor_bytes[tasks.edge_tensor[edges]] if edges else np.zeros(0),
            )
        )
    return tuple(shapes)


ENUMERATED = 6


def set_partitions(m: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Set partitions of m things into at most ``most`` parts, as restricted growth strings.

    >>> list(set_partitions(3))
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """

    def grow(prefix: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        if len(prefix) == m:
            yield prefix
            return
        for part in range(min(used + 1, m if most is None else most)):
            yield from grow((*prefix, part), max(used, part + 1))

    return grow((), 0)


@lru_cache(maxsize=128)
def configuration_labels(
    m: int, *, servers: int | None = None, root_free: bool = False, sink_free: bool = False
) -> Ints:
    """All configurations of m interior tasks in which root and sink share a server with a part.

    A configuration is a set partition π, the part ρ on the root's server and the part σ on the
    sink's. Their number is Σₖ S(m, k)·k² = Bell(m+2) − 2·Bell(m+1), S being Stirling's number of
    the second kind: 1, 5, 22, 99, 471, 2386 for m = 1…6. (Leaving the root's or sink's server
    without a part gains nothing: the load on the servers is the same, the messages are more.)

    ``servers``: at most so many servers are used.
    ``root_free``, ``sink_free``: the root or the sink is virtual, so it does not matter which part is with
        it: the first part stands on the root's server, or the sink stays on the root's.

    Returns (n, m+1) labels, the last column being the sink's; the local configuration is the first row.

    >>> configuration_labels(2).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0]]
    >>> [len(configuration_labels(m)) for m in range(6)]
    [1, 1, 5, 22, 99, 471]
    """
    if m == 0:
        return np.zeros((1, 1), dtype=np.int64)
    rows: list[list[int]] = []
    for part in set_partitions(m, servers):
        k = max(part) + 1
        for root in range(1 if root_free else k):
            label = _relabelled(range(k), root)
            place = [label[p] for p in part]
            rows.extend([*place, label[sink]] for sink in ((root,) if sink_free else range(k)))
    labels = np.array(rows, dtype=np.int64)
    labels.setflags(write=False)
    return labels


def _relabelled(parts: Sequence[int], root: int) -> dict[int, int]:
    others = [p for p in parts if p != root]
    return {root: 0} | {p: i for i, p in enumerate(others, start=1)}


def canonical(labels: Sequence[int]) -> tuple[int, ...]:
    """Return the placement with its servers other than the root's numbered by first use.

    >>> canonical([3, 0, 3, 2, 3])
    (1, 0, 1, 2, 1)
    """
    seen = {0: 0}
    return tuple(seen.setdefault(v, len(seen)) for v in labels)


def to_configuration(labels: Sequence[int], interior: Sequence[int]) -> Configuration:
    """Return the :class:`Configuration` of a row of labels.

    >>> to_configuration([1, 0, 1, 1], (5, 6, 7))
    Configuration(parts=((5, 7), (6,)), root_part=1, sink_part=0)
    """
    parts: dict[int, list[int]] = {}
    for label, task in zip(labels[:-1], interior, strict=True):
        parts.setdefault(label, []).append(task)
    order = list(parts)
    root = order.index(0) if 0 in parts else -1
    return Configuration(
        tuple(tuple(p) for p in parts.values()),
        root,
        order.index(labels[-1]) if labels[-1] in parts else -1,
    )


def to_labels(configuration: Configuration, interior: Sequence[int]) -> list[int]:
    """Return the row of labels of a configuration: the inverse of :func:`to_configuration`.

    >>> to_labels(Configuration(((5, 7), (6,)), 1, 0), (5, 6, 7))
    [1, 0, 1, 1]
    >>> to_labels(Configuration(((5,), (6,)), -1, -1), (5, 6))
    [1, 2, 0]
    """
    label = _relabelled(range(len(configuration.parts)), configuration.root_part)
    place = {task: label[i] for i, part in enumerate(configuration.parts) for task in part}
    sink = label[configuration.sink_part] if configuration.sink_moves else 0
    return [place[task] for task in interior] + [sink]


def connected(nodes: Sequence[int], arcs: Iterable[tuple[int, int]]) -> list[tuple[int, ...]]:
    """Return groups of ``nodes`` that arcs among them join, in the order of the nodes.

    >>> connected((1, 2, 3, 4), [(1, 3), (0, 2), (3, 9)])
    [(1, 3), (2,), (4,)]
    """
    home = {v: v for v in nodes}

    def find(v: int) -> int:
        while home[v] != v:
            home[v] = home[home[v]]
            v = home[v]
        return v

    for u, v in arcs:
        if u in home and v in home:
            home[find(v)] = find(u)
    groups: dict[int, list[int]] = {}
    for v in nodes:
        groups.setdefault(find(v), []).append(v)
    return [tuple(g) for g in groups.values()]


def server_slots(system: System) -> int:
    """Servers that a sub-graph can use; in a system of one server, its executors."""
    return system.servers if system.servers > 1 else system.executors


def local_configuration(subgraph: SubGraph) -> Configuration:
    """Everything on the root's server.

    >>> local_configuration(SubGraph(0, 3, (1, 2)))
    Configuration(parts=((1, 2),), root_part=0, sink_part=0)
    """
    return to_configuration([0] * (len(subgraph.interior) + 1), subgraph.interior)


def spread_configuration(subgraph: SubGraph, slots: int) -> Configuration:
    """Return a part for every interior task, as far as ``slots`` servers besides the root's allow.

    >>> spread_configuration(SubGraph(0, 3, (1, 2)), 80)
    Configuration(parts=((1,), (2,)), root_part=-1, sink_part=-1)
    """
    if slots < 2:
        return local_configuration(subgraph)
    labels = [1 + i % (slots - 1) for i in range(len(subgraph.interior))]
    return to_configuration([*labels, 0], subgraph.interior)
