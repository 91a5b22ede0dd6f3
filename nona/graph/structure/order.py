"""Put operators and edges into the order that a model graph keeps, or name the cycle."""

from __future__ import annotations

from collections.abc import Sequence

from nona.errors import GraphError
from nona.graph.dag import Dag
from nona.graph.model import Edge, Operator
from nona.graph.text import quote


def in_order(
    operators: Sequence[Operator], edges: Sequence[Edge], name: str
) -> tuple[list[Operator], list[Edge]]:
    """Operators in a topological order (their own, if it is one), edges by producer, consumer, tensor.

    Raises
    ------
    GraphError
        When there is a cycle; the message names the nodes on it.
    """
    index = {o.id: i for i, o in enumerate(operators)}
    arcs = [(index[e.source], index[e.target]) for e in edges]
    order: Sequence[int] = range(len(operators))
    if any(u >= v for u, v in arcs):
        dag = Dag.from_edges(len(operators), arcs)
        cycle = find_cycle(dag)
        if cycle:
            raise GraphError(cycle_message(name, [operators[v].id for v in cycle]))
        order = dag.topological_order()
    rank = [0] * len(operators)
    for place, v in enumerate(order):
        rank[v] = place
    keys = sorted(
        (rank[u], rank[v], e.tensor, k) for k, ((u, v), e) in enumerate(zip(arcs, edges, strict=True))
    )
    return [operators[v] for v in order], [edges[key[3]] for key in keys]


def cycle_message(name: str, nodes: Sequence[str]) -> str:
    """One line that shows the way round."""
    few = nodes[:6]
    way = " → ".join(quote(v, 40) for v in few) + (" → …" if nodes[6:] else "") + f" → {quote(nodes[0], 40)}"
    return f"Graph {quote(name)}: it has a cycle, {way}; remove the edge that points backwards."


def find_cycle(dag: Dag) -> tuple[int, ...]:
    """The nodes of one cycle in order, or ``()`` when there is none. O(n + m), no recursion.

    >>> find_cycle(Dag.from_edges(4, [(0, 1), (1, 2), (2, 1), (2, 3)]))
    (1, 2)
    """
    done, missing = dag.peel()
    if len(done) == len(dag):
        return ()
    # every node that is left has a predecessor that is left, so walking back must close a loop
    v = next(v for v, k in enumerate(missing) if k > 0)
    place: dict[int, int] = {}
    walk: list[int] = []
    while v not in place:
        place[v] = len(walk)
        walk.append(v)
        v = next(u for u in dag.predecessors[v] if missing[u] > 0)
    loop = walk[place[v] :][::-1]
    start = loop.index(min(loop))
    return tuple(loop[start:] + loop[:start])
