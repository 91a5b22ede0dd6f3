"""Graphviz in a process of its own, ``python -m nona.ui.models.dot_child PARENT``.

Reads ``{"n": nodes, "edges": [[u, v], …]}`` on standard input and writes ``{"x": […], "y": […]}``
in points, y downwards.
"""

from __future__ import annotations

import json
import sys

import pygraphviz

from nona.graph.orphans import end_with_parent


def main() -> None:
    """Lay out one graph."""
    end_with_parent(int(sys.argv[1]))
    document = json.load(sys.stdin)
    graph = pygraphviz.AGraph(directed=True, strict=True)
    graph.graph_attr.update(
        nodesep="0.25", ranksep="0.3", splines="false", nslimit="2", nslimit1="2", mclimit="0.5"
    )
    graph.node_attr.update(shape="box", width="1.2", height="0.35", fixedsize="true", label="")
    graph.add_nodes_from(range(document["n"]))
    graph.add_edges_from(document["edges"])
    graph.layout(prog="dot")
    places = [graph.get_node(v).attr["pos"].split(",") for v in range(document["n"])]
    json.dump({"x": [float(x) for x, _ in places], "y": [-float(y) for _, y in places]}, sys.stdout)


if __name__ == "__main__":
    main()
