"""Transitive reduction: the fewest arcs that keep every order relation of a DAG (its Hasse diagram)."""

from __future__ import annotations

from collections.abc import Sequence

from nona.graph.dag import Dag


def transitive_reduction(dag: Dag) -> Dag:
    """The DAG without the arcs that a longer path replaces.

    An arc x → v is redundant iff x comes before another predecessor of v, that is, iff
    x ∈ ⋃ Anc(p) over the predecessors p of v. One sweep in topological order keeps Anc as bit sets,
    with a bit only for nodes that some node with several predecessors reads. Bits below the oldest
    node still to be read are shifted out, and a set is dropped after its last reader: for a deep
    network without arcs across its whole depth the sets stay as short as the network is wide.

    Raises
    ------
    GraphError
        When the graph has a cycle.

    Notes
    -----
    Time O(m·n/w) with machine words of w bits in the worst case, near O(n + m) on deep networks.
    The reduction of a DAG is unique (Aho, Garey and Ullman 1972, The transitive reduction of a
    directed graph, theorem 1).

    Examples
    --------
    >>> transitive_reduction(Dag.from_edges(3, [(0, 1), (1, 2), (0, 2)])).successors
    ((1,), (2,), ())
    """
    order = dag.topological_order()
    redundant = _redundant_arcs(dag, order)
    kept = (arc for arc in dag.edges() if arc not in redundant)
    return Dag.from_edges(len(dag), kept, dag.name)


def _redundant_arcs(dag: Dag, order: Sequence[int]) -> set[tuple[int, int]]:
    bits = _BitWindow(dag, order)
    ancestors: dict[int, tuple[int, int]] = {}  # node → (base, set shifted down by base)
    unread = [len(s) for s in dag.successors]
    redundant: set[tuple[int, int]] = set()
    for v in order:
        preds = dag.predecessors[v]
        through = 0
        for p in preds:
            base, mask = ancestors[p]
            through |= mask >> (bits.low - base)
        mask = through
        for p in preds:
            shift = bits.place.get(p, -1) - bits.low
            if shift >= 0:  # else nobody asks for p any more
                mask |= 1 << shift
                if through >> shift & 1:
                    redundant.add((p, v))
            unread[p] -= 1
            if unread[p] == 0:
                del ancestors[p]
        if dag.successors[v]:
            ancestors[v] = (bits.low, mask)
        bits.visited(v)
    return redundant


class _BitWindow:
    """Which bit stands for which node, and the lowest bit that is still asked for."""

    def __init__(self, dag: Dag, order: Sequence[int]) -> None:
        self._predecessors = dag.predecessors
        pending: dict[int, int] = {}  # node → readers with several predecessors, not yet handled
        for v in order:
            if len(dag.predecessors[v]) > 1:
                for p in dag.predecessors[v]:
                    pending[p] = pending.get(p, 0) + 1
        self._nodes = [p for p in order if p in pending]
        self._pending = pending
        self.place = {p: i for i, p in enumerate(self._nodes)}
        self.low = 0

    def visited(self, v: int) -> None:
        """Node ``v`` was handled: it asks for its predecessors' bits no more."""
        if len(self._predecessors[v]) > 1:
            for p in self._predecessors[v]:
                self._pending[p] -= 1
        while self.low < len(self._nodes) and self._pending[self._nodes[self.low]] == 0:
            self.low += 1
