"""ONNX bytes → message with its functions inlined, nodes in order and named."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nona.core.errors import GraphError
from nona.models.graph.dag import Dag
from nona.models.graph.model import cycle_message, find_cycle
from nona.models.graph.onnx_tensors import OnnxNode, enter_bodies
from nona.models.graph.registry import Document
from nona.models.graph.text import MAX_OPERATORS, check_count, one_line, quote

MAX_TEXT = 200
MAX_ITEMS = 64
_SCOPES = "pkg.torch.onnx.name_scopes"  # written by PyTorch's exporter: the module path as a list


def all_text(names: Iterable[object]) -> None:
    """Raise UnicodeError unless all names are texts: protobuf gives bytes for what is not UTF-8."""
    if not all(type(name) is str for name in names):
        raise UnicodeError("a name is not UTF-8")


def unique_ids(protos: Sequence[Any]) -> list[str]:
    """One id per node: its name where that is given and new, else made so.

    >>> from types import SimpleNamespace as OnnxNode
    >>> unique_ids([OnnxNode(name="a", op_type="Relu"), OnnxNode(name="a", op_type="Relu"),
    ...             OnnxNode(name="", op_type="Add")])
    ['a', 'a#2', 'Add_2']
    """
    names = [proto.name for proto in protos]
    all_text(names)
    taken = set(names)
    used: set[str] = set()
    counts: dict[str, int] = {}
    ids = []
    for place, (proto, name) in enumerate(zip(protos, names, strict=True)):
        base = choice = name or f"{proto.op_type or 'Node'}_{place}"
        while choice in used or (choice in taken and choice != name):
            counts[base] = counts.get(base, 1) + 1
            choice = f"{base}#{counts[base]}"
        used.add(choice)
        ids.append(choice)
    return ids


def scope_of(proto: Any, name: str) -> str:
    """Return the module that a node belongs to, ``layer1.0.bn1`` for example; ``""`` where unknown.

    Exporters put it before the last slash of the name; PyTorch also into the node's metadata.
    """
    scope = name.strip("/").rpartition("/")[0]
    if not scope and proto.metadata_props:
        for entry in proto.metadata_props:
            if entry.key == _SCOPES and isinstance(entry.value, str):
                path = re.findall(r"'([^']*)'", entry.value)
                scope = path[-2] if len(path) > 1 else ""
    return scope if scope.isprintable() else ""


def small_attributes(proto: Any) -> Document:
    """Return the attributes that are numbers, texts or short lists of them.

    Tensors and bodies are left out.
    """
    attributes: Document = {}
    for attribute in proto.attribute:
        kind = attribute.type
        value: object = None
        if kind == 2:
            value = attribute.i
        elif kind == 7:
            value = list(attribute.ints) if len(attribute.ints) <= MAX_ITEMS else None
        elif kind == 1:
            value = attribute.f if math.isfinite(attribute.f) else None
        elif kind == 3:
            value = _text(attribute.s)
        elif kind == 6 and len(attribute.floats) <= MAX_ITEMS:
            value = list(attribute.floats) if all(map(math.isfinite, attribute.floats)) else None
        elif kind == 8 and len(attribute.strings) <= MAX_ITEMS:
            texts = [_text(s) for s in attribute.strings]
            value = None if None in texts else texts
        if value is not None and isinstance(attribute.name, str):
            attributes[attribute.name] = value
    return attributes


def _text(raw: bytes) -> str | None:
    text = raw[: MAX_TEXT + 1].decode("utf-8", "replace")
    return text if len(raw) <= MAX_TEXT and text.isprintable() else None


MAX_DEPTH = 200
Key = tuple[str, str, str]


def _inline_functions(model: Any, filename: str) -> Any:
    """``model`` with every call of a local function replaced by the function's nodes."""
    if not model.functions:
        return model
    from onnx import checker, inliner, shape_inference

    where = f"File {quote(filename)}"
    size = _Sizes(model.functions, where).nodes_size(model.graph.node, 0)
    if size > MAX_OPERATORS:
        raise GraphError(
            f"{where}: its local functions unfold to more than {MAX_OPERATORS} operators; "
            "give a smaller model."
        )
    try:
        return inliner.inline_local_functions(model)
    except (
        checker.ValidationError,
        shape_inference.InferenceError,
        RuntimeError,
        ValueError,
        TypeError,
    ) as error:
        detail = one_line(error, 120)
        raise GraphError(
            f"{where}: its local functions cannot be inlined ({detail}); export without."
        ) from None


class _Sizes:
    """Number of nodes that each function unfolds to, computed once per function."""

    def __init__(self, functions: Iterable[Any], where: str) -> None:
        self._functions: dict[Key, Any] = {(f.domain, f.name, f.overload): f for f in functions}
        self._known: dict[Key, int] = {}
        self._where = where

    def nodes_size(self, nodes: Iterable[Any], depth: int) -> int:
        if depth > MAX_DEPTH:
            raise GraphError(
                f"{self._where}: its local functions call each other in a circle or more than {MAX_DEPTH} "
                "deep; flatten them."
            )
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key not in self._functions:
                total += 1
                continue
            if key not in self._known:
                self._known[key] = self.nodes_size(self._functions[key].node, depth + 1)
            total += self._known[key]
        return total


def parse_model(data: bytes, filename: str) -> Any:
    """Return the protobuf message with its local functions inlined, if it is a model at all."""
    import onnx
    from google.protobuf.message import DecodeError

    where = f"File {quote(filename)}"
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:  # also when memory runs out
        large = " or unfolds to more than the memory limit," if len(data) > 10_000_000 else ""
        raise GraphError(
            f"{where}: it is not an ONNX model,{large} or it was cut short; export or copy it again."
        ) from None
    check_count(len(model.graph.node), MAX_OPERATORS, "operators", filename)
    if not model.graph.node and not model.opset_import and not model.graph.input:
        raise GraphError(f"{where}: it is not an ONNX model; export the model to ONNX.")
    if not model.graph.node:
        raise GraphError(f"{where}: its graph is empty; give a model with at least one operator.")
    if not model.opset_import:
        raise GraphError(f"{where}: it names no operator set, so it is not complete; export it again.")
    model = _inline_functions(model, filename)
    check_count(len(model.graph.node), MAX_OPERATORS, "operators", filename)
    return model


def sorted_nodes(graph: Any, constants: set[str], name: str) -> list[OnnxNode]:
    """Return the nodes in a topological order; ``graph.node`` is put into that order too."""
    nodes = []
    for proto in graph.node:
        inputs = list(proto.input)
        nodes.append(OnnxNode(proto, proto.op_type, inputs, list(proto.output), inputs))
    for node in nodes:
        if node.proto.attribute:
            enter_bodies(node)
        all_text((node.kind, *node.needs, *node.outputs))
    maker: dict[str, int] = {}
    ready = {"", *constants, *(v.name for v in graph.input)}
    all_text(ready)
    sources = set(ready)
    in_order = True
    for place, node in enumerate(nodes):
        in_order = in_order and ready.issuperset(node.needs)
        for output in node.outputs:
            if output in maker or (output and output in sources):
                raise GraphError(f"Graph {quote(name)}: tensor {quote(output)} is made twice; rename one.")
            if output:
                maker[output] = place
                ready.add(output)
    if in_order:
        return nodes
    return _reordered(graph, nodes, maker, sources, name)


def _reordered(
    graph: Any, nodes: Sequence[OnnxNode], maker: Mapping[str, int], sources: set[str], name: str
) -> list[OnnxNode]:
    arcs = []
    for place, node in enumerate(nodes):
        for tensor in node.needs:
            if tensor in maker:
                arcs.append((maker[tensor], place))
            elif tensor not in sources:
                raise GraphError(
                    f"Graph {quote(name)}: operator {quote(node.proto.name or node.kind)} reads "
                    f"{quote(tensor)}, which nothing makes; add its producer or make it an input."
                )
    dag = Dag.from_edges(len(nodes), arcs)
    cycle = find_cycle(dag)
    if cycle:
        raise GraphError(cycle_message(name, [nodes[v].proto.name or nodes[v].kind for v in cycle]))
    order = dag.topological_order()
    protos = [type(nodes[v].proto).FromString(nodes[v].proto.SerializeToString()) for v in order]
    del graph.node[:]
    graph.node.extend(protos)
    result = [nodes[v] for v in order]
    for node, proto in zip(result, graph.node, strict=True):
        node.proto = proto
    return result
