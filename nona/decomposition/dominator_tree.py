"""The dominator tree, grown in topological order, with lowest common ancestors in O(log n)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nona.graph.dag import Dag


class DominatorTree:
    """Tree over the nodes of a DAG under a virtual source.

    d is an ancestor of v iff every path from a source to v passes d. In a DAG the immediate
    dominator of v is the lowest common ancestor of v's predecessors (Cooper, Harvey and Kennedy
    2001, A simple, fast dominance algorithm: one pass suffices without cycles). Each node keeps
    its parent and one jump pointer to an ancestor further up, chosen so that climbing takes
    O(log n) steps (Myers 1983, An applicative random-access stack).
    """

    def __init__(self, n: int) -> None:
        self._parent = [0] * (n + 1)  # node v stands at v + 1, the virtual source at 0
        self._jump = [0] * (n + 1)
        self._depth = [0] * (n + 1)

    def parent(self, v: int) -> int:
        """The immediate dominator of ``v``, ``VIRTUAL`` if that is the virtual source."""
        return self._parent[v + 1] - 1

    def add(self, v: int, predecessors: Iterable[int]) -> None:
        """Insert ``v``, all of whose predecessors are in the tree; none: it hangs on the source."""
        parent = self.meet(predecessors) + 1
        jump = self._jump[parent]
        # two jumps of equal length in a row are joined into one
        equal = self._depth[parent] - self._depth[jump] == self._depth[jump] - self._depth[self._jump[jump]]
        node = v + 1
        self._parent[node], self._depth[node] = parent, self._depth[parent] + 1
        self._jump[node] = self._jump[jump] if equal else parent

    def meet(self, nodes: Iterable[int]) -> int:
        """The last node that lies on every path from a source to any of ``nodes``."""
        met = -1
        for v in nodes:
            met = v + 1 if met < 0 else self._common(met, v + 1)
        return max(met, 0) - 1

    def _common(self, a: int, b: int) -> int:
        parent, jump, depth = self._parent, self._jump, self._depth
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            a = jump[a] if depth[jump[a]] >= depth[b] else parent[a]
        while a != b:  # nodes of equal depth jump equally far
            a, b = (jump[a], jump[b]) if jump[a] != jump[b] else (parent[a], parent[b])
        return a


def dominator_tree(dag: Dag, order: Sequence[int]) -> DominatorTree:
    """The dominator tree of ``dag``, whose topological order is ``order``. O((n + m) log n)."""
    tree = DominatorTree(len(dag))
    for v in order:
        tree.add(v, dag.predecessors[v])
    return tree
