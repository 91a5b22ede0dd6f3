"""Node-link JSON: the loss-free form of a model graph; every other reader makes one.

A document is ``{"directed": true, "nodes": [...], "edges": [...], "graph": {...}}``.

=========  ==========================================================================================
nodes      ``id`` (text or whole number); ``kind``; ``compute_ms`` (milliseconds, one number or a map
           device → number; ``compute_s`` in seconds instead); ``batch_ms`` (map number of inputs that
           run together → milliseconds, also without ``compute_ms``; ``batch_s``); ``device`` (for which
           the number holds, in place of the graph's); ``bound`` (``compute``, ``memory`` or ``host``);
           ``flops``, ``macs``, ``read_bytes``, ``write_bytes``, ``weight_bytes``; ``scope``; ``inputs``,
           ``outputs`` (names of tensors); ``attributes``; ``bodies`` (documents of which one runs inside
           the node) and ``turns`` (how often; null: the file does not say)
edges      ``source``, ``target``, ``bytes``, ``tensor`` (edges that carry one shared tensor say so with
           equal names; without a name each edge carries its own); also under the key ``links``
graph      ``name``, ``format``, ``tensors`` (name → ``bytes``, ``shape``, ``dtype``), ``parameters``,
           ``static``, ``warnings``, ``symbols``; ``device``: the one for which all numbers hold that
           name none (``any``: they are the same everywhere, by definition)
=========  ==========================================================================================
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from nona.core.errors import GraphError
from nona.models.graph import node_link_fields
from nona.models.graph.model import ANY_DEVICE, ModelGraph, Operator, Tensor, in_order
from nona.models.graph.registry import Document, Reader
from nona.models.graph.text import MAX_EDGES, MAX_OPERATORS, check_count, check_name, one_line, quote


def to_node_link(graph: ModelGraph) -> Document:
    """``graph`` as plain data that ``json.dumps`` takes; :func:`from_node_link` gives ``graph`` back.

    >>> from nona.models.graph.model import Edge
    >>> g = ModelGraph("two", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),))
    >>> from_node_link(to_node_link(g)) == g
    True
    """
    return {
        "directed": True,
        "multigraph": True,
        "graph": {
            "name": graph.name,
            "format": graph.source_format,
            "warnings": list(graph.warnings),
            "symbols": dict(graph.symbols),
            "parameters": sorted(graph.parameters),
            "static": sorted(graph.static),
            "tensors": {name: _tensor_data(t) for name, t in graph.tensors.items()},
            **({"device": graph.device} if graph.device else {}),
        },
        "nodes": [_node_data(o, graph.device) for o in graph.operators],
        "edges": [
            {"source": e.source, "target": e.target, "bytes": e.size_bytes, "tensor": e.tensor}
            for e in graph.edges
        ],
    }


MAX_BODIES_DEEP = 16


def from_node_link(
    document: Mapping[str, object], name: str | None = None, *, source_format: str = "json", depth: int = 0
) -> ModelGraph:
    """Return the model graph that a node-link document describes.

    Parameters
    ----------
    document : mapping
        Node-link data, for example from ``json.loads`` or ``networkx.node_link_data``.
    name : str, optional
        Name of the graph; by default the document's own, or ``"graph"``.
    source_format : str, optional
        Format of the source, unless the document names it.
    depth : int, optional
        Nodes that it is inside of, as one of their bodies.

    Returns
    -------
    ModelGraph
        The graph.

    Raises
    ------
    GraphError
        If the data is not a directed acyclic graph with finite, non-negative numbers; the message
        names the node, edge or key.

    Examples
    --------
    >>> g = from_node_link({"nodes": [{"id": 1, "compute_ms": 3}, {"id": 2}],
    ...                     "links": [{"source": 1, "target": 2, "bytes": 1000}]})
    >>> g.operators[0].compute_s, g.edges[0].size_bytes
    ({'*': 0.003}, 1000.0)
    """
    if not isinstance(document, Mapping):
        raise GraphError(
            f"Graph {quote(name or 'graph')}: a node-link document is an object with 'nodes' and 'edges', "
            f"this is {quote(document)}; give such an object."
        )
    meta = document.get("graph", {})
    if isinstance(meta, list | tuple):  # NetworkX's adjacency data has pairs
        pairs = (p for p in meta if isinstance(p, list | tuple) and len(p) == 2)
        meta = {key: value for key, value in pairs if isinstance(key, str)}
    meta = meta if isinstance(meta, Mapping) else {}
    own = meta.get("name", document.get("name"))
    name = check_name(name or (own if isinstance(own, str) else "graph"), "Graph")
    nodes, links = _lists(document, name)
    ignored = {str(key): 1 for key in document if key not in _KEYS}
    device = node_link_fields.device_of(meta, f"Graph {quote(name)}")
    if depth > MAX_BODIES_DEEP:
        raise GraphError(f"Graph {quote(name)}: it is inside more than {MAX_BODIES_DEEP} nodes; flatten it.")
    operators = [
        node_link_fields.read_node(
            node, i, ignored, device, lambda body: from_node_link(body, depth=depth + 1)
        )
        for i, node in enumerate(nodes)
    ]
    _check_unique(operators, name)
    tensors = node_link_fields.read_tensors(meta.get("tensors", {}), name)
    unordered, notes = node_link_fields.read_edges(links, {o.id for o in operators}, tensors, name, ignored)
    ordered, edges = in_order(operators, unordered, name)
    if "tensors" not in meta:
        ordered, tensors = node_link_fields.with_edge_tensors(nodes, ordered, edges)
    if ignored:
        notes.append(f"Ignored keys: {_counted(ignored)}.")
    origin = meta.get("format")
    return ModelGraph(
        name=name,
        operators=tuple(ordered),
        edges=tuple(edges),
        tensors=tensors,
        parameters=node_link_fields.names_of(meta, "parameters", tensors, name),
        static=node_link_fields.names_of(meta, "static", tensors, name),
        source_format=check_name(origin, "Format") if isinstance(origin, str) else source_format,
        warnings=(*node_link_fields.warnings_of(meta), *notes),
        symbols=node_link_fields.symbols_of(meta),
        device=device,
    )


_KEYS = frozenset({"nodes", "edges", "links", "adjacency", "graph", "name", "directed", "multigraph"})


def _lists(document: Mapping[str, object], name: str) -> tuple[Sequence[object], Sequence[object]]:
    """Return the nodes and the edges, under either key, or those of NetworkX's adjacency data."""
    if document.get("directed") is False:
        raise GraphError(f"Graph {quote(name)}: it is undirected; give a directed graph.")
    if "edges" in document and "links" in document:
        raise GraphError(f"Graph {quote(name)}: it has both 'edges' and 'links'; keep one of them.")
    nodes, links = document.get("nodes"), document.get("edges", document.get("links", []))
    if "edges" not in document and "links" not in document and isinstance(nodes, list | tuple):
        links = _from_adjacency(nodes, document.get("adjacency"), name)
    for key, value in (("nodes", nodes), ("edges", links)):
        if not isinstance(value, list | tuple):
            state = "is missing" if value is None else f"is {quote(value)}"
            raise GraphError(f"Graph {quote(name)}: '{key}' {state}; give a list of objects.")
    if not (isinstance(nodes, list | tuple) and isinstance(links, list | tuple)):
        raise GraphError(f"Graph {quote(name)}: nodes and edges must be lists.")  # for the type checker
    if not nodes:
        raise GraphError(f"Graph {quote(name)}: it has no operators; give a file with at least one.")
    check_count(len(nodes), MAX_OPERATORS, "operators", name)
    check_count(len(links), MAX_EDGES, "edges", name)
    return nodes, links


def _from_adjacency(nodes: Sequence[object], rows: object, name: str) -> list[object]:
    """Return the edges of a document without a list of them: ``rows`` has the successors of every node."""
    if rows is None and len(nodes) <= 1:
        return []
    fits = isinstance(rows, list | tuple) and len(rows) == len(nodes)
    if not (fits and isinstance(rows, list | tuple) and all(isinstance(row, list | tuple) for row in rows)):
        raise GraphError(
            f"Graph {quote(name)}: it has {len(nodes)} nodes and no list of edges; call the list 'edges' or "
            "'links' (empty for independent tasks), or write NetworkX's 'adjacency'."
        )
    links: list[object] = []
    for node, row in zip(nodes, rows, strict=True):
        source = node.get("id") if isinstance(node, Mapping) else node
        for target in row:
            data = target if isinstance(target, Mapping) else {"id": target}
            links.append(
                {**{k: v for k, v in data.items() if k != "id"}, "source": source, "target": data.get("id")}
            )
    return links


def _check_unique(operators: Sequence[Operator], name: str) -> None:
    seen: set[str] = set()
    for operator in operators:
        if operator.id in seen:
            raise GraphError(
                f"Graph {quote(name)}: node {quote(operator.id)} appears twice; give every node its own id."
            )
        seen.add(operator.id)


def _counted(ignored: Mapping[str, int]) -> str:
    rows = sorted(ignored.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{quote(k, 30)} (×{n})" for k, n in rows[:8]) + (" and more" if rows[8:] else "")


def _tensor_data(tensor: Tensor) -> dict[str, object]:
    data: dict[str, object] = {"bytes": tensor.size_bytes, "dtype": tensor.dtype}
    if tensor.shape is not None:
        data["shape"] = list(tensor.shape)
    return data


def _node_data(operator: Operator, device: str | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": operator.id,
        "kind": operator.kind,
        "inputs": list(operator.inputs),
        "outputs": list(operator.outputs),
    }
    if operator.attributes:
        data["attributes"] = {
            k: list(v) if isinstance(v, tuple) else v for k, v in operator.attributes.items()
        }
    if operator.scope:
        data["scope"] = operator.scope
    if operator.compute_s is not None:
        key, times = _times("compute", operator.compute_s)
        data[key] = times[ANY_DEVICE] if tuple(times) == (ANY_DEVICE,) == (device or ANY_DEVICE,) else times
    if operator.batch_s:
        key, times = _times("batch", {str(inputs): seconds for inputs, seconds in operator.batch_s})
        data[key] = times
    if operator.bound is not None:
        data["bound"] = operator.bound
    if operator.bodies:
        data |= {"bodies": [to_node_link(body) for body in operator.bodies], "turns": operator.turns}
    if (work := operator.work) is not None:
        data |= {
            "flops": work.flops,
            "macs": work.macs,
            "read_bytes": work.read_bytes,
            "write_bytes": work.write_bytes,
            "weight_bytes": work.weight_bytes,
        }
    return data


def _times(key: str, seconds: Mapping[str, float]) -> tuple[str, dict[str, float]]:
    """Return times in milliseconds where each comes back exactly, else in seconds."""
    rounded = {name: float(f"{t * 1e3:.15g}") for name, t in seconds.items()}
    if all(rounded[name] / 1e3 == t for name, t in seconds.items()):
        return f"{key}_ms", rounded
    return f"{key}_s", dict(seconds)


MAX_CONTAINERS = 4_000_000
MAX_ITEMS = 12_000_000


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """Return the node-link document in a JSON file (UTF-8). ``symbols`` are of no use to this format.

    >>> read_document(b'{"nodes": [{"id": "a"}]}', "one.json")
    {'nodes': [{'id': 'a'}]}
    """
    where = f"File {quote(filename)}"
    if data.count(b"{") + data.count(b"[") > MAX_CONTAINERS or data.count(b",") > MAX_ITEMS:
        raise GraphError(
            f"{where}: it holds more than {MAX_CONTAINERS} objects or {MAX_ITEMS} values; "
            "give a smaller graph."
        )
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise GraphError(f"{where}: byte {error.start} is not UTF-8; save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise GraphError(
            f"{where}: it is not JSON, line {error.lineno} column {error.colno}: {one_line(error.msg)}; "
            "correct it."
        ) from None
    except RecursionError:
        raise GraphError(f"{where}: it is nested too deeply; flatten it.") from None
    except _NotANumberError as error:
        raise GraphError(f"{where}: {error} is not a number; give finite numbers.") from None
    except ValueError:  # Python refuses to convert whole numbers of thousands of digits
        raise GraphError(f"{where}: a number in it has thousands of digits; give ordinary ones.") from None
    if not isinstance(document, dict):
        raise GraphError(
            f"{where}: a graph is a JSON object with 'nodes' and 'edges', but this is {_kind(document)}; "
            "write it as NetworkX's node_link_data does."
        )
    return document


class _NotANumberError(Exception):
    pass


def _refuse(constant: str) -> float:
    raise _NotANumberError(constant)


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(
        type(value), "a number"
    )


@contextmanager
def paused_collector() -> Iterator[None]:
    """No cyclic garbage collection inside; as it was before, afterwards.

    A graph is hundreds of thousands of objects without a cycle. The collector would walk over all
    of them again and again while they are made, which takes most of the time at 50,000 operators.
    Reference counting goes on. Threads may overlap: the thread that found the collector on switches it on.

    >>> with paused_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def graph_in(reader: Reader, data: bytes, filename: str, symbols: Mapping[str, int]) -> ModelGraph:
    """Return the graph that ``reader`` finds in ``data``, checked.

    It has the file's name unless it has its own.

    >>> from nona.models.graph.registry import READERS
    >>> graph_in(READERS["json"], b'{"nodes": [{"id": "a"}]}', "one.json", {}).name
    'one'
    """
    with paused_collector():
        document = reader.read(data, filename, symbols)
        graph = document.get("graph")
        named = isinstance(graph, Mapping) and isinstance(graph.get("name"), str)
        name = None if named else PurePath(filename).stem or "model"
        return from_node_link(document, name, source_format=reader.name)
