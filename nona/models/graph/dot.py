"""DOT → node-link document, parsed by Graphviz's own library and never laid out.

Only the attributes of :mod:`nona.models.graph.node_link_fields` are read. Attributes that name files are
refused: a layout engine would open them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePath
from tempfile import TemporaryFile
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

FILE_ATTRIBUTES = frozenset({"image", "shapefile", "imagepath", "fontpath", "_background", "stylesheet"})
MAX_DEPTH = 200
_BRACES = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]', re.S)
_GRAPH, _NODE, _EDGE = 0, 1, 3  # cgraph's kinds of objects


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """Return the directed graph in a DOT file (UTF-8). ``symbols`` are of no use to this format."""
    from pygraphviz import graphviz as cgraph

    where = f"File {quote(filename)}"
    rest = _after_first(data, where)
    try:
        graph = _parsed(cgraph, data.removeprefix(b"\xef\xbb\xbf"))
    except ValueError as error:
        detail = one_line(error, 100) or "syntax error"
        raise GraphError(f"{where}: it is not valid DOT ({detail}); correct it.") from None
    try:
        if rest.strip():
            _refuse_second(cgraph, graph, rest, where)
        return _document(cgraph, graph, filename, where)
    except UnicodeDecodeError:
        raise GraphError(f"{where}: a name in it is not UTF-8; save it as UTF-8.") from None
    finally:
        cgraph.agclose(graph)


def _parsed(cgraph: Any, data: bytes) -> Any:
    with TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return cgraph.agread(file, None)


def _refuse_second(cgraph: Any, graph: Any, rest: bytes, where: str) -> None:
    try:
        second = _parsed(cgraph, rest)
    except ValueError:  # a comment
        return
    names = [quote(_decoded(cgraph.agnameof(one))) for one in (graph, second)]
    cgraph.agclose(second)
    raise GraphError(
        f"{where}: it holds several graphs, {names[0]} and {names[1]}; give a file with exactly one."
    )


def _after_first(data: bytes, where: str) -> bytes:
    if 0 in data:
        raise GraphError(f"{where}: it holds a zero byte, so it is not DOT; give a text file.")
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphError(f"{where}: byte {error.start} is not UTF-8; save it as UTF-8.") from None
    depth, end = 0, 0
    for token in _BRACES.finditer(data):
        depth += {b"{": 1, b"}": -1}.get(token.group(), 0)
        if depth > MAX_DEPTH:
            raise GraphError(f"{where}: its subgraphs are nested more than {MAX_DEPTH} deep; flatten it.")
        end = end or (depth == 0 and token.end())
    return data[end or len(data) :]


def _document(cgraph: Any, graph: Any, filename: str, where: str) -> Document:
    if not cgraph.agisdirected(graph):
        raise GraphError(f"{where}: it is undirected; write 'digraph' and '->'.")
    check_count(cgraph.agnnodes(graph), MAX_OPERATORS, "operators", filename)
    check_count(cgraph.agnedges(graph), MAX_EDGES, "edges", filename)
    ignored: dict[str, int] = {}
    node_keys = _known_attributes(_declared(cgraph, graph, _NODE), NODE_KEYS, ignored, where)
    edge_keys = _known_attributes(_declared(cgraph, graph, _EDGE), EDGE_KEYS, ignored, where)
    _known_attributes(_declared(cgraph, graph, _GRAPH), frozenset(), {}, where)
    rows: list[Document] = []
    links: list[Document] = []
    for node in _walk(lambda: cgraph.agfstnode(graph), lambda n: cgraph.agnxtnode(graph, n)):
        name = _decoded(cgraph.agnameof(node))
        rows.append({"id": name, **node_values(_texts(cgraph, node, node_keys), f"Node {quote(name)}")})
        for edge in _outgoing(cgraph, graph, node):
            target = _decoded(cgraph.agnameof(cgraph.aghead(edge)))
            owner = f"Edge {quote(name)} → {quote(target)}"
            values = edge_values(_texts(cgraph, edge, edge_keys), owner)
            links.append({"source": name, "target": target, **values})
    meta = {"name": PurePath(filename).stem or "model", "format": "dot", "warnings": passed_over(ignored)}
    return {"graph": meta, "nodes": rows, "edges": links}


def _outgoing(cgraph: Any, graph: Any, node: Any) -> Iterator[Any]:
    return _walk(lambda: cgraph.agfstout(graph, node), lambda e: cgraph.agnxtout(graph, e))


def _walk(first: Callable[[], Any], following: Callable[[Any], Any]) -> Iterator[Any]:
    """Items of a cgraph list: its end is a ``None`` or a StopIteration."""
    try:
        item = first()
        while item is not None:
            yield item
            item = following(item)
    except StopIteration:
        return


def _declared(cgraph: Any, graph: Any, kind: int) -> list[str]:
    """Names of attributes: one that occurs once is declared for all objects of its kind."""
    walk = _walk(lambda: cgraph.agnxtattr(graph, kind, None), lambda a: cgraph.agnxtattr(graph, kind, a))
    return [_decoded(cgraph.agattrname(attribute)) for attribute in walk]


def _known_attributes(
    declared: Iterable[str], allowed: frozenset[str], ignored: dict[str, int], where: str
) -> tuple[str, ...]:
    kept = []
    for key in declared:
        if key.lower() in FILE_ATTRIBUTES:
            raise GraphError(
                f"{where}: the attribute {quote(key)} names a file, and no file is ever opened from here; "
                "remove the attribute."
            )
        if key in allowed:
            kept.append(key)
        else:
            count_ignored(key, ignored)
    return tuple(kept)


def _texts(cgraph: Any, item: Any, keys: Iterable[str]) -> dict[str, str]:
    return {key: text for key in keys if (text := _decoded(cgraph.agget(item, key.encode())))}


def _decoded(raw: bytes | str | None) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw or ""
