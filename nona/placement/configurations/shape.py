"""A sub-graph in its own numbering: what its configurations are evaluated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import VIRTUAL, SubGraph
from nona.graph.dag import Dag


@dataclass(frozen=True, eq=False)
class Shape:
    """Times and tensors between a root and a sink, without the root's and the sink's own time.

    Nodes are numbered 0 (root), 1…m (interior, in topological order), m+1 (sink).

    Attributes
    ----------
    has_root, has_sink
        False where the root or the sink is virtual: it takes no time and moves no bytes.
    class_s : (K, m)
        Seconds of each interior task on each executor class.
    mean_s : (m,)
        The mean of these over the executor classes, by the shares of the query class.
    source, target, tensor : (E,)
        Edges by source, then tensor, then target, the order in which the simulator sends what a task
        made; ``tensor`` numbers distinct tensors.
    size : (E,)
        Bytes of the tensor of each edge.
    """

    has_root: bool
    has_sink: bool
    class_s: NDArray[np.float64]
    mean_s: NDArray[np.float64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    tensor: NDArray[np.int64]
    size: NDArray[np.float64]

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


def _listed(ends: NDArray[np.int64], nodes: int) -> tuple[tuple[int, ...], ...]:
    lists: list[list[int]] = [[] for _ in range(nodes)]
    for e, v in enumerate(ends.tolist()):
        lists[v].append(e)
    return tuple(tuple(e) for e in lists)


def _rounded(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    mantissa, exponent = np.frexp(values)
    rounded = np.asarray(np.round(mantissa, 12) + 0.0, dtype=np.float64)
    return rounded, exponent.astype(np.int32)


def shape_of(tasks: TaskGraph, subgraph: SubGraph, weights: NDArray[np.float64]) -> Shape:
    """Cut ``subgraph`` out of ``tasks``; ``weights`` (K,) is the share of each executor class."""
    return shapes_of(tasks, (subgraph,), weights)[0]


def shapes_of(
    tasks: TaskGraph, subgraphs: Sequence[SubGraph], weights: NDArray[np.float64]
) -> tuple[Shape, ...]:
    """The shapes of all sub-graphs of a task graph: O(tasks + edges)."""
    into: list[list[int]] = [[] for _ in range(len(tasks))]
    targets = tasks.edge_target.tolist()
    for e, v in enumerate(targets):
        into[v].append(e)
    sources, made = tasks.edge_source.tolist(), tasks.edge_tensor.tolist()
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
            key=lambda e: (sources[e], made[e], targets[e]),
        )
        tensors: dict[int, int] = {}
        named = [tensors.setdefault(int(tasks.edge_tensor[e]), len(tensors)) for e in edges]
        class_s = tasks.compute_s[:, list(s.interior)]
        shapes.append(
            Shape(
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
