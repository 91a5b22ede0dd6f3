"""Directed acyclic graphs on the integers 0…n−1: the structure under every graph here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nona.errors import GraphError


@dataclass(frozen=True, slots=True)
class Dag:
    """Adjacency of a directed graph, without repeated arcs, neighbours in increasing order.

    Examples
    --------
    >>> diamond = Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    >>> diamond.predecessors[3], diamond.topological_order(), diamond.levels()
    ((1, 2), (0, 1, 2, 3), (0, 1, 1, 2))
    >>> diamond.critical_path([2, 10, 8, 2])
    (14.0, (0, 1, 3))
    """

    successors: tuple[tuple[int, ...], ...]
    predecessors: tuple[tuple[int, ...], ...]
    name: str = ""

    @classmethod
    def from_edges(cls, n: int, edges: Iterable[tuple[int, int]], name: str = "") -> Dag:
        """Build from arcs (u, v); repeated arcs are kept once. Acyclicity is not checked here."""
        out: list[set[int]] = [set() for _ in range(n)]
        into: list[set[int]] = [set() for _ in range(n)]
        for u, v in edges:
            out[u].add(v)
            into[v].add(u)
        return cls(tuple(tuple(sorted(s)) for s in out), tuple(tuple(sorted(s)) for s in into), name)

    def __len__(self) -> int:
        return len(self.successors)

    def edges(self) -> Iterable[tuple[int, int]]:
        """All arcs (u, v), in increasing order."""
        return ((u, v) for u, vs in enumerate(self.successors) for v in vs)

    def peel(self) -> tuple[list[int], list[int]]:
        """Take away sources until none is left: the nodes taken, in order, breadth first.

        The second list counts for each node the predecessors that were not taken; all are 0 unless
        there is a cycle. O(n + m).
        """
        missing = [len(p) for p in self.predecessors]
        order = [v for v, k in enumerate(missing) if k == 0]
        for u in order:  # the list grows while it is read: a queue
            for v in self.successors[u]:
                missing[v] -= 1
                if missing[v] == 0:
                    order.append(v)
        return order, missing

    def topological_order(self) -> tuple[int, ...]:
        """The order in which every arc points forward; breadth first, smallest index first.

        Raises
        ------
        GraphError
            When the graph has a cycle; the message names one node on it. O(n + m).
        """
        order, missing = self.peel()
        if len(order) < len(missing):
            stuck = next(v for v, k in enumerate(missing) if k > 0)
            raise GraphError(
                f"Graph {self.name!r}: it has a cycle (node number {stuck} waits for itself); "
                "remove the edge that points backwards."
            )
        return tuple(order)

    def levels(self) -> tuple[int, ...]:
        """Longest number of arcs from a source to each node."""
        level = [0] * len(self)
        for u in self.topological_order():
            for v in self.successors[u]:
                level[v] = max(level[v], level[u] + 1)
        return tuple(level)

    def critical_path(self, weights: Sequence[float]) -> tuple[float, tuple[int, ...]]:
        """Length and nodes of the heaviest path, the weights being on the nodes.

        Formula: f(v) = w(v) + max over predecessors u of f(u); the length is max f.
        """
        if not len(self):
            return 0.0, ()
        finish = [0.0] * len(self)
        before = [-1] * len(self)
        for v in self.topological_order():
            best = max(self.predecessors[v], key=lambda u: finish[u], default=-1)
            before[v] = best
            finish[v] = weights[v] + (finish[best] if best >= 0 else 0.0)
        last = max(range(len(self)), key=lambda v: finish[v])
        path = [last]
        while before[path[-1]] >= 0:
            path.append(before[path[-1]])
        return finish[last], tuple(reversed(path))
