"""Knots: the strongly connected components of more than one node."""

from __future__ import annotations

from nona.graph.dag import Dag


def knots_of(graph: Dag) -> dict[int, int]:
    """Every node that lies on a cycle → a number of its knot. O(n + m).

    >>> sorted(knots_of(Dag.from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)])))
    [1, 2]
    """
    import numpy as np  # late: reading a graph needs neither
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    arcs = np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2)
    matrix = csr_array((np.ones(len(arcs)), (arcs[:, 0], arcs[:, 1])), shape=(len(graph), len(graph)))
    _, knot = connected_components(matrix, directed=True, connection="strong")
    tied = np.flatnonzero(np.bincount(knot)[knot] > 1)
    return dict(zip(tied.tolist(), knot[tied].tolist(), strict=True))
