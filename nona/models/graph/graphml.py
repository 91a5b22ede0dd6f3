"""GraphML → node-link document; no DTD, so nothing external, is accepted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from nona.core.errors import GraphError
from nona.models.graph.node_link_fields import (
    EDGE_KEYS,
    NODE_KEYS,
    count_ignored,
    edge_values,
    node_values,
    passed_over,
)
from nona.models.graph.registry import Document
from nona.models.graph.text import MAX_EDGES, MAX_OPERATORS, check_count, one_line, quote

MAX_TAGS = 6_000_000


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """Return the directed graph in a GraphML file. ``symbols`` are of no use to this format."""
    where = f"File {quote(filename)}"
    root = _parse(data, where)
    if _tag(root) != "graphml":
        raise GraphError(f"{where}: its root is <{quote(_tag(root))}>, not <graphml>; give a GraphML file.")
    graphs = [child for child in root if _tag(child) == "graph"]
    if len(graphs) != 1:
        raise GraphError(f"{where}: it holds {len(graphs)} graphs; give a file with exactly one.")
    graph = graphs[0]
    if graph.get("edgedefault") == "undirected":
        raise GraphError(f'{where}: it is undirected; write edgedefault="directed".')
    keys, defaults = _keys(root)
    ignored: dict[str, int] = {}
    rows: list[Document] = []
    links: list[Document] = []
    for child in graph:
        tag = _tag(child)
        if tag == "node":
            rows.append(_node(child, keys, defaults["node"], ignored, where))
        elif tag == "edge":
            links.append(_edge(child, keys, defaults["edge"], ignored, where))
        elif tag == "hyperedge":
            raise GraphError(f"{where}: it has a hyperedge; write one edge per pair of nodes.")
    check_count(len(rows), MAX_OPERATORS, "operators", filename)
    check_count(len(links), MAX_EDGES, "edges", filename)
    meta = {"name": PurePath(filename).stem or "model", "format": "graphml", "warnings": passed_over(ignored)}
    return {"graph": meta, "nodes": rows, "edges": links}


def _parse(data: bytes, where: str) -> Any:
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    if data.count(b"<") > MAX_TAGS:
        raise GraphError(f"{where}: it has more than {MAX_TAGS} tags; give a smaller graph.")
    try:
        return fromstring(data, forbid_dtd=True)
    except DefusedXmlException:
        raise GraphError(
            f"{where}: it declares a document type or entities, which are refused; remove <!DOCTYPE …>."
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise GraphError(
            f"{where}: it is not well-formed XML ({one_line(error, 100)}); correct it."
        ) from None


def _tag(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _keys(root: Any) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Key id → attribute name, and the default texts for nodes and for edges."""
    names: dict[str, str] = {}
    defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
    for element in root:
        if _tag(element) != "key":
            continue
        identifier = element.get("id", "")
        names[identifier] = element.get("attr.name", identifier)
        for child in element:
            if _tag(child) == "default" and child.text:
                for kind in ("node", "edge"):
                    if element.get("for", "all") in (kind, "all"):
                        defaults[kind][names[identifier]] = child.text
    return names, defaults


def _texts(
    element: Any, keys: Mapping[str, str], allowed: frozenset[str], ignored: dict[str, int]
) -> Iterator[tuple[str, str]]:
    for child in element:
        if _tag(child) != "data":
            continue
        key = child.get("key", "")
        name = keys.get(key, key)
        if name not in allowed:
            count_ignored(name, ignored)
        elif child.text and child.text.strip():
            yield name, child.text.strip()


def _node(
    element: Any, keys: Mapping[str, str], defaults: Mapping[str, str], ignored: dict[str, int], where: str
) -> Document:
    name = element.get("id")
    if not name:
        raise GraphError(f"{where}: a <node> has no id; give every node one.")
    if any(_tag(child) in ("graph", "port") for child in element):
        raise GraphError(f"{where}: node {quote(name)} holds a nested graph or a port; flatten the graph.")
    texts = {k: v for k, v in defaults.items() if k in NODE_KEYS}
    texts |= dict(_texts(element, keys, NODE_KEYS, ignored))
    return {"id": name, **node_values(texts, f"Node {quote(name)}")}


def _edge(
    element: Any, keys: Mapping[str, str], defaults: Mapping[str, str], ignored: dict[str, int], where: str
) -> Document:
    source, target = element.get("source"), element.get("target")
    if not source or not target:
        raise GraphError(f"{where}: an <edge> lacks source or target; give every edge both.")
    owner = f"Edge {quote(source)} → {quote(target)}"
    if element.get("directed") == "false":
        raise GraphError(f"{where}: {owner} is undirected; give directed edges.")
    texts = {k: v for k, v in defaults.items() if k in EDGE_KEYS}
    texts |= dict(_texts(element, keys, EDGE_KEYS, ignored))
    return {"source": source, "target": target, **edge_values(texts, owner)}
