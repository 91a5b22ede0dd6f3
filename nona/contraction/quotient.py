"""The quotient graph: what is left of a DAG when edges are contracted one by one."""

from __future__ import annotations

from nona.graph.dag import Dag


class Quotient:
    """A DAG whose nodes are paths of operators, cheap to contract.

    Every rule here only ever merges the last operator of one path with the first of another, so a
    task has a ``head`` and a ``tail``. Readers know a task by its tail and producers know it by its
    head: :meth:`merge` renames nothing, and all merges together cost O(n + m).

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
        self._first = list(range(len(dag)))  # union-find towards the head of the task
        self._after: list[int] = [-1] * len(dag)

    def merge(self, u: int, v: int) -> tuple[set[int], set[int]]:
        """Contract u → v (tail of one task, head of another), which the direct rule must allow.

        Then the merged task reads what u's task read, and feeds what v's task fed.

        Returns
        -------
        tuple of sets
            Heads of the other tasks that read from u's task, and tails of the other tasks that
            feed v's task: the neighbours whose edges may have become contractible.
        """
        readers, feeders = self.consumers[u], self.inputs[v]
        readers.discard(v)
        feeders.discard(u)
        self.consumers[u], self.inputs[v] = set(), set()
        for y in readers:
            self.inputs[y].discard(u)
        for x in feeders:
            self.consumers[x].discard(v)
        self.join(u, v)
        return readers, feeders

    def join(self, u: int, v: int) -> None:
        """Make one path of the two that meet in u → v; ``inputs`` and ``consumers`` stay as they are."""
        head, tail = self.head[u], self.tail[v]
        self.head[tail], self.tail[head] = head, tail
        self._first[v] = head
        self._after[u] = v

    def find(self, operator: int) -> int:
        """First operator of the task that holds ``operator``. O(log n) amortised."""
        first = self._first
        while first[operator] != operator:
            first[operator] = first[first[operator]]
            operator = first[operator]
        return operator

    def heads(self) -> list[int]:
        """First operators of all tasks, in increasing (and so topological) order."""
        return [v for v, first in enumerate(self._first) if first == v]

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
