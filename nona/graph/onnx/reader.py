"""ONNX → node-link document: operators that run, the tensors between them, the weights they read.

Source of the format: the ONNX specification (onnx.proto, IR version 3 to 13). Weights need not be
there: only their types and shapes count, and external data is never opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from nona.errors import GraphError
from nona.graph.onnx.bodies import warning
from nona.graph.onnx.dims import bind_dimensions
from nona.graph.onnx.model import parse_model, sorted_nodes
from nona.graph.onnx.names import all_text, scope_of, small_attributes, unique_ids
from nona.graph.onnx.shapes import drop_weights, tensor_types
from nona.graph.onnx.static import Node, split_static, weights
from nona.graph.onnx.types import TensorType, tensor_data
from nona.graph.registry import Document
from nona.graph.text import quote

_CONTROL = frozenset({"If", "Loop", "Scan", "SequenceMap"})


def read_document(data: bytes, filename: str, symbols: Mapping[str, int] | None = None) -> Document:
    """The graph in an ONNX file.

    Nodes that depend on constants only are parameters; a tensor with many consumers is one
    tensor; outputs that nobody reads are left out; local functions are inlined; symbolic
    dimensions take the numbers in ``symbols``.

    Raises
    ------
    MissingDimensions
        When an input has a symbolic dimension that ``symbols`` does not give.
    GraphError
        When the file is not an ONNX model, or its graph is not a directed acyclic graph.
    """
    name = PurePath(filename).stem or "model"
    where = f"File {quote(filename)}"
    try:
        model = parse_model(data, filename)
        bound, notes = bind_dimensions(model, symbols or {}, name)
        drop_weights(model.graph)
        constants = {t.name for t in model.graph.initializer}
        constants |= {s.values.name for s in model.graph.sparse_initializer}
        nodes = sorted_nodes(model.graph, constants, name)
        types, more = tensor_types(model)
        return _document(model.graph, name, nodes, constants, types, bound, notes + more)
    except UnicodeError:
        raise GraphError(f"{where}: a name in it is not UTF-8; export the model again.") from None


def _document(
    graph: Any,
    name: str,
    nodes: Sequence[Node],
    constants: set[str],
    types: dict[str, TensorType],
    bound: Mapping[str, int],
    notes: list[str],
) -> Document:
    static, running = split_static(nodes, constants)
    if not running:
        raise GraphError(
            f"Graph {quote(name)}: all its operators depend on constants only, nothing runs; "
            "give a model that reads its input."
        )
    outputs = [v.name for v in graph.output]
    all_text(outputs)
    stored = weights(nodes, running, static, outputs, types)
    ids = unique_ids([n.proto for n in running])
    owned = {f"{own}/{t}": k for n, own in zip(running, ids, strict=True) for t, k in n.owned}
    types |= owned
    stored |= owned.keys()
    rows = _rows(running, ids, outputs)
    links = _links(running, ids)
    named = {t for row in rows for t in (*row["inputs"], *row["outputs"]) if t}
    tensors = _tensors(named | stored, types)
    controls = [n for n in running if n.kind in _CONTROL]
    meta = {
        "name": name,
        "format": "onnx",
        "tensors": tensors,
        "parameters": sorted(stored),
        "static": sorted((static & tensors.keys()) | stored),
        "symbols": dict(bound),
        "warnings": notes + ([warning(controls)] if controls else []) + _unknown_sizes(running, types),
    }
    return {"directed": True, "graph": meta, "nodes": rows, "edges": links}


def _tensors(names: Iterable[str], types: Mapping[str, TensorType]) -> dict[str, Document]:
    """Tensors by name; those of one type share their data."""
    kinds = {t: types.get(t, (0, None)) for t in sorted(names)}
    data = {kind: tensor_data(kind) for kind in set(kinds.values())}
    return {t: data[kind] for t, kind in kinds.items()}


def _rows(running: Sequence[Node], ids: Sequence[str], outputs: Sequence[str]) -> list[Document]:
    """Operators. An output that nobody reads is named "" unless it is the first."""
    read = {tensor for node in running for tensor in node.needs}
    read.update(outputs)
    rows = []
    for node, own in zip(running, ids, strict=True):
        made = node.outputs
        if len(made) > 1:
            made = [t if i == 0 or t in read else "" for i, t in enumerate(made)]
        row: Document = {
            "id": own,
            "kind": node.kind or "Unknown",
            "inputs": [*node.needs, *(f"{own}/{t}" for t, _ in node.owned)] if node.owned else node.needs,
            "outputs": made,
        }
        if node.proto.attribute:
            row["attributes"] = small_attributes(node.proto)
        scope = scope_of(node.proto, own)
        if scope:
            row["scope"] = scope
        rows.append(row)
    return rows


def _links(running: Sequence[Node], ids: Sequence[str]) -> list[Document]:
    """One edge per (producer, consumer, tensor); its bytes are those of the tensor."""
    maker = {tensor: own for node, own in zip(running, ids, strict=True) for tensor in node.outputs}
    maker.pop("", None)
    return [
        {"source": maker[tensor], "target": own, "tensor": tensor}
        for node, own in zip(running, ids, strict=True)
        for tensor in dict.fromkeys(node.needs)
        if tensor in maker
    ]


def _unknown_sizes(running: Sequence[Node], types: Mapping[str, TensorType]) -> list[str]:
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
