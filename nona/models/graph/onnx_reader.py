"""ONNX → node-link document: operators that run, their tensors, their bound dimensions.

Source of the format: the ONNX specification (onnx.proto, IR version 3 to 13). Weights need not be
there: only their types and shapes count, and external data is never opened.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from nona.core.errors import GraphError
from nona.models.graph import onnx_tensors
from nona.models.graph.model import MAX_DIMENSION, MissingDimensions
from nona.models.graph.node_link import MAX_BODIES_DEEP
from nona.models.graph.onnx_bodies import BodyReader
from nona.models.graph.onnx_bodies import warnings as control_warnings
from nona.models.graph.onnx_model import (
    all_text,
    parse_model,
    scope_of,
    small_attributes,
    sorted_nodes,
    unique_ids,
)
from nona.models.graph.onnx_shapes import complete
from nona.models.graph.registry import Document
from nona.models.graph.text import one_line, quote

# exporters write sums and products of other dimensions, for example "past + 1" and "2*s0"
_EXPRESSION = re.compile(r"\s*(?:[A-Za-z_]\w*|\d+)(?:(?: [-+] | ?\* ?| ?// ?)(?:[A-Za-z_]\w*|\d+)){1,8}\s*")
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(text: str, symbols: Mapping[str, int]) -> tuple[int | None, tuple[str, ...]]:
    """Return the value of a symbolic dimension, or the names it still needs.

    >>> evaluate("past + 1", {"past": 7}), evaluate("past + 1", {}), evaluate("batch-size", {})
    ((8, ()), (None, ('past',)), (None, ('batch-size',)))
    """
    if text in symbols:
        return symbols[text], ()
    if not _EXPRESSION.fullmatch(text):
        return None, (text,)
    tree = ast.parse(text.strip(), mode="eval").body
    missing = tuple(
        dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in symbols)
    )
    return (None, missing) if missing else (_value(tree, symbols), ())


def _value(node: ast.expr, symbols: Mapping[str, int]) -> int:
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, symbols), _value(node.right, symbols)
        if isinstance(node.op, ast.FloorDiv) and right == 0:
            raise GraphError("Dimension: division by 0; correct the numbers given for the dimensions.")
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        return symbols[node.id]
    return int(ast.literal_eval(node))


def _bind_dimensions(model: Any, symbols: Mapping[str, int], name: str) -> tuple[dict[str, int], list[str]]:
    """Write numbers into the symbolic dimensions of ``model`` (an ``onnx.ModelProto``), in place.

    Only the graph's inputs are asked about: everything else follows from them. An unnamed dimension
    of an input is called ``input[axis]``.

    Returns the symbols that the model has, with their numbers, and warnings.
    """
    graph = model.graph
    constants = {t.name for t in graph.initializer}
    used: dict[str, int] = {}
    missing: dict[str, None] = {}
    for value in graph.input:
        if value.name in constants:
            continue  # IR version 3 and older list the initialisers here too
        for axis, dim in enumerate(_dims(value)):
            if dim.dim_value > 0 or (dim.HasField("dim_value") and dim.dim_value == 0 and axis > 0):
                continue  # a batch of 0 is an exporter's word for one that is not known
            all_text((dim.dim_param, value.name))
            label = dim.dim_param if dim.dim_param not in _NAMELESS else f"{value.name}[{axis}]"
            number, need = evaluate(label, symbols)
            missing.update(dict.fromkeys(one_line(n, 100) for n in need))
            if number is not None:
                _set(dim, number, label)
                used |= {k: v for k, v in symbols.items() if k == label or k in re.findall(r"\w+", label)}
    if missing:
        raise MissingDimensions.from_names(name, tuple(missing))
    changed = _bind_inner(graph, symbols)
    notes = []
    extra = sorted(set(symbols) - set(used) - changed)
    if extra:
        notes.append(f"The model has no dimension called {', '.join(map(quote, extra[:8]))}; ignored.")
    return used, notes


# What exporters write for every dimension that has no name: one such word stands for different numbers.
_NAMELESS = frozenset({"", "?", "*", "-1", "None", "none", "unk", "unknown", "dynamic", "Dynamic"})


def _dims(value: Any) -> Iterator[Any]:
    tensor = value.type.tensor_type
    if value.type.WhichOneof("value") == "tensor_type" and tensor.HasField("shape"):
        yield from tensor.shape.dim


def _set(dim: Any, number: int, label: str) -> None:
    if not 0 <= number <= MAX_DIMENSION:
        raise GraphError(
            f"Dimension {quote(label)}: it would be {quote(number)}, but must be from 0 to {MAX_DIMENSION}; "
            "give other numbers."
        )
    dim.dim_value = number


def _bind_inner(graph: Any, symbols: Mapping[str, int]) -> set[str]:
    """Bind what can be bound in the types of outputs and inner tensors; the names that occurred."""
    bound: set[str] = set()
    for values in (graph.value_info, graph.output):
        for value in values:
            for dim in _dims(value):
                if not dim.dim_param or not isinstance(dim.dim_param, str):
                    continue
                number, _ = evaluate(dim.dim_param, symbols)
                if number is not None and 0 <= number <= MAX_DIMENSION:
                    bound |= {dim.dim_param, *re.findall(r"\w+", dim.dim_param)}
                    dim.dim_value = number
    return bound


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """Return the graph in an ONNX file.

    Nodes that depend on constants only are parameters; a tensor with many consumers is one
    tensor; outputs without a reader are left out; local functions are inlined; symbolic
    dimensions take the numbers in ``symbols``.
    """
    name = PurePath(filename).stem or "model"
    where = f"File {quote(filename)}"
    try:
        model = parse_model(data, filename)
        bound, notes = _bind_dimensions(model, symbols or {}, name)
        document, _ = _read(model, name, bound, notes)
    except UnicodeError:
        raise GraphError(f"{where}: a name in it is not UTF-8; export the model again.") from None
    if document is None:
        raise GraphError(
            f"Graph {quote(name)}: all its operators depend on constants only, nothing runs; "
            "give a model that reads its input."
        )
    return document


def _read(
    model: Any, name: str, bound: Mapping[str, int], notes: list[str], depth: int = 0
) -> tuple[Document | None, dict[str, onnx_tensors.TensorType]]:
    """Return the document of a model, ``None`` where nothing runs, and the types of its tensors."""
    if depth > MAX_BODIES_DEEP:
        raise GraphError(
            f"Graph {quote(name)}: control flow is more than {MAX_BODIES_DEEP} deep; flatten it."
        )
    onnx_tensors.drop_weights(model.graph)
    constants = {t.name for t in model.graph.initializer}
    constants |= {s.values.name for s in model.graph.sparse_initializer}
    nodes = sorted_nodes(model.graph, constants, name)
    types, stated, more = onnx_tensors.tensor_types(model)
    static, running = onnx_tensors.split_static(nodes, constants)
    within = BodyReader(model, types, static, lambda body: _read(body, name, {}, [], depth + 1))
    complete(model, nodes, types, stated, within.enter)
    onnx_tensors.at_stored_width(nodes, {v.name for v in model.graph.output}, types)
    if not running:
        return None, types
    notes += more + control_warnings(running)
    return _document(model.graph, name, nodes, (static, running), types, bound, notes), types


def _document(
    graph: Any,
    name: str,
    nodes: Sequence[onnx_tensors.OnnxNode],
    parted: tuple[set[str], Sequence[onnx_tensors.OnnxNode]],
    types: dict[str, onnx_tensors.TensorType],
    bound: Mapping[str, int],
    notes: list[str],
) -> Document:
    """Return the document of a graph whose nodes are ``parted`` into static names and those that run."""
    static, running = parted
    outputs = [v.name for v in graph.output]
    all_text(outputs)
    stored = onnx_tensors.weights(nodes, running, static, outputs, types)
    ids = unique_ids([n.proto for n in running])
    owned = {f"{own}/{t}": k for n, own in zip(running, ids, strict=True) for t, k in n.owned}
    types = types | owned
    stored |= owned.keys()
    rows = _operator_documents(running, ids, outputs)
    links = _links(running, ids)
    named = {t for row in rows for t in (*row["inputs"], *row["outputs"]) if t}
    tensors = _tensors(named | stored, types)
    meta = {
        "name": name,
        "format": "onnx",
        "tensors": tensors,
        "parameters": sorted(stored),
        "static": sorted((static & tensors.keys()) | stored),
        "symbols": dict(bound),
        "warnings": notes + _unknown_sizes(running, types),
    }
    return {"directed": True, "graph": meta, "nodes": rows, "edges": links}


def _tensors(names: Iterable[str], types: Mapping[str, onnx_tensors.TensorType]) -> dict[str, Document]:
    """Tensors by name; those of one type share their data."""
    kinds = {t: types.get(t, (0, None)) for t in sorted(names)}
    data = {kind: onnx_tensors.tensor_data(kind) for kind in set(kinds.values())}
    return {t: data[kind] for t, kind in kinds.items()}


def _operator_documents(
    running: Sequence[onnx_tensors.OnnxNode], ids: Sequence[str], outputs: Sequence[str]
) -> list[Document]:
    """Return the operators. An output without a reader is named "" unless it is the first."""
    read = {tensor for node in running for tensor in node.needs}
    read.update(outputs)
    rows = []
    for node, own in zip(running, ids, strict=True):
        outputs_of = node.outputs
        if len(outputs_of) > 1:
            outputs_of = [t if i == 0 or t in read else "" for i, t in enumerate(outputs_of)]
        row: Document = {
            "id": own,
            "kind": node.kind or "Unknown",
            "inputs": [*node.needs, *(f"{own}/{t}" for t, _ in node.owned)] if node.owned else node.needs,
            "outputs": outputs_of,
        }
        if node.proto.attribute:
            row["attributes"] = small_attributes(node.proto)
        if node.bodies or node.turns == 0:
            row |= {"bodies": node.bodies, "turns": node.turns}
        scope = scope_of(node.proto, own)
        if scope:
            row["scope"] = scope
        rows.append(row)
    return rows


def _links(running: Sequence[onnx_tensors.OnnxNode], ids: Sequence[str]) -> list[Document]:
    """One edge per (producer, consumer, tensor); its bytes are those of the tensor."""
    maker = {tensor: own for node, own in zip(running, ids, strict=True) for tensor in node.outputs}
    maker.pop("", None)
    return [
        {"source": maker[tensor], "target": own, "tensor": tensor}
        for node, own in zip(running, ids, strict=True)
        for tensor in dict.fromkeys(node.needs)
        if tensor in maker
    ]


def _unknown_sizes(
    running: Sequence[onnx_tensors.OnnxNode], types: Mapping[str, onnx_tensors.TensorType]
) -> list[str]:
    """One line on the tensors between operators whose shape is not known."""
    read = {t for node in running for t in node.needs}
    kinds: dict[str, int] = {}
    for node in running:
        for tensor in node.outputs:
            if tensor in read and types.get(tensor, (0, None))[1] is None:
                kinds[node.kind] = kinds.get(node.kind, 0) + 1
    if not kinds:
        return []
    rows = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    listed = ", ".join(f"{quote(k, 30)} ×{n}" for k, n in rows[:8])
    count = sum(kinds.values())
    return [f"The shapes of {count} tensors are not known and count as 0 bytes; they are made by {listed}."]
