"""Control flow in ONNX (If, Loop, Scan): what the bodies of a node read from outside, and store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nona.graph.onnx.shapes import constant_type
from nona.graph.onnx.static import Node
from nona.graph.onnx.types import WEIGHT_TYPES, TensorType

_GRAPH, _GRAPHS = 5, 10  # AttributeProto.AttributeType


def bodies(proto: Any) -> list[Any]:
    """The graphs among the attributes of a node."""
    found = []
    for attribute in proto.attribute:
        if attribute.type == _GRAPH:
            found.append(attribute.g)
        elif attribute.type == _GRAPHS:
            found.extend(attribute.graphs)
    return found


def enter_bodies(node: Node) -> None:
    """Note in ``node`` what its bodies read from outside, and own."""
    graphs = bodies(node.proto)
    if graphs:
        captured = dict.fromkeys(name for graph in graphs for name in _free(graph))
        node.needs = [*node.inputs, *(name for name in captured if name not in node.inputs)]
        node.owned = tuple(row for graph in graphs for row in _stored(graph))


def _free(graph: Any) -> Iterator[str]:
    """Names that the body reads and does not make itself, nested bodies included."""
    made = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    made |= {s.values.name for s in graph.sparse_initializer} | {""}
    for proto in graph.node:
        inner = [name for body in bodies(proto) for name in _free(body)]
        yield from (name for name in (*proto.input, *inner) if name not in made)
        made.update(proto.output)
    yield from (v.name for v in graph.output if v.name not in made)


def _stored(graph: Any) -> Iterator[tuple[str, TensorType]]:
    for tensor in graph.initializer:
        if tensor.data_type in WEIGHT_TYPES:
            yield tensor.name, constant_type(tensor)
    for proto in graph.node:
        for body in bodies(proto):
            yield from _stored(body)


def warning(nodes: Sequence[Node]) -> str:
    """One line on the control flow of a graph.

    The bodies are not entered: how often they run is not in the file.
    """
    kinds: dict[str, int] = {}
    for node in nodes:
        kinds[node.kind] = kinds.get(node.kind, 0) + 1
    listed = ", ".join(f"{kind} ×{count}" for kind, count in sorted(kinds.items()))
    return f"Control flow ({listed}) counts as single operators; the work inside is not known."
