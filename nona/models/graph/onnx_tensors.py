"""Tensors of an ONNX model: types, shapes, constants, and what bodies read from outside."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nona.core.errors import GraphError
from nona.models.graph.registry import Document
from nona.models.graph.text import MAX_RANK, one_line, quote

# onnx.proto, enum TensorProto.DataType: number → (name, bits per element). A string has no size of
# its own; 64 bits, a pointer, is assumed.
DTYPES: dict[int, tuple[str, int]] = {
    1: ("float32", 32),
    2: ("uint8", 8),
    3: ("int8", 8),
    4: ("uint16", 16),
    5: ("int16", 16),
    6: ("int32", 32),
    7: ("int64", 64),
    8: ("string", 64),
    9: ("bool", 8),
    10: ("float16", 16),
    11: ("float64", 64),
    12: ("uint32", 32),
    13: ("uint64", 64),
    14: ("complex64", 64),
    15: ("complex128", 128),
    16: ("bfloat16", 16),
    17: ("float8e4m3fn", 8),
    18: ("float8e4m3fnuz", 8),
    19: ("float8e5m2", 8),
    20: ("float8e5m2fnuz", 8),
    21: ("uint4", 4),
    22: ("int4", 4),
    23: ("float4e2m1", 4),
    24: ("float8e8m0", 8),
    25: ("uint2", 2),
    26: ("int2", 2),
    27: ("float6e2m3", 6),
    28: ("float6e3m2", 6),
}
# Weights are floating-point, or integers of at most 16 bits (quantised). Wider integers, bools
# and strings among the constants are indices, shapes and masks.
WEIGHT_TYPES = frozenset(DTYPES) - {0, 6, 7, 8, 9, 12, 13}

STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})
"""Operator domains that ONNX itself defines."""

TensorType = tuple[int, tuple[int, ...] | None]
"""Element type (number) and shape; ``None`` where the shape is not known."""


def size_bytes(kind: TensorType) -> float:
    """Bytes of a dense tensor: ⌈elements · bits / 8⌉; 0 where type or shape is not known.

    >>> size_bytes((1, (1, 3, 224, 224))), size_bytes((22, (3,))), size_bytes((1, None))
    (602112.0, 2.0, 0.0)
    """
    element, shape = kind
    if shape is None or element not in DTYPES:
        return 0.0
    bits = math.prod(shape) * DTYPES[element][1]
    return float(min(-(-bits // 8), 10**300))


def tensor_data(kind: TensorType) -> Document:
    """Return the bytes, type and shape of a tensor as a document holds them."""
    element, shape = kind
    data: Document = {
        "bytes": size_bytes(kind),
        "dtype": DTYPES[element][0] if element in DTYPES else "unknown",
    }
    if shape is not None:
        data["shape"] = shape
    return data


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
            if attribute.type == _TENSOR and len(value.raw_data) > 16 * KEPT_ELEMENTS:
                value.ClearField("raw_data")
                value.data_location = 1


def tensor_types(model: Any) -> tuple[dict[str, TensorType], dict[str, TensorType], list[str]]:
    """Element type and shape of every tensor by name, the same as the file states them, and warnings.

    Uses ``onnx.shape_inference.infer_shapes`` with data propagation; large weights should have
    been dropped before. Types that the file states are often stale or symbolic: they are for what cannot be
    known, operators that are not ONNX's own and shapes that depend on data.
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
    for tensor in model.graph.initializer:
        types[tensor.name] = _constant_type(tensor)
    for sparse in model.graph.sparse_initializer:
        types[sparse.values.name] = (sparse.values.data_type, tuple(sparse.dims))
    return types, stated, notes


def _set_aside(graph: Any) -> dict[str, TensorType]:
    """Return the types that the file states; they are taken out of ``graph`` where inference finds them."""
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


def _constant_type(tensor: Any) -> TensorType:
    shape = tuple(tensor.dims)
    if len(shape) > MAX_RANK or any(length < 0 for length in shape):
        raise GraphError(
            f"Constant {quote(tensor.name)}: its shape {quote(shape)} is impossible; every length must be "
            f"at least 0, and there may be at most {MAX_RANK}."
        )
    return tensor.data_type, shape


def _collect(values: Iterable[Any], types: dict[str, TensorType]) -> None:
    for value in values:
        kind = tensor_type(value.type)
        if kind[0]:
            types[value.name] = kind
        else:
            types.setdefault(value.name, kind)


def tensor_type(proto: Any) -> TensorType:
    """Element type and shape of an ``onnx.TypeProto``; (0, ``None``) where it is no tensor."""
    tensor = proto.tensor_type
    if tensor.elem_type not in DTYPES:
        return 0, None
    shape: tuple[int, ...] | None = None
    if tensor.HasField("shape"):
        lengths = [d.dim_value for d in tensor.shape.dim]
        # 0 is also what an unknown length reads as, and some exporters write -1
        if all(lengths) or all(d.HasField("dim_value") for d in tensor.shape.dim):
            shape = tuple(lengths) if min(lengths, default=0) >= 0 and len(lengths) <= MAX_RANK else None
    return tensor.elem_type, shape


_WIDTHS = {2: 25, 4: 21, 8: 2}  # bits → unsigned type
_SAME_ELEMENTS = frozenset({"Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"})


def at_stored_width(
    nodes: Sequence[OnnxNode], outputs: Collection[str], types: dict[str, TensorType]
) -> None:
    """Give quantised tensors in ``types`` the element type in which they are stored and moved.

    Runtimes fold ``DequantizeLinear`` into the operators that read its output: these read the quantised
    tensor. ``MatMulNBits`` has its weights packed as bytes: they become K·N numbers of a few bits.
    """
    quantised: set[str] = set()
    for node in nodes:
        if node.kind == "DequantizeLinear" or (
            node.kind in _SAME_ELEMENTS and quantised.intersection(node.inputs[:1])
        ):
            source, target = types.get(node.inputs[0], (0, None)), node.outputs[0]
            if source[0] and target in types and target not in outputs:
                types[target] = source[0], types[target][1]
                quantised.add(target)
        elif node.kind == "MatMulNBits" and len(node.inputs) > 1:
            sizes = {a.name: a.i for a in node.proto.attribute}
            width, shape = _WIDTHS.get(sizes.get("bits", 4)), (sizes.get("N", 0), sizes.get("K", 0))
            if width is not None and min(shape) > 0:
                types[node.inputs[1]] = width, shape


# no inputs, yet not constants
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
_MEASURES = frozenset({"Shape", "Size"})  # read the shape of a weight, not the weight


@dataclass(slots=True)
class OnnxNode:
    """An ONNX node, its names fetched once.

    ``needs`` are all tensors that must exist before it runs: its inputs, and the outer tensors that
    its bodies read. ``owned`` are the constants stored in its bodies, (name, type); ``bodies`` their
    documents, ``turns`` how often one of them runs, see :class:`~nona.models.graph.model.Operator`;
    ``bounded``: they may be fewer.
    """

    proto: Any
    kind: str
    inputs: list[str]
    outputs: list[str]
    needs: Sequence[str]
    owned: tuple[tuple[str, TensorType], ...] = ()
    bodies: tuple[Document, ...] = ()
    turns: int | None = 1
    bounded: bool = False


def split_static(nodes: Sequence[OnnxNode], constants: Collection[str]) -> tuple[set[str], list[OnnxNode]]:
    """Return the static names and the nodes that run.

    A name is static if it is an initialiser or all inputs of its producer are static; a node
    whose outputs are static is folded into parameters. ``nodes`` must be in topological order.
    """
    static = {"", *constants}
    running = []
    for node in nodes:
        if static.issuperset(node.needs) and not _makes_anew(node):
            static.update(node.outputs)
        else:
            running.append(node)
    static.discard("")
    return static, running


def _makes_anew(node: OnnxNode) -> bool:
    if node.kind in _RANDOM:
        return True
    return not node.inputs and node.proto.domain not in STANDARD  # a source of data we do not know


def weights(
    nodes: Iterable[OnnxNode],
    running: Iterable[OnnxNode],
    static: Collection[str],
    outputs: Iterable[str],
    types: Mapping[str, TensorType],
) -> set[str]:
    """Return the stored weights that reach an operator that runs, or an output of the graph.

    A weight behind ``Transpose``, ``Cast`` or ``Reshape`` is the stored one, counted once. Stored
    are initialisers, ``Constant`` and ``ConstantOfShape``; the last stands for a weight in graphs
    that were stripped of theirs.
    """
    maker = {name: node for node in nodes for name in node.outputs if name in static}
    todo = {name for node in running for name in _weighed(node) if name in static}
    todo |= {name for name in outputs if name in static}
    stack = sorted(todo)
    stored: set[str] = set()
    while stack:
        name = stack.pop()
        node = maker.get(name)
        if node is None or node.kind in ("Constant", "ConstantOfShape"):
            if types.get(name, (0, None))[0] in WEIGHT_TYPES:
                stored.add(name)
        elif node.kind not in _MEASURES:
            new = {n for n in _weighed(node) if n and n not in todo}
            todo |= new
            stack.extend(sorted(new))
    return stored


_CHOOSING = frozenset({"And", "Or", "Xor", "Not", "Equal"})


def _weighed(node: OnnxNode) -> Sequence[str]:
    """Return the inputs of a node that may be weights: a mask only chooses among numbers."""
    return node.needs[1:] if node.kind == "Where" else () if node.kind in _CHOOSING else node.needs


_TENSOR, _GRAPH, _GRAPHS = 4, 5, 10  # AttributeProto.AttributeType


def bodies_of(proto: Any) -> list[Any]:
    """Return the graphs among the attributes of a node."""
    graphs = []
    for attribute in proto.attribute:
        if attribute.type == _GRAPH:
            graphs.append(attribute.g)
        elif attribute.type == _GRAPHS:
            graphs.extend(attribute.graphs)
    return graphs


def enter_bodies(node: OnnxNode) -> None:
    """Note in ``node`` what its bodies read from outside, and own."""
    graphs = bodies_of(node.proto)
    if graphs:
        captured = dict.fromkeys(name for graph in graphs for name in read_outside(graph))
        node.needs = [*node.inputs, *(name for name in captured if name not in node.inputs)]
        node.owned = tuple(row for graph in graphs for row in _stored(graph))


def read_outside(graph: Any) -> Iterator[str]:
    """Names that the body reads and does not make itself, nested bodies included."""
    inner_names = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    inner_names |= {s.values.name for s in graph.sparse_initializer} | {""}
    for proto in graph.node:
        inner = [name for body in bodies_of(proto) for name in read_outside(body)]
        yield from (name for name in (*proto.input, *inner) if name not in inner_names)
        inner_names.update(proto.output)
    yield from (v.name for v in graph.output if v.name not in inner_names)


def _stored(graph: Any) -> Iterator[tuple[str, TensorType]]:
    for tensor in graph.initializer:
        if tensor.data_type in WEIGHT_TYPES:
            yield tensor.name, _constant_type(tensor)
    for proto in graph.node:
        for body in bodies_of(proto):
            yield from _stored(body)
        for attribute in proto.attribute if proto.op_type == "Constant" else ():
            if attribute.type == _TENSOR and attribute.t.data_type in WEIGHT_TYPES and proto.output:
                yield proto.output[0], _constant_type(attribute.t)
