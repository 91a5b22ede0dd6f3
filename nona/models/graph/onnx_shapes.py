"""Shapes that ONNX's inference of a whole graph leaves open, found node by node.

Exporters compute shapes in the graph: ``x.view(x.size(0), -1)`` is four operators. With all inputs bound
these are small integer programs. They are run here by ONNX's reference implementation, on tensors of at most
:data:`KEPT_ELEMENTS` elements, and the inference of each node is asked again with their values. Operators
that ONNX Runtime adds have no inference there; their rules are at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from nona.models.graph.onnx_tensors import (
    KEPT_ELEMENTS,
    STANDARD,
    OnnxNode,
    TensorType,
    bodies_of,
    tensor_type,
)
from nona.models.graph.text import MAX_RANK

# What the reference implementation and the inference raise for what they cannot do, or for hostile input.
FAILS = (
    RuntimeError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    AttributeError,
    ArithmeticError,
    MemoryError,
)
RUN_BY_VALUE = frozenset(
    (
        *("Shape", "Size", "Constant", "ConstantOfShape", "Gather", "GatherElements", "GatherND", "Slice"),
        *(
            "Concat",
            "Unsqueeze",
            "Squeeze",
            "Div",
            "Mul",
            "Add",
            "Sub",
            "Neg",
            "Abs",
            "Floor",
            "Ceil",
            "Round",
        ),
        *("Mod", "Min", "Max", "Pow", "Sqrt", "Sign", "Sum", "ReduceProd", "ReduceSum", "ReduceMax"),
        *("ReduceMin", "Where", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "And"),
        *("Or", "Range", "Expand", "Tile", "Reshape", "Flatten", "Transpose", "Cast", "CastLike", "Identity"),
        *("Split", "ScatterElements", "ScatterND", "NonZero", "ArgMax", "CumSum"),
    )
)


Enter = Callable[[OnnxNode, Callable[[str], Any]], Mapping[str, TensorType]]


def complete(
    model: Any,
    nodes: Sequence[OnnxNode],
    types: dict[str, TensorType],
    stated: Mapping[str, TensorType],
    enter: Enter,
) -> None:
    """Enter into ``types`` the shapes that can be found by values; ``stated`` by the file where not.

    ``nodes`` are those of ``model`` (an ``onnx.ModelProto``), in topological order. ``enter`` reads a
    node's bodies, given the known values, and returns the types of its outputs.
    """
    if not any(_is_open(types, name) or bodies_of(node.proto) for node in nodes for name in node.outputs):
        return
    completion = _Pass(model, types)
    for node in nodes:
        if bodies_of(node.proto):
            completion.enter(enter(node, completion.value))
        if any(_is_open(types, name) for name in node.outputs):
            completion.infer(node)
            for name in node.outputs:
                if _is_open(types, name) and stated.get(name, (0, None))[1] is not None:
                    types[name] = stated[name]
        if node.kind in RUN_BY_VALUE and node.proto.domain in STANDARD:
            completion.run(node)


def _is_open(types: Mapping[str, TensorType], name: str) -> bool:
    return name != "" and types.get(name, (0, None))[1] is None


class _Pass:
    def __init__(self, model: Any, types: dict[str, TensorType]) -> None:
        self._types, self._opsets = types, list(model.opset_import)
        self._versions = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in self._opsets}
        self._stored = {t.name: t for t in model.graph.initializer}
        self._values: dict[str, Any] = {}

    def infer(self, node: OnnxNode) -> None:
        schema = self._schema(node.proto)
        if schema is not None:
            types = {name: self._types[name] for name in node.needs if self._types.get(name, (0, None))[0]}
            values = {name: v for name in node.needs if (v := self.value(name)) is not None}
            self.enter(_inferred(schema, node.proto, types, values, self._opsets))
        elif (rule := _RULES.get(node.kind)) is not None:
            try:
                shapes = rule(RuleInput(node.proto, self._types))
            except (*FAILS, _UnknownShapeError):
                return
            place = _TYPED_BY.get(node.kind, 0)
            named = node.inputs[place] if place < len(node.inputs) else ""
            element = self._types.get(named, (0, None))[0] or 1  # without a zero point: float32
            self.enter({name: (element, shape) for name, shape in zip(node.outputs, shapes, strict=False)})

    def enter(self, types: Mapping[str, TensorType]) -> None:
        """Take types where there are none yet."""
        for name, (element, shape) in types.items():
            if name and _is_open(self._types, name) and shape is not None and len(shape) <= MAX_RANK:
                self._types[name] = self._types.get(name, (0, None))[0] or element, shape

    def _schema(self, proto: Any) -> Any:
        """ONNX's own definition of a node; runtimes write operators under its name that it lacks."""
        from onnx import defs

        if proto.domain not in STANDARD:
            return None
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        newest = defs.onnx_opset_version()
        version = self._versions.get(domain, self._versions.get("", newest))
        try:
            return defs.get_schema(proto.op_type, min(version, newest), domain)
        except defs.SchemaError:
            return None

    def run(self, node: OnnxNode) -> None:
        """Compute the values of a node's outputs where those of its inputs are known and few."""
        from onnx import helper
        from onnx.reference import ReferenceEvaluator

        if node.kind in ("Shape", "Size"):
            shape = self._types.get(node.inputs[0], (0, None))[1] if node.inputs else None
            if shape is None:
                return
            feeds = {node.inputs[0]: np.broadcast_to(np.int8(0), shape)}  # takes no memory
        else:
            feeds = {name: value for name in node.inputs if (value := self.value(name)) is not None}
            if len(feeds) < len({name for name in node.inputs if name}):
                return
        if node.kind != "NonZero" and not all(self._is_small(name) for name in node.outputs if name):
            return
        inputs, outputs = (
            [helper.make_tensor_value_info(n, 0, None) for n in names if n] for names in (feeds, node.outputs)
        )
        graph = helper.make_graph([node.proto], "node", inputs, outputs)
        model = helper.make_model(graph, opset_imports=self._opsets)
        try:
            with np.errstate(all="ignore"):
                results = ReferenceEvaluator(model).run(None, feeds)
        except FAILS:
            return
        for name, value in zip((n for n in node.outputs if n), results, strict=False):
            if isinstance(value, np.ndarray | np.generic) and np.size(value) <= KEPT_ELEMENTS:
                self._values[name] = np.asarray(value)
                self.enter({name: (0, np.shape(value))})

    def _is_small(self, name: str) -> bool:
        shape = self._types.get(name, (0, None))[1]
        return shape is not None and math.prod(shape) <= KEPT_ELEMENTS

    def value(self, name: str) -> Any:
        from onnx import numpy_helper

        if name not in self._values and name in self._stored:
            tensor = self._stored[name]
            small = math.prod(tensor.dims) <= KEPT_ELEMENTS and tensor.data_location != 1
            try:
                self._values[name] = numpy_helper.to_array(tensor) if small else None
            except FAILS:
                self._values[name] = None
        return self._values.get(name)


def _inferred(
    schema: Any,
    proto: Any,
    types: Mapping[str, TensorType],
    values: Mapping[str, Any],
    opsets: list[Any] | None = None,
) -> dict[str, TensorType]:
    """Return the types of the outputs by ONNX's inference; empty where it refuses."""
    from onnx import checker, helper, numpy_helper, shape_inference

    try:
        outputs = shape_inference.infer_node_outputs(
            schema,
            proto,
            {name: helper.make_tensor_type_proto(*kind) for name, kind in types.items()},
            {name: numpy_helper.from_array(value) for name, value in values.items()},
            opset_imports=opsets,
        )
    except (*FAILS, shape_inference.InferenceError, checker.ValidationError):
        return {}
    return {name: tensor_type(kind) for name, kind in outputs.items()}


Shape = tuple[int, ...]


class _UnknownShapeError(Exception):
    """A rule asked for a shape that is not known."""


class RuleInput:
    """A node as a rule sees it: shapes of its inputs, its attributes."""

    def __init__(self, proto: Any, types: Mapping[str, TensorType]) -> None:
        self._proto, self._types = proto, types

    def has(self, place: int) -> bool:
        """Return whether the node has the optional input."""
        return place < len(self._proto.input) and self._proto.input[place] != ""

    def shape(self, place: int = 0) -> Shape:
        """Return the shape of an input."""
        shape = self._types.get(self._proto.input[place], (0, None))[1] if self.has(place) else None
        if shape is None:
            raise _UnknownShapeError
        return shape

    def number(self, name: str, default: int = 0) -> int:
        """Return an attribute that is a whole number; ``default`` where it is not given."""
        return next((a.i for a in self._proto.attribute if a.name == name), default)

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return an attribute that is a list of whole numbers; empty where it is not given."""
        return next((tuple(a.ints) for a in self._proto.attribute if a.name == name), ())

    def infer_as(self, kind: str, *places: int, last: bool = False) -> Shape:
        """Return the first output's shape if ONNX's operator ``kind`` had these inputs, in float32.

        ``last``: the channels of the first input and of the output are the last axis.
        """
        from onnx import defs, helper

        shapes = [self.shape(place) for place in places if self.has(place)]
        if last:
            shapes[0] = _channels_second(shapes[0])
        names, schema = [f"input{place}" for place in range(len(shapes))], defs.get_schema(kind)
        node = helper.make_node(kind, names, ["output"])
        node.attribute.extend(a for a in self._proto.attribute if a.name in schema.attributes)
        types = {name: (1, shape) for name, shape in zip(names, shapes, strict=True)}
        shape = _inferred(schema, node, types, {}).get("output", (0, None))[1]
        if shape is None:
            raise _UnknownShapeError
        return (shape[0], *shape[2:], shape[1]) if last else shape


def _channels_second(shape: Shape) -> Shape:
    return (shape[0], shape[-1], *shape[1:-1])


Rule = Callable[[RuleInput], Sequence[Shape | None]]


def _same(node: RuleInput) -> list[Shape | None]:
    return [node.shape()]


def _like(kind: str, *places: int) -> Rule:
    return lambda node: [node.infer_as(kind, *places)]


def _broadcast(*places: int) -> Rule:
    return lambda node: [np.broadcast_shapes(*(node.shape(p) for p in places))]


def _fused_matmul(node: RuleInput) -> list[Shape | None]:
    left, right = (
        (*shape[1:-1], shape[0], shape[-1]) if node.number(f"transBatch{side}") else shape
        for side, shape in zip("AB", (node.shape(0), node.shape(1)), strict=True)
    )
    rows = left[-1] if node.number("transA") else left[-2]
    columns = right[-2] if node.number("transB") else right[-1]
    return [(*np.broadcast_shapes(left[:-2], right[:-2]), rows, columns)]


def _packed_matmul(node: RuleInput) -> list[Shape | None]:
    return [(*node.shape()[:-1], node.number("N"))]


def _skip_normalised(node: RuleInput) -> list[Shape | None]:
    return [node.shape(), None, None, node.shape()]


def _embedded(node: RuleInput) -> list[Shape | None]:
    (batch, length), width = node.shape(0), node.shape(2)[-1]
    return [(batch, length, width), (batch,), (batch, length, width)]


def _joined(node: RuleInput, first: int = 2, step: int = 3) -> list[Shape | None]:
    """QLinearConcat: scale and zero point of the output, then each input with its own."""
    places = [p for p in range(first, 10_000, step) if node.has(p)]
    shapes = [node.shape(p) for p in places]
    axis = node.number("axis") % len(shapes[0])
    return [(*shapes[0][:axis], sum(s[axis] for s in shapes), *shapes[0][axis + 1 :])]


def _pooled(node: RuleInput) -> list[Shape | None]:
    if not node.number("channels_last"):
        return [node.infer_as("GlobalAveragePool", 0)]
    shape = node.shape()
    return [(shape[0], *[1] * (len(shape) - 2), shape[-1])]


def _projected_attention(past: int) -> Rule:
    """Return the input meets the weights of Q, K and V; the cache grows by its tokens."""

    def rule(node: RuleInput) -> list[Shape | None]:
        batch, length, _ = node.shape()
        widths = node.numbers("qkv_hidden_sizes")
        width = widths[2] if len(widths) == 3 else node.shape(1)[-1] // 3
        heads, before = max(node.number("num_heads", 1), 1), node.shape(past)[3] if node.has(past) else 0
        return [(batch, length, width), (2, batch, heads, before + length, width // heads)]

    return rule


def _multi_head_attention(node: RuleInput) -> list[Shape | None]:
    query, heads = node.shape(), max(node.number("num_heads", 1), 1)
    if len(query) == 5:  # Q, K and V packed: (batch, length, heads, 3, size)
        batch, length, _, _, size = query
        return [(batch, length, heads * size), (batch, heads, length, size), (batch, heads, length, size)]
    batch, length, width = query
    keys, values = node.shape(1), node.shape(2) if node.has(2) else None
    if values is None:  # K and V packed: (batch, length, heads, 2, size)
        values = (batch, heads, keys[1], keys[-1])
    size = values[-1] if len(values) == 4 else values[-1] // heads
    before = node.shape(6)[2] if node.has(6) else 0
    cache = (batch, heads, before + (values[2] if len(values) == 4 else values[1]))
    return [(batch, length, heads * size), (*cache, width // heads), (*cache, size)]


def _group_query_attention(node: RuleInput) -> list[Shape | None]:
    batch, length, width = node.shape()
    heads, pairs = node.number("num_heads", 1), node.number("kv_num_heads", 1)
    packed = not node.has(1)
    size = width // (heads + 2 * pairs) if packed else width // heads
    before = node.shape(3)[2] if node.has(3) else 0
    cache = (batch, pairs, before + length, size)
    return [(batch, length, heads * size), cache, cache]


def _quantised_lstm(node: RuleInput) -> list[Shape | None]:
    steps, batch, _ = node.shape()
    directions, hidden = node.shape(1)[0], node.number("hidden_size")
    return [(steps, directions, batch, hidden), (directions, batch, hidden), (directions, batch, hidden)]


def _ordered_back(node: RuleInput) -> list[Shape | None]:
    """From ONNX Runtime's blocks of channels, whose last one may be padded."""
    batch, _, *sides = node.shape()
    channels = node.number("channels")
    return [(batch, *sides, channels) if node.number("channels_last") else (batch, channels, *sides)]


def _convolved(*places: int) -> Rule:
    return lambda node: [node.infer_as("Conv", *places, last=bool(node.number("channels_last")))]


def _ordered(node: RuleInput) -> list[Shape | None]:
    """Into ONNX Runtime's blocks of channels."""
    return [_channels_second(node.shape()) if node.number("channels_last") else node.shape()]


def _looked_up(node: RuleInput) -> list[Shape | None]:
    data, axis = node.shape(), node.number("gather_axis")
    return [(*data[:axis], *node.shape(1), *data[axis + 1 :])]


def _enlarged(node: RuleInput) -> list[Shape | None]:
    return [tuple(n * by for n, by in zip(node.shape(), node.numbers("scales"), strict=True))]


# The input whose element type the outputs have; the first for all others.
_TYPED_BY: Mapping[str, int] = {
    **{"DequantizeLinear": 1, "QLinearConcat": 1, "EmbedLayerNormalization": 2, "GatherBlockQuantized": 2},
    **{"MatMulIntegerToFloat": 2, "QuantizeLinear": 2, "QLinearConv": 7, "QGemm": 8},
}
_SAME = (
    *(
        "LayerNormalization",
        "BiasGelu",
        "FastGelu",
        "QuickGelu",
        "Gelu",
        "BiasSoftmax",
        "BiasAdd",
        "BiasDropout",
        "Inverse",
    ),
    *("SimplifiedLayerNormalization", "GroupNorm", "RotaryEmbedding", "QLinearSigmoid", "QLinearLeakyRelu"),
    *("QLinearSoftmax", "QuantizeLinear", "DequantizeLinear", "Trilu", "FusedBatchNorm"),
)
# Source: the operators' documentation of ONNX Runtime (docs/ContribOperators.md), by memory and by trial.
_RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME, _same),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), _skip_normalised),
    **dict.fromkeys(("FusedConv", "Conv"), _like("Conv", 0, 1, 2)),  # Conv in blocks of channels
    **{kind: _like(kind, 0) for kind in ("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")},
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), _broadcast(0, 3)),
    **dict.fromkeys(("DynamicQuantizeMatMul", "MatMulIntegerToFloat"), _like("MatMul", 0, 1)),
    **dict.fromkeys(("MatMulNBits", "MatMulBnb4"), _packed_matmul),
    **dict.fromkeys(("FusedMatMul", "TransposeMatMul"), _fused_matmul),
    "FusedGemm": _like("Gemm", 0, 1, 2),
    "QGemm": _like("Gemm", 0, 3),
    "QLinearConv": _convolved(0, 3),
    **dict.fromkeys(("NhwcConv", "NhwcFusedConv"), lambda node: [node.infer_as("Conv", 0, 1, last=True)]),
    "Upsample": _enlarged,
    "ReorderInput": _ordered,
    "GatherBlockQuantized": _looked_up,
    "QLinearAveragePool": _like("AveragePool", 0),
    "QLinearGlobalAveragePool": _pooled,
    "QLinearConcat": _joined,
    "EmbedLayerNormalization": _embedded,
    "Attention": _projected_attention(4),
    "QAttention": _projected_attention(8),
    "MultiHeadAttention": _multi_head_attention,
    "GroupQueryAttention": _group_query_attention,
    "DynamicQuantizeLSTM": _quantised_lstm,
    "ReorderOutput": _ordered_back,
}
