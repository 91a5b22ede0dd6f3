"""What NetworkX, a library of its own making, says of a graph that this program has looked at."""

from __future__ import annotations

from nona.decomposition.dominators import immediate_dominators
from nona.decomposition.subgraph import VIRTUAL
from nona.graph.dag import Dag
from nona.graph.structure.reduction import transitive_reduction

SOURCE = "source"


def graph_differences(dag: Dag) -> tuple[str, ...]:
    """What comes out differently there: order, dominators, transitive reduction; empty if nothing does.

    >>> graph_differences(Dag.from_edges(4, [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]))
    ()
    """
    import networkx as nx  # late: nothing else needs it

    other = nx.DiGraph()
    other.add_nodes_from(range(len(dag)))
    other.add_edges_from(dag.edges())
    place = {v: k for k, v in enumerate(dag.topological_order())}
    ordered = nx.is_directed_acyclic_graph(other) and all(place[u] < place[v] for u, v in other.edges)
    reduced = set(transitive_reduction(dag).edges()) == set(nx.transitive_reduction(other).edges)
    other.add_edges_from((SOURCE, v) for v in range(len(dag)) if not dag.predecessors[v])
    above = nx.immediate_dominators(other, SOURCE)
    wanted = tuple(VIRTUAL if above[v] == SOURCE else above[v] for v in range(len(dag)))
    dominated = immediate_dominators(dag) == wanted
    found = {"order": ordered, "transitive reduction": reduced, "dominators": dominated}
    return tuple(what for what, same in found.items() if not same)
