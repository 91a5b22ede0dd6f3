"""The edges of a node-link document: ends, bytes, and which of them carry one shared tensor."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from nona.errors import GraphError
from nona.graph.limits import MAX_SIZE_BYTES, checked
from nona.graph.model import Edge, Tensor
from nona.graph.node_link.nodes import count_ignored, node_id
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
        fields, source, target = _ends(link, place, ids, graph)
        if not fields.keys() <= _KNOWN:
            for key in fields.keys() - _KNOWN:
                count_ignored(key, ignored)
        tensor = _tensor_name(fields.get("tensor"), source, target)
        size = fields.get("bytes")
        if size is None and tensor in tensors:
            size = tensors[tensor].size_bytes
        silent += size is None
        edge = Edge(source, target, tensor, 0.0 if size is None else _size(size, source, target))
        if not tensor:
            unnamed.append(len(edges))
        else:
            first = made.setdefault(tensor, edge)
            if first is not edge:
                _check_shared(edge, first, graph)
            if (target, tensor) in seen:
                continue  # the same tensor into two inputs of one consumer is one edge
            seen.add((target, tensor))
        edges.append(edge)
    _name(edges, unnamed, {*made, *tensors})
    notes = [f"{silent} of {len(edges)} edges state no bytes; they count as 0 bytes."] if silent else []
    return edges, notes


def _ends(
    link: object, place: int, ids: Collection[str], graph: str
) -> tuple[Mapping[str, object], str, str]:
    if not isinstance(link, (dict, Mapping)) or "source" not in link or "target" not in link:
        raise GraphError(
            f"Edge number {place}: {quote(link)} lacks 'source' or 'target'; give an object with both."
        )
    source, target = link["source"], link["target"]
    if type(source) is not str or type(target) is not str:
        source = node_id(source, f"Source of edge number {place}")
        target = node_id(target, f"Target of edge number {place}")
    if source not in ids or target not in ids:
        end = target if source in ids else source
        raise GraphError(
            f"Graph {quote(graph)}: {_owner(source, target)} names the unknown node {quote(end)}; "
            "add the node or drop the edge."
        )
    return link, source, target


def _owner(source: str, target: str) -> str:
    return f"edge {quote(source)} → {quote(target)}"


def _size(value: object, source: str, target: str) -> float:
    if type(value) is float and 0 <= value <= MAX_SIZE_BYTES:
        return value
    return checked(value, f"Edge {quote(source)} → {quote(target)}", "bytes", MAX_SIZE_BYTES)


def _tensor_name(value: object, source: str, target: str) -> str:
    """The name of the tensor, ``""`` where none is given."""
    if value is None:
        return ""
    if not isinstance(value, str) or not value:
        raise GraphError(
            f"Edge {quote(source)} → {quote(target)}: tensor={quote(value)} must be a text and not empty; "
            "put it in quotes."
        )
    return check_name(value, "Tensor")


def _check_shared(edge: Edge, first: Edge, graph: str) -> None:
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


def _name(edges: list[Edge], unnamed: Sequence[int], taken: set[str]) -> None:
    """Give every edge without a tensor one of its own, named after its ends."""
    reached: dict[str, int] = {}  # so that a million edges between two nodes take no square of that
    for i in unnamed:
        edge = edges[i]
        base = name = f"{edge.source}→{edge.target}"
        number = reached.get(base, 1)
        while name in taken:
            number += 1
            name = f"{base} #{number}"
        taken.add(name)
        reached[base] = number
        edges[i] = Edge(edge.source, edge.target, name, edge.size_bytes)
