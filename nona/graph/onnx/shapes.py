"""Types and shapes of every tensor of an ONNX model, by ONNX's own shape inference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nona.errors import GraphError
from nona.graph.limits import MAX_RANK
from nona.graph.onnx.types import DTYPES, STANDARD, TensorType
from nona.graph.text import one_line, quote

KEPT_ELEMENTS = 1024
"""Constants up to this many elements keep their values: shapes, axes and repeats are among them."""


def drop_weights(graph: Any) -> None:
    """Forget the values of large initialisers, in place: only types and shapes are needed.

    They are marked as external data, which nothing here follows. Shape inference copies the
    model several times, so this saves most of the time and memory of a file with weights.
    """
    for tensor in graph.initializer:
        if math.prod(tensor.dims) > KEPT_ELEMENTS and tensor.data_location != 1:
            for field in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                tensor.ClearField(field)
            tensor.data_location = 1  # TensorProto.EXTERNAL
    for node in graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else ():
            value = attribute.t
            if attribute.type == 4 and len(value.raw_data) > 16 * KEPT_ELEMENTS:
                value.ClearField("raw_data")
                value.data_location = 1


def tensor_types(model: Any) -> tuple[dict[str, TensorType], list[str]]:
    """Element type and shape of every tensor by name, and warnings.

    Uses ``onnx.shape_inference.infer_shapes`` with data propagation; large weights should have
    been dropped before. Types that the file states are often stale or symbolic, so they count only
    for what inference cannot know: operators that are not ONNX's own, and data-dependent shapes.

    Raises
    ------
    GraphError
        For a constant with a negative length, or more than 64 dimensions.
    """
    from onnx import shape_inference

    notes = []
    stated = _set_aside(model.graph)
    domains = {node.domain for node in model.graph.node} - {o.domain for o in model.opset_import}
    for domain in sorted(domains - STANDARD):
        model.opset_import.add(domain=domain, version=1)  # without it, inference refuses the whole file
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True).graph
    except (shape_inference.InferenceError, RuntimeError, ValueError, TypeError) as error:
        notes.append(f"ONNX shape inference gave up, shapes are those in the file: {one_line(error, 160)}")
        inferred = model.graph
    types: dict[str, TensorType] = {}
    for values in (inferred.value_info, inferred.output, inferred.input):
        _collect(values, types)
    for name, kind in stated.items():
        if types.get(name, (0, None))[1] is None and kind[1] is not None:
            types[name] = kind
    for tensor in model.graph.initializer:
        types[tensor.name] = constant_type(tensor)
    for sparse in model.graph.sparse_initializer:
        types[sparse.values.name] = (sparse.values.data_type, tuple(sparse.dims))
    return types, notes


def _set_aside(graph: Any) -> dict[str, TensorType]:
    """The types that the file states; they are taken out of ``graph`` where inference finds them."""
    stated: dict[str, TensorType] = {}
    _collect(graph.value_info, stated)
    _collect(graph.output, stated)
    foreign = {t for node in graph.node if node.domain not in STANDARD for t in node.output}
    kept = [v.SerializeToString() for v in graph.value_info if v.name in foreign]
    del graph.value_info[:]
    for raw in kept:
        graph.value_info.add().ParseFromString(raw)
    for value in graph.output:
        if value.name not in foreign and value.type.WhichOneof("value") == "tensor_type":
            value.type.tensor_type.ClearField("shape")
    return stated


def constant_type(tensor: Any) -> TensorType:
    """Type and shape of a stored constant (an ``onnx.TensorProto``)."""
    shape = tuple(tensor.dims)
    if len(shape) > MAX_RANK or any(length < 0 for length in shape):
        raise GraphError(
            f"Constant {quote(tensor.name)}: its shape {quote(shape)} is impossible; every length must be "
            f"at least 0, and there may be at most {MAX_RANK}."
        )
    return tensor.data_type, shape


def _collect(values: Iterable[Any], types: dict[str, TensorType]) -> None:
    for value in values:
        tensor = value.type.tensor_type
        element = tensor.elem_type
        if element not in DTYPES:
            types.setdefault(value.name, (0, None))
            continue
        shape: tuple[int, ...] | None = None
        if tensor.HasField("shape"):
            lengths = [d.dim_value for d in tensor.shape.dim]
            # 0 is also what an unknown length reads as, and some exporters write -1
            if all(lengths) or all(d.HasField("dim_value") for d in tensor.shape.dim):
                shape = tuple(lengths) if min(lengths, default=0) >= 0 and len(lengths) <= MAX_RANK else None
        types[value.name] = (element, shape)
