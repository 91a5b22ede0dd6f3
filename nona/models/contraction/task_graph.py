"""The task graph as arrays: what decomposition, placement and simulation compute on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from nona.core.arrays import Floats, Ints
from nona.core.errors import GraphError
from nona.models.contraction.contracted import ContractedGraph
from nona.models.graph.dag import Dag


@dataclass(frozen=True, eq=False)
class TaskGraph:
    """Tasks 0…T−1 in a topological order, their times, and the tensors between them.

    ``name``, ``task_ids``: names for people.
    ``compute_s`` (classes, T): seconds of each task on each executor class of the cluster.
    ``weight_bytes`` (T,): bytes of parameters that each task reads.
    ``edge_source``, ``edge_target``, ``edge_tensor`` (E,): task, task and tensor index of every edge; ordered
        by source, then target, then tensor.
    ``tensor_source``, ``tensor_bytes`` (S,): the task that makes each tensor, and its size. A tensor goes
        once to each server that needs it, however many edges carry it.
    """

    name: str
    task_ids: tuple[str, ...]
    compute_s: Floats
    weight_bytes: Floats
    edge_source: Ints
    edge_target: Ints
    edge_tensor: Ints
    tensor_source: Ints
    tensor_bytes: Floats

    def __len__(self) -> int:
        return len(self.task_ids)

    @cached_property
    def dag(self) -> Dag:
        """The tasks and their edges as an acyclic graph of indices."""
        pairs = zip(self.edge_source.tolist(), self.edge_target.tolist(), strict=True)
        return Dag.from_edges(len(self), pairs, self.name)

    @classmethod
    def from_edges(
        cls, name: str, compute_s: ArrayLike, edges: Iterable[tuple[int, int, float]] = ()
    ) -> TaskGraph:
        """Return a task graph without operators.

        Parameters
        ----------
        name : str
            The graph's name.
        compute_s : array_like of shape (T,) or (classes, T)
            Seconds of each task, on one executor class or on several.
        edges : iterable of (source, target, bytes)
            Each leads from a lower task number to a higher one, and has its own tensor.

        Returns
        -------
        TaskGraph
            The graph; its tasks are called t0, t1, ….

        Raises
        ------
        GraphError
            For an edge that does not lead from a task to a later one.

        Examples
        --------
        >>> TaskGraph.from_edges("pair", [0.1, 0.2], [(0, 1, 1e6)]).dag.successors
        ((1,), ())
        """
        times = np.atleast_2d(np.array(compute_s, dtype=float))
        n = times.shape[1]
        listed = sorted(edges)
        for source, target, _ in listed:
            if not 0 <= source < target < n:
                raise GraphError(
                    f"Task graph {name!r}: edge {source} → {target} must lead from one of {n} tasks to a "
                    "later one; number the tasks in a topological order."
                )
        return cls(
            name=name,
            task_ids=tuple(f"t{i}" for i in range(n)),
            compute_s=times,
            weight_bytes=np.zeros(n),
            edge_source=np.array([e[0] for e in listed], dtype=np.int64),
            edge_target=np.array([e[1] for e in listed], dtype=np.int64),
            edge_tensor=np.arange(len(listed), dtype=np.int64),
            tensor_source=np.array([e[0] for e in listed], dtype=np.int64),
            tensor_bytes=np.array([e[2] for e in listed], dtype=float),
        )

    @classmethod
    def from_contracted(
        cls,
        contracted: ContractedGraph,
        operator_s: Sequence[Sequence[float]],
        weight_bytes: Sequence[float],
    ) -> TaskGraph:
        """Return the task graph of a contracted graph.

        Parameters
        ----------
        contracted : ContractedGraph
            The tasks, their operators and edges.
        operator_s : sequence of sequence of float
            For each executor class the seconds of every operator, in the model graph's order.
        weight_bytes : sequence of float
            Parameter bytes of every operator, in the same order.

        Returns
        -------
        TaskGraph
            Times and weights summed over each task's operators.
        """
        index = contracted.index
        tensors: dict[tuple[int, str], int] = {}
        sizes: list[float] = []
        triples = []
        for e in contracted.edges:
            key = (index[e.source], e.tensor)
            if key not in tensors:
                tensors[key] = len(sizes)
                sizes.append(e.size_bytes)
            triples.append((index[e.source], index[e.target], tensors[key]))
        columns = np.array(triples, dtype=np.int64).reshape(-1, 3)
        return cls(
            name=contracted.graph.name,
            task_ids=tuple(t.id for t in contracted.tasks),
            compute_s=np.array([contracted.sum_over_tasks(row) for row in operator_s], dtype=float),
            weight_bytes=np.array(contracted.sum_over_tasks(weight_bytes), dtype=float),
            edge_source=columns[:, 0].copy(),
            edge_target=columns[:, 1].copy(),
            edge_tensor=columns[:, 2].copy(),
            tensor_source=np.array([t for t, _ in tensors], dtype=np.int64),
            tensor_bytes=np.array(sizes, dtype=float),
        )
