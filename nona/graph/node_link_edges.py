"""The edges of a node-link document: ends, bytes, and which of them carry one shared tensor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nona.errors import GraphError
from nona.graph.limits import MAX_SIZE_BYTES, checked
from nona.graph.model import Edge, Tensor
from nona.graph.node_link_nodes import count_ignored, node_id
from nona.graph.text import check_name, quote

_KNOWN = {"source", "target", "bytes", "tensor", "key"}


def read_edges(
    links: Sequence[object],
    ids: Collection[str],
    tensors: Mapping[str, Tensor],
    graph: str,
    ignored: dict[str, int],
) -> tuple[list[Edge], list[str]]:
    """The edges among the nodes ``ids``, one per (producer, consumer, tensor), and what to warn of.

    An edge without ``bytes`` takes them from the tensor of its name in ``tensors``, else 0 with a
    warning. Edges with equal ``tensor`` carry one tensor: one producer, one size.

    Raises
    ------
    GraphError
        For an end that is no node, an impossible number, or a tensor with two producers or sizes.
    """
    edges: list[Edge] = []
    unnamed: list[int] = []
    made: dict[str, Edge] = {}
    seen: set[tuple[str, str]] = set()
    silent = 0
    for place, link in enumerate(links):
        source, target, owner = _ends(link, place, ids, graph)
        if not isinstance(link, Mapping):
            continue
        for key in link.keys() - _KNOWN:
            count_ignored(key, ignored)
        tensor = link.get("tensor")
        size = link.get("bytes")
        if size is None:
            known = tensors.get(tensor) if isinstance(tensor, str) else None
            size = known.size_bytes if known else 0.0
            silent += known is None
        edge = Edge(source, target, "", checked(size, owner, "bytes", MAX_SIZE_BYTES))
        if tensor is None:
            unnamed.append(len(edges))
        else:
            edge = _shared(Edge(source, target, _tensor_name(tensor, owner), edge.size_bytes), made, graph)
            if (target, edge.tensor) in seen:
                continue  # the same tensor into two inputs of one consumer is one edge
            seen.add((target, edge.tensor))
        edges.append(edge)
    _name(edges, unnamed, {*made, *tensors})
    notes = [f"{silent} of {len(edges)} edges state no bytes; they count as 0 bytes."] if silent else []
    return edges, notes


def _ends(link: object, place: int, ids: Collection[str], graph: str) -> tuple[str, str, str]:
    if not isinstance(link, Mapping) or "source" not in link or "target" not in link:
        raise GraphError(
            f"Edge number {place}: {quote(link)} lacks 'source' or 'target'; give an object with both."
        )
    source, target = link["source"], link["target"]
    if type(source) is not str or type(target) is not str:
        source = node_id(source, f"Source of edge number {place}")
        target = node_id(target, f"Target of edge number {place}")
    owner = f"Edge {quote(source)} → {quote(target)}"
    for end in (source, target):
        if end not in ids:
            raise GraphError(
                f"Graph {quote(graph)}: {owner} names the unknown node {quote(end)}; add the node or "
                "drop the edge."
            )
    return source, target, owner


def _tensor_name(value: object, owner: str) -> str:
    if not isinstance(value, str) or not value:
        raise GraphError(
            f"{owner}: tensor={quote(value)} must be a text that is not empty; put it in quotes."
        )
    return check_name(value, f"{owner}, tensor")


def _shared(edge: Edge, made: dict[str, Edge], graph: str) -> Edge:
    first = made.setdefault(edge.tensor, edge)
    if first.source != edge.source:
        raise GraphError(
            f"Graph {quote(graph)}: tensor {quote(edge.tensor)} is made by {quote(first.source)} and by "
            f"{quote(edge.source)}; give each its own name."
        )
    if first.size_bytes != edge.size_bytes:
        raise GraphError(
            f"Graph {quote(graph)}: tensor {quote(edge.tensor)} has {first.size_bytes:g} bytes on one edge "
            f"and {edge.size_bytes:g} on another; one tensor has one size."
        )
    return edge


def _name(edges: list[Edge], unnamed: Sequence[int], taken: set[str]) -> None:
    """Give every edge without a tensor one of its own, named after its ends."""
    for i in unnamed:
        edge = edges[i]
        base = name = f"{edge.source}→{edge.target}"
        number = 1
        while name in taken:
            number += 1
            name = f"{base} #{number}"
        taken.add(name)
        edges[i] = Edge(edge.source, edge.target, name, edge.size_bytes)
