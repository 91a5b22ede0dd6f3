"""Cut a task graph at the tasks that every path passes: the dominators of its end."""

from __future__ import annotations

from collections.abc import Sequence

from nona.decomposition.dominator_tree import dominator_tree
from nona.decomposition.subgraph import VIRTUAL, Decomposition, SubGraph
from nona.graph.dag import Dag


def immediate_dominators(dag: Dag) -> tuple[int, ...]:
    """For every node the last other node that all paths from the sources to it pass.

    ``VIRTUAL`` (−1) where there is none: sources, and nodes that different sources reach on
    separate ways. O((n + m) log n).

    Raises
    ------
    GraphError
        When the graph has a cycle.

    Examples
    --------
    >>> immediate_dominators(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)]))
    (-1, 0, 0, 0)
    """
    tree = dominator_tree(dag, dag.topological_order())
    return tuple(tree.parent(v) for v in range(len(dag)))


def decompose(dag: Dag) -> Decomposition:
    """The cut tasks of ``dag`` and the sub-graphs between them.

    A virtual source feeds all sources and all sinks feed a virtual sink; the cut tasks are the
    dominators of the virtual sink. Placement is independent across sub-graphs given their shared
    cut task. No edge passes a cut task by, or a path would: where one skips over a task that
    otherwise separates, that task is no cut, and the sub-graph is larger. An edge between two
    consecutive cut tasks belongs to the sub-graph between them.

    O((n + m) log n).

    Raises
    ------
    GraphError
        When the graph has a cycle.

    Examples
    --------
    >>> decompose(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3)])).subgraphs
    (SubGraph(root=0, sink=3, interior=(1, 2)),)
    >>> decompose(Dag.from_edges(3, [(0, 2), (1, 2)])).cuts
    (-1, 2)
    """
    if not len(dag):
        return Decomposition((), ())
    order = dag.topological_order()
    tree = dominator_tree(dag, order)
    sources = [v for v in order if not dag.predecessors[v]]
    sinks = [v for v in order if not dag.successors[v]]
    cuts = [VIRTUAL] if len(sinks) > 1 else []
    v = tree.meet(sinks)
    while v != VIRTUAL:
        cuts.append(v)
        v = tree.parent(v)
    if len(sources) > 1:
        cuts.append(VIRTUAL)
    cuts.reverse()
    interiors = _interiors(dag, order, cuts)
    between = zip(cuts, cuts[1:], interiors, strict=False)
    return Decomposition(tuple(cuts), tuple(SubGraph(r, s, tuple(i)) for r, s, i in between))


def _interiors(dag: Dag, order: Sequence[int], cuts: Sequence[int]) -> list[list[int]]:
    """Tasks by the last cut before them. Every cut lies on all paths, so before a task or behind it."""
    number = {cut: k for k, cut in enumerate(cuts) if cut != VIRTUAL}
    last = [0] * len(dag)
    interiors: list[list[int]] = [[] for _ in cuts]
    for v in order:
        if v in number:
            last[v] = number[v]
        else:
            before = dag.predecessors[v]  # all of one sub-graph
            last[v] = last[before[0]] if before else 0
            interiors[last[v]].append(v)
    return interiors
