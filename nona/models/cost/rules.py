"""FLOP and byte rules per kind of ONNX operator; adding a kind is one function.

Conventions: a multiply-add is two FLOPs; a bias adds one per output element; an element-wise
function, however costly, counts one per output element (it is bound by memory); views cost
nothing. MACs are those of convolutions, matrix products and recurrences only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from nona.models.cost.site import Site, UnknownShapeError
from nona.models.graph.model import StatedWork

Launch = Literal["kernel", "fused", "view", "host"]
"""``kernel``: always its own kernel; ``fused``: part of its producer's where the software fuses;
``view``: no work at all; ``host``: never on the device."""

Count = Callable[[Site], StatedWork]


@dataclass(frozen=True, slots=True)
class CountingRule:
    """The counting rule of one kind of operator, and whether it launches a kernel."""

    kind: str
    launch: Launch
    count: Count


_RULES: dict[str, CountingRule] = {}
RULES: Mapping[str, CountingRule] = MappingProxyType(_RULES)
"""All rules by kind of operator; filled when :mod:`nona.models.cost.rules` is imported."""


def rule(*kinds: str, launch: Launch = "kernel") -> Callable[[Count], Count]:
    """Register the decorated function as the rule of ``kinds``."""

    def register(count: Count) -> Count:
        for kind in kinds:
            if kind in _RULES:
                raise ValueError(f"Operator kind {kind!r} has two rules; remove one.")
            _RULES[kind] = CountingRule(kind, launch, count)
        return count

    return register


@rule("MatMul", "MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
def matmul(site: Site) -> StatedWork:
    """Count a MatMul: the last axis of the first input is summed."""
    shape = site.input_shape()
    return site.work(macs=site.output_elements * (shape[-1] if shape else 1))


@rule("FusedMatMul", "TransposeMatMul")
def fused_matmul(site: Site) -> StatedWork:
    """Return a MatMul with optional transposition (ONNX Runtime)."""
    shape = site.input_shape()
    if site.attribute("transBatchA", 0):
        shape = (*shape[1:-1], shape[0], shape[-1])
    return site.work(macs=site.output_elements * shape[-2 if site.attribute("transA", 0) else -1])


@rule("MatMulNBits", "MatMulBnb4")
def packed_matmul(site: Site) -> StatedWork:
    """Count a MatMul with weights packed to a few bits; the summed length is the attribute K."""
    length = site.attribute("K", 0) or site.input_shape()[-1]
    return site.work(macs=site.output_elements * length)


@rule("Gemm", "QGemm", "FusedGemm")
def gemm(site: Site) -> StatedWork:
    """α·A·B + β·C; C, the bias, adds one per output element."""
    length = site.input_shape()[0 if site.attribute("transA", 0) else -1]
    out = site.output_elements
    return site.work(macs=out * length, flops=out if site.has_input(2) else 0)


@rule("Einsum")
def einsum(site: Site) -> StatedWork:
    """MACs = product of the lengths of all indices, for each of the products between the inputs.

    With one input there is nothing to multiply: additions of the summed elements only.
    """
    lengths, ellipsis = _index_lengths(site)
    points = math.prod(lengths.values()) * ellipsis
    factors = len(site.operator.inputs)
    return site.work(macs=points * (factors - 1)) if factors > 1 else site.work(flops=points)


def _index_lengths(site: Site) -> tuple[dict[str, int], int]:
    """Length of every index of the equation, and the elements that the ellipsis stands for."""
    terms = site.text("equation").replace(" ", "").split("->")[0].split(",")
    if len(terms) != len(site.operator.inputs):
        raise UnknownShapeError
    lengths: dict[str, int] = {}
    ellipsis: dict[int, int] = {}
    for place, term in enumerate(terms):
        shape = site.input_shape(place)
        before, dots, after = term.partition("...")
        if len(before) + len(after) > len(shape):
            raise UnknownShapeError
        tail = len(shape) - len(after)
        pairs = [*zip(before, shape, strict=False), *zip(after, shape[tail:], strict=True)]
        for letter, length in pairs:
            lengths[letter] = max(lengths.get(letter, 1), length)
        if dots:
            for back, length in enumerate(reversed(shape[len(before) : tail])):
                ellipsis[back] = max(ellipsis.get(back, 1), length)
    return lengths, math.prod(ellipsis.values())


@rule("Conv", "ConvInteger", "FusedConv", "NhwcConv", "NhwcFusedConv", "DeformConv", "CausalConvWithState")
def convolution(site: Site) -> StatedWork:
    """Weights are (out channels, in channels / groups, kernel …)."""
    bias = {"DeformConv": 3, "ConvInteger": -1}.get(site.operator.kind, 2)
    return _convolution(site, weight=1, bias=bias)


@rule("QLinearConv")
def quantised_convolution(site: Site) -> StatedWork:
    """Count a quantised convolution, whose weights are the fourth input and bias the ninth."""
    return _convolution(site, weight=3, bias=8)


@rule("ConvTranspose")
def transposed_convolution(site: Site) -> StatedWork:
    """Weights are (in channels, out channels / groups, kernel …): every input element meets them once."""
    macs = site.input_elements * math.prod(site.input_shape(1)[1:])
    return site.work(macs=macs, flops=site.output_elements if site.has_input(2) else 0)


def _convolution(site: Site, weight: int, bias: int) -> StatedWork:
    out = site.output_elements
    has_bias = bias > 0 and site.has_input(bias)
    return site.work(macs=out * math.prod(site.input_shape(weight)[1:]), flops=out if has_bias else 0)


SOFTMAX_FLOPS = 5


@rule("Attention")
def attention(site: Site) -> StatedWork:
    """ONNX's operator (Q, K, V), or ONNX Runtime's older one (input, weights of Q, K and V, bias)."""
    if len(site.input_shape()) == 3 and len(site.input_shape(1)) == 2:
        return _projected(site, past=4)
    return _attention(site, site.attribute("q_num_heads", 0), site.attribute("kv_num_heads", 0), past=4)


@rule("QAttention")
def quantised_attention(site: Site) -> StatedWork:
    """ONNX Runtime's older operator with scales and zero points of input and weights."""
    return _projected(site, past=8)


@rule("MultiHeadAttention")
def multi_head_attention(site: Site) -> StatedWork:
    """ONNX Runtime's operator on Q, K and V, or on all in one tensor (batch, length, heads, 3, size)."""
    heads, query = site.attribute("num_heads", 0), site.input_shape()
    if len(query) == 5:
        batch, length, heads, _, size = query
        return _attended(site, batch * heads * length * length, 2 * size)
    if not site.has_input(2):  # K and V in one: (batch, length, heads, 2, size)
        size = site.input_shape(1)[-1]
        return _attended(site, query[0] * heads * query[1] * site.input_shape(1)[1], 2 * size)
    return _attention(site, heads, heads, past=6)


@rule("GroupQueryAttention")
def group_query_attention(site: Site) -> StatedWork:
    """ONNX Runtime's operator: more query heads than key heads; Q may hold K and V too."""
    heads, pairs = site.attribute("num_heads", 0), site.attribute("kv_num_heads", 0)
    if site.has_input(1) or heads + 2 * pairs <= 0:
        return _attention(site, heads, pairs, past=3)
    batch, length, width = site.input_shape()
    keys = length + (site.input_shape(3)[2] if site.has_input(3) else 0)
    return _attended(site, batch * heads * length * keys, 2 * (width // (heads + 2 * pairs)))


@rule("LinearAttention")
def linear_attention(site: Site) -> StatedWork:
    """Per token and head a state of key size × value size: read by the query, updated by the key.

    The delta rules read it once more, the gated ones scale it.
    """
    query_heads, key_heads = site.attribute("q_num_heads", 0), site.attribute("kv_num_heads", 0)
    queries, values = site.input_shape(), site.input_shape(2)
    if query_heads <= 0 or key_heads <= 0 or len(queries) != 3 or len(values) != 3:
        raise UnknownShapeError
    batch, tokens, width = queries
    state = (width // query_heads) * (values[2] // key_heads)
    kind = site.text("update_rule")
    updates = 2 if "delta" in kind else 1
    gate = batch * tokens * key_heads * state if "gated" in kind else 0
    return site.work(macs=batch * tokens * state * (query_heads + updates * key_heads), flops=gate)


def _attention(site: Site, query_heads: int, key_heads: int, past: int) -> StatedWork:
    batch, heads, queries, width = _heads_first(site.input_shape(0), query_heads)
    _, _, keys, _ = _heads_first(site.input_shape(1), key_heads)
    _, _, _, value_width = _heads_first(site.input_shape(2), key_heads)
    if site.has_input(past):
        keys += site.input_shape(past)[2]
    return _attended(site, batch * heads * queries * keys, width + value_width)


def _attended(site: Site, points: int, widths: int) -> StatedWork:
    """``points`` pairs of a query and a key, each a product over both ``widths``, and the softmax."""
    return site.work(macs=points * widths, flops=SOFTMAX_FLOPS * points)


def _heads_first(shape: tuple[int, ...], heads: int) -> tuple[int, int, int, int]:
    """(batch, heads, length, head size) of a tensor of 4 axes, or of 3 with the heads side by side."""
    if len(shape) == 4:
        return shape[0], shape[1], shape[2], shape[3]
    if len(shape) == 3 and heads > 0:
        return shape[0], heads, shape[1], shape[2] // heads
    raise UnknownShapeError


def _projected(site: Site, past: int) -> StatedWork:
    batch, length, width = site.input_shape()
    columns = site.input_shape(1)[1]
    heads = max(site.attribute("num_heads", 1), 1)
    points = batch * length * (length + (site.input_shape(past)[3] if site.has_input(past) else 0))
    sizes = site.numbers("qkv_hidden_sizes") or (columns // 3,) * 3
    macs = batch * length * width * columns + points * (sizes[0] + sizes[-1])
    bias = batch * length * columns if site.has_input(2) else 0
    return site.work(macs=macs, flops=bias + SOFTMAX_FLOPS * heads * points)


_GATE_FLOPS = {"LSTM": 9, "DynamicQuantizeLSTM": 9, "GRU": 8, "RNN": 2}
"""Element-wise FLOPs per hidden element and step: gates, products and sums of the cell."""


@rule("LSTM", "GRU", "RNN", "DynamicQuantizeLSTM")
def recurrent(site: Site) -> StatedWork:
    """X is (steps, batch, inputs) or, with ``layout`` 1, (batch, steps, inputs): the product counts."""
    points = math.prod(site.input_shape()[:2])
    weights, recurrence = site.input_shape(1), site.input_shape(2)
    width = site.attribute("hidden_size", recurrence[-1])
    hidden = recurrence[0] * width
    bias = points * math.prod(recurrence[:2]) if site.has_input(3) else 0
    return site.work(
        macs=points * (math.prod(weights) + math.prod(recurrence)),
        flops=bias + _GATE_FLOPS[site.operator.kind] * points * hidden,
    )


@rule(
    *("Abs", "Acos", "Acosh", "Add", "And", "Asin", "Asinh", "Atan", "Atanh", "Div", "Mul", "Sub"),
    *("BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "Ceil", "Celu", "Clip", "Cos"),
    *("Cosh", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "GreaterOrEqual", "HardSigmoid"),
    *("HardSwish", "IsInf", "IsNaN", "LeakyRelu", "Less", "LessOrEqual", "Log", "Mish", "Mod", "Neg"),
    *("Not", "Or", "PRelu", "Pow", "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign"),
    *("Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Xor"),
    *("BiasGelu", "FastGelu", "QuickGelu", "QLinearAdd", "QLinearMul", "QLinearSigmoid"),
    *("QuantizeLinear", "RotaryEmbedding", "SwiGLU", "QLinearLeakyRelu", "BiasAdd"),
    launch="fused",
)
def elementwise(site: Site) -> StatedWork:
    """One FLOP per element of the output."""
    return site.work(flops=site.output_elements)


@rule("Sum", "Mean", "Max", "Min", launch="fused")
def variadic(site: Site) -> StatedWork:
    """One FLOP per element and pair of inputs."""
    pairs = max(sum(1 for n in site.operator.inputs if n) - 1, 1)
    return site.work(flops=pairs * site.output_elements)


@rule("Cast", "CastLike", "Where", launch="fused")
def selection(site: Site) -> StatedWork:
    """No arithmetic: the bytes count."""
    return site.work()


@rule("DynamicQuantizeLinear")
def dynamic_quantisation(site: Site) -> StatedWork:
    """Return the range first, then scale, round and shift."""
    return site.work(flops=4 * site.input_elements)


@rule("Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial")
def random_numbers(site: Site) -> StatedWork:
    """One FLOP per number drawn."""
    return site.work(flops=site.output_elements)


_PER_ELEMENT = {
    "BatchNormalization": 2,  # at inference a scale and a shift
    "LayerNormalization": 7,  # mean, centre, square, mean, root, scale, shift
    "SkipLayerNormalization": 8,
    "InstanceNormalization": 7,
    "GroupNormalization": 7,
    "GroupNorm": 7,
    "MeanVarianceNormalization": 5,
    "RMSNormalization": 4,
    "SimplifiedLayerNormalization": 4,
    "SkipSimplifiedLayerNormalization": 5,
    "LpNormalization": 3,
    "QLinearSoftmax": 5,
    "Softmax": 5,  # maximum, subtract, exp, sum, divide
    "LogSoftmax": 5,
    "Hardmax": 2,
}


@rule(*_PER_ELEMENT)
def normalisation(site: Site) -> StatedWork:
    """Return the table's FLOPs per element of the output."""
    return site.work(flops=_PER_ELEMENT[site.operator.kind] * site.output_elements)


@rule("LRN")
def local_response(site: Site) -> StatedWork:
    """Across ``size`` channels: a square and a sum each, then a power and a product."""
    return site.work(flops=(2 * site.attribute("size", 1) + 3) * site.output_elements)


@rule("MaxPool", "AveragePool", "LpPool", "QLinearAveragePool")
def pooling(site: Site) -> StatedWork:
    """One FLOP per window element and output element."""
    return site.work(flops=site.output_elements * math.prod(site.numbers("kernel_shape")))


@rule(
    *("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "QLinearGlobalAveragePool"),
    *("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1"),
    *("ArgMax", "ArgMin", "CumSum", "CumProd", "NonZero", "Unique", "Det"),
)
def reduction(site: Site) -> StatedWork:
    """One FLOP per element of the input."""
    return site.work(flops=site.input_elements)


@rule("ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
def reduction_of_function(site: Site) -> StatedWork:
    """Return a function and a sum per element of the input."""
    return site.work(flops=2 * site.input_elements)


@rule("TopK")
def top_k(site: Site) -> StatedWork:
    """Return a heap of k: n·log₂ k comparisons, n the elements of the input."""
    k = site.output_shape()[site.attribute("axis", -1)]
    return site.work(flops=site.input_elements * max(1.0, math.log2(max(k, 2))))


@rule("DFT", "STFT")
def fourier_transform(site: Site) -> StatedWork:
    """5·n·log₂ n for each transform of length n (Cooley and Tukey 1965; n from the output)."""
    shape = site.output_shape()
    length = shape[site.attribute("axis", -2)] if len(shape) > 1 else shape[0]
    points = math.prod(shape) / (2 if shape[-1] == 2 else 1)
    return site.work(flops=5 * points * math.log2(max(length, 2)))


@rule("MaxRoiPool", "RoiAlign")
def region_pooling(site: Site) -> StatedWork:
    """Four corners, each a product and a sum, per sample of each output element."""
    samples = max(site.attribute("sampling_ratio", 2), 1) ** 2
    return site.work(flops=8 * samples * site.output_elements)


@rule("NonMaxSuppression")
def non_max_suppression(site: Site) -> StatedWork:
    """Every box against every box of its class, ten FLOPs a pair: an upper bound."""
    boxes, scores = site.input_shape(), site.input_shape(1)
    return site.work(flops=10 * boxes[0] * boxes[1] ** 2 * scores[1])


@rule("Concat", "SpaceToDepth", "DepthToSpace", "ReverseSequence", "ConcatFromSequence", "QLinearConcat")
@rule("ReorderInput", "ReorderOutput")
def copy(site: Site) -> StatedWork:
    """Everything is read and written."""
    return site.work()


@rule("Transpose", "Pad", "Trilu", launch="fused")
def rearrangement(site: Site) -> StatedWork:
    """Everything is read and written, mostly inside a neighbour's kernel."""
    return site.work()


@rule("Slice", "Split", "Expand", "Tile", launch="fused")
def part_or_repeat(site: Site) -> StatedWork:
    """Count at most as many bytes read as written (Slice, Split), and at most the input (Expand, Tile)."""
    return _partial(site)


@rule("Gather", "GatherElements", "GatherND", "Compress", "OneHot", "EmbedLayerNormalization")
@rule("GatherBlockQuantized")
def lookup(site: Site) -> StatedWork:
    """Only the rows that are looked up are read: as many bytes as are written, and the indices."""
    return _partial(site)


@rule("ScatterElements", "ScatterND", "Scatter", "TensorScatter")
def scatter(site: Site) -> StatedWork:
    """Count a scatter: indices and updates are read, the updated rows are written."""
    updates = site.bytes_of(site.operator.inputs[1:])
    return site.work(read=updates, write=min(updates, site.write_bytes), weight=0.0)


@rule("Resize", "Upsample", "GridSample", "AffineGrid", "CenterCropPad", "Col2Im", "ImageDecoder")
def resampling(site: Site) -> StatedWork:
    """Four neighbours, each a product and a sum, per element of the output (linear in two axes)."""
    return site.work(flops=8 * site.output_elements)


@rule("Range", "EyeLike", "Constant", "ConstantOfShape", "HannWindow", "HammingWindow", "BlackmanWindow")
def generation(site: Site) -> StatedWork:
    """Read nothing; count the output bytes."""
    return site.work(read=0.0, weight=0.0)


def _partial(site: Site) -> StatedWork:
    """Count the first input for at most the bytes that are written, the others whole."""
    data, *rest = site.operator.inputs or ("",)
    used = min(site.bytes_of((data,)), site.write_bytes)
    static = site.is_static(data)
    others = site.bytes_of(n for n in rest if not site.is_static(n))
    return site.work(read=others + (0.0 if static else used), weight=used if static else 0.0)


@rule(
    *("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout", "Optional"),
    *("OptionalGetElement", "BitCast", "DequantizeLinear"),  # folded into what reads it
    launch="view",
)
def view(site: Site) -> StatedWork:
    """Count nothing: the same bytes under another shape (Dropout does nothing at inference)."""
    return site.work(read=0.0, write=0.0, weight=0.0)


@rule("Shape", "Size", "OptionalHasElement", "SequenceLength", launch="host")
def shape(site: Site) -> StatedWork:
    """Read nothing: the host knows shapes before the kernels run; count the output bytes."""
    return site.work(read=0.0, write=site.write_bytes, weight=0.0)
