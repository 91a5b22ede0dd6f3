"""The quotient graph: what is left of a DAG when edges are contracted one by one."""

from __future__ import annotations

from nona.graph.dag import Dag


class Quotient:
    """A DAG whose nodes are paths of operators, cheap to contract.

    Every rule here only ever merges the last operator of one path with the first of another (see
    :meth:`link`), so a task has a ``head`` and a ``tail``. Readers know a task by its tail and
    producers know it by its head; neither name changes for the neighbours that matter, so that
    all contractions together cost O(n + m) where the direct rule holds.

    Attributes
    ----------
    head, tail
        ``head[t]`` is the first operator of the task that ends in ``t``; ``tail[h]`` the last of
        the task that starts in ``h``. Entries of other operators mean nothing.
    inputs
        ``inputs[h]``: tails of the tasks that feed the task starting in ``h``.
    consumers
        ``consumers[t]``: heads of the tasks that read from the task ending in ``t``.
    """

    def __init__(self, dag: Dag) -> None:
        self.head = list(range(len(dag)))
        self.tail = list(range(len(dag)))
        self.inputs = [set(p) for p in dag.predecessors]
        self.consumers = [set(s) for s in dag.successors]
        self._after: list[int] = [-1] * len(dag)
        self._before: list[int] = [-1] * len(dag)

    def link(self, u: int) -> int | None:
        """The only v for which u → v may be contracted, ``u`` being the tail of a task; or none.

        All other inputs of v's task come before u, and all other consumers of u's task come after
        v; operator indices are a topological order. So u is the last input and v the first
        consumer. O(degree).
        """
        v = min(self.consumers[u], default=None)
        return v if v is not None and max(self.inputs[v]) == u else None

    def merge(self, u: int, v: int) -> tuple[set[int], set[int]]:
        """Contract u → v (tail of one task, head of another).

        Returns
        -------
        tuple of sets
            Heads of the other tasks that read from u's task, and tails of the other tasks that
            feed v's task: the neighbours whose edges may have become contractible.
        """
        h, t = self.head[u], self.tail[v]
        readers, feeders = self.consumers[u], self.inputs[v]
        readers.discard(v)
        feeders.discard(u)
        self.consumers[u], self.inputs[v] = set(), set()
        for y in readers:
            self.inputs[y].discard(u)
            self.inputs[y].add(t)
        for x in feeders:
            self.consumers[x].discard(v)
            self.consumers[x].add(h)
        self.consumers[t] |= readers
        self.inputs[h] |= feeders
        self.head[t], self.tail[h] = h, t
        self._after[u], self._before[v] = v, u
        return readers, feeders

    def heads(self) -> list[int]:
        """First operators of all tasks, in increasing (and so topological) order."""
        return [v for v, u in enumerate(self._before) if u < 0]

    def path(self, head: int) -> list[int]:
        """Operators of the task that starts in ``head``, in order."""
        path = [head]
        while self._after[path[-1]] >= 0:
            path.append(self._after[path[-1]])
        return path

    def dag(self) -> tuple[list[int], Dag]:
        """Heads of the tasks, and the graph on their places in that list."""
        heads = self.heads()
        place = {h: i for i, h in enumerate(heads)}
        arcs = ((place[self.head[t]], i) for i, h in enumerate(heads) for t in self.inputs[h])
        return heads, Dag.from_edges(len(heads), arcs)
