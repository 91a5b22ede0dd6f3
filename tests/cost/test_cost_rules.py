"""FLOP and byte rules: by hand, against each other, and over the whole register."""

import math
from pathlib import Path

import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizes import examples

from nona.cost.operators import operator_work
from nona.cost.options import CostOptions
from nona.cost.rules import RULES, rule
from nona.cost.site import Site, UnknownShapeError
from nona.cost.validation_networks import Sketch
from nona.graph.model import Edge, ModelGraph, Operator, Tensor, Work
from nona.graph.readers import read_model

SIZES = st.integers(1, 7)
LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
GMAC = {"vgg19": 19.632, "resnet50": 4.089, "densenet121": 2.834, "squeezenet": 0.349}
"""Known values (torchvision's published GFLOPS, which count multiply-adds)."""


def only(sketch):
    works, warnings = operator_work(sketch.graph())
    assert warnings == ()
    return works[-1].work


def macs(sketch):
    return sum(w.work.macs for w in operator_work(sketch.graph())[0])


@pytest.mark.parametrize(("name", "gmac"), GMAC.items())
def test_gmac_of_the_light_graphs(name, gmac):
    graph = read_model((LIGHT / f"light_{name}.onnx").read_bytes(), f"{name}.onnx", guarded=False)
    works, warnings = operator_work(graph)
    assert warnings == ()
    assert sum(w.work.macs for w in works) / 1e9 == pytest.approx(gmac, rel=1e-3)
    assert sum(w.work.flops for w in works) >= 2 * sum(w.work.macs for w in works)


def test_every_light_graph_is_known():
    for path in sorted(LIGHT.glob("*.onnx")):
        works, warnings = operator_work(read_model(path.read_bytes(), path.name, guarded=False))
        assert warnings == (), path.name
        assert all(w.known for w in works)


def test_convolution_by_hand():
    s = Sketch("c")
    s.add(
        "Conv", [s.source("x", (1, 6, 10, 10)), s.weight((8, 3, 5, 3)), s.weight((8,))], (1, 8, 6, 8), group=2
    )
    work = only(s)
    assert work.macs == 8 * 6 * 8 * 3 * 5 * 3
    assert work.flops == 2 * work.macs + 8 * 6 * 8
    assert work.read_bytes == 4 * 600
    assert work.weight_bytes == 4 * (8 * 45 + 8)
    assert work.write_bytes == 4 * 8 * 48


@examples(50)
@given(SIZES, SIZES, SIZES, SIZES, st.integers(1, 3))
def test_convolution_counts_every_product(channels, out, side, kernel, groups):
    """A second count: walk over output elements, group's channels and kernel cells."""
    shape = (1, out * groups, side, side)
    s = Sketch("c")
    s.add(
        "Conv",
        [s.source("x", (1, channels * groups, 9, 9)), s.weight((out * groups, channels, kernel, 1))],
        shape,
    )
    walked = sum(1 for _ in range(math.prod(shape)) for _ in range(channels) for _ in range(kernel))
    assert only(s).macs == walked


@examples(30)
@given(SIZES, SIZES, SIZES, SIZES)
def test_transposed_convolution_does_the_same_products(a, b, side, k):
    """Each is the adjoint of the other, so the number of products is the same."""
    wide, narrow = (1, a, side + 2 * k, side), (1, b, side, side)
    forward, backward = Sketch("f"), Sketch("b")
    forward.add("Conv", [forward.source("x", wide), forward.weight((b, a, k, k))], narrow)
    backward.add("ConvTranspose", [backward.source("y", narrow), backward.weight((b, a, k, k))], wide)
    assert macs(forward) == macs(backward)


@examples(40)
@given(SIZES, SIZES, SIZES, SIZES)
def test_matmul_gemm_and_einsum_agree(batch, m, k, n):
    product, sum_, flat = Sketch("m"), Sketch("e"), Sketch("g")
    product.add(
        "MatMul", [product.source("a", (batch, m, k)), product.source("b", (batch, k, n))], (batch, m, n)
    )
    for equation in ("bij,bjk->bik", "b i j, b j k -> b i k", "...ij,...jk->...ik"):
        sum_ = Sketch("e")
        sum_.add(
            "Einsum",
            [sum_.source("a", (batch, m, k)), sum_.source("b", (batch, k, n))],
            (batch, m, n),
            equation=equation,
        )
        assert only(sum_).macs == only(product).macs == batch * m * k * n
    flat.add("Gemm", [flat.source("a", (k, batch * m)), flat.source("b", (k, n))], (batch * m, n), transA=1)
    assert only(flat).macs == only(product).macs


def test_gemm_is_a_matmul_and_a_bias():
    joined, parts = Sketch("j"), Sketch("p")
    joined.add(
        "Gemm", [joined.source("x", (5, 7)), joined.weight((3, 7)), joined.weight((3,))], (5, 3), transB=1
    )
    y = parts.add("MatMul", [parts.source("x", (5, 7)), parts.weight((7, 3))], (5, 3))
    parts.add("Add", [y, parts.weight((3,))], (5, 3))
    assert sum(w.work.flops for w in operator_work(parts.graph())[0]) == only(joined).flops


def test_vector_matmul():
    s = Sketch("v")
    s.add("MatMul", [s.source("a", (5,)), s.source("b", (5,))], ())
    assert only(s).macs == 5


@pytest.mark.parametrize("axes", [3, 4])
def test_attention_is_two_products_and_a_softmax(axes):
    heads, queries, keys, width = 4, 6, 9, 8
    one, parts = Sketch("one"), Sketch("parts")

    def shape(length):
        return (2, heads, length, width) if axes == 4 else (2, length, heads * width)

    inputs = [one.source("q", shape(queries)), one.source("k", shape(keys)), one.source("v", shape(keys))]
    one.add("Attention", inputs, shape(queries), q_num_heads=heads, kv_num_heads=heads)
    q, v = parts.source("q", (2, heads, queries, width)), parts.source("v", (2, heads, keys, width))
    scores = parts.add("MatMul", [q, parts.source("k", (2, heads, width, keys))], (2, heads, queries, keys))
    weights = parts.add("Softmax", [scores], parts.shape(scores))
    parts.add("MatMul", [weights, v], (2, heads, queries, width))
    total = [w.work for w in operator_work(parts.graph())[0]]
    assert only(one).macs == sum(w.macs for w in total)
    assert only(one).flops == sum(w.flops for w in total)


def test_attention_with_a_cache_sees_the_past():
    s = Sketch("past")
    step, past = (1, 2, 1, 8), (1, 2, 15, 8)
    names = [s.source(n, step) for n in "qkv"] + ["", s.source("pk", past), s.source("pv", past)]
    s.add("Attention", names, step)
    assert only(s).macs == 2 * 16 * (8 + 8)


def test_projected_attention():
    s = Sketch("p")
    s.add(
        "Attention", [s.source("x", (1, 5, 12)), s.weight((12, 36)), s.weight((36,))], (1, 5, 12), num_heads=3
    )
    assert only(s).macs == 5 * 12 * 36 + 2 * 5 * 5 * 12


def test_lstm_is_its_gates_as_matrix_products():
    steps, batch, inputs, hidden = 6, 2, 5, 3
    s, gates = Sketch("l"), Sketch("g")
    s.add(
        "LSTM",
        [
            s.source("x", (steps, batch, inputs)),
            s.weight((1, 4 * hidden, inputs)),
            s.weight((1, 4 * hidden, hidden)),
        ],
        (steps, 1, batch, hidden),
        hidden_size=hidden,
    )
    x = gates.source("x", (steps * batch, inputs + hidden))
    gates.add("MatMul", [x, gates.weight((inputs + hidden, 4 * hidden))], (steps * batch, 4 * hidden))
    assert only(s).macs == only(gates).macs


def test_views_are_free_and_move_nothing():
    for kind in ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Dropout"):
        s = Sketch("v")
        s.add(kind, [s.source("x", (4, 4))], (16,))
        assert only(s) == Work()


def test_an_embedding_reads_its_rows_only():
    s = Sketch("e")
    s.add("Gather", [s.weight((30000, 64)), s.source("ids", (7,), "int64")], (7, 64))
    work = only(s)
    assert (work.weight_bytes, work.read_bytes, work.write_bytes) == (7 * 64 * 4, 7 * 8, 7 * 64 * 4)


def test_slice_and_expand_read_no_more_than_they_use():
    part, repeat = Sketch("s"), Sketch("r")
    part.add("Slice", [part.source("x", (100, 8))], (5, 8))
    repeat.add("Expand", [repeat.source("x", (1, 8))], (100, 8))
    assert only(part).read_bytes == 5 * 8 * 4
    assert only(repeat).read_bytes == 8 * 4


def test_one_input_used_twice_is_read_once():
    s = Sketch("square")
    x = s.source("x", (10,))
    s.add("Mul", [x, x], (10,))
    assert only(s).read_bytes == 40


def test_index_arithmetic_launches_nothing():
    tensors = {n: Tensor(n, 16.0, (2,), "int64") for n in "abc"}
    graph = ModelGraph("g", (Operator("o", "Add", ("a", "b"), ("c",)),), (), tensors)
    assert operator_work(graph)[0][0].launch == "host"
    large = {n: Tensor(n, 8e5, (100_000,), "int64") for n in "abc"}
    graph = ModelGraph("g", (Operator("o", "Add", ("a", "b"), ("c",)),), (), large)
    assert operator_work(graph)[0][0].launch == "fused"


def test_unknown_kinds_are_named_and_counted():
    tensors = {n: Tensor(n, 400.0, (100,)) for n in "xyz"}
    operators = (Operator("a", "Mystery", ("x",), ("y",)), Operator("b", "Mystery", ("y",), ("z",)))
    works, warnings = operator_work(ModelGraph("g", operators, (Edge("a", "b", "y", 400.0),), tensors))
    assert [w.work for w in works] == [Work(read_bytes=400.0, write_bytes=400.0)] * 2
    assert warnings == (
        "Operator kind 'Mystery' has no rule: 2 operators counted with zero FLOPs and their bytes.",
    )


def test_missing_shapes_are_named_and_counted():
    graph = ModelGraph("g", (Operator("a", "Conv", ("x", "w"), ("y",)),), (), {"y": Tensor("y", 0.0)})
    works, warnings = operator_work(graph)
    assert works[0].work.flops == 0
    assert warnings == ("Shapes of 1 operator of kind 'Conv' are unknown: counted with zero FLOPs.",)


def test_stated_work_wins():
    own = Work(flops=7.0, macs=3.0, read_bytes=1.0)
    graph = ModelGraph("g", (Operator("a", "Conv", work=own),), ())
    assert operator_work(graph)[0][0].work == own
    doubled = operator_work(graph, CostOptions(batch=2))[0][0].work
    assert (doubled.flops, doubled.read_bytes) == (14.0, 2.0)


SHAPES = st.one_of(st.none(), st.lists(st.integers(0, 9), max_size=5).map(tuple))


@examples(150)
@given(st.sampled_from(sorted(RULES)), st.lists(SHAPES, max_size=6), SHAPES, st.integers(-3, 9))
def test_every_rule_gives_sane_work_or_says_unknown(kind, shapes, out, number):
    tensors = {f"i{n}": Tensor(f"i{n}", 4.0 * math.prod(s or ()), s) for n, s in enumerate(shapes)}
    tensors["o"] = Tensor("o", 4.0 * math.prod(out or ()), out)
    names = ("axis", "transA", "num_heads", "q_num_heads", "kv_num_heads", "K", "size", "sampling_ratio")
    attributes = {**dict.fromkeys(names, number), "equation": "ij,jk->ik", "kernel_shape": (2, 2)}
    operator = Operator("op", kind, tuple(f"i{n}" for n in range(len(shapes))), ("o",), attributes)
    (found,), _ = operator_work(ModelGraph("g", (operator,), (), tensors))
    work = found.work
    for value in (work.flops, work.macs, work.read_bytes, work.write_bytes, work.weight_bytes):
        assert math.isfinite(value)
        assert value >= 0
    assert work.flops >= 2 * work.macs


def test_rules_exist_for_what_onnx_defines():
    """What has no rule is control flow, text, sequences, training and classic machine learning."""
    defined = {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}
    without = defined - set(RULES)
    assert without <= {
        *("If", "Loop", "Scan", "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase"),
        *("SequenceInsert", "SequenceMap", "SplitToSequence", "StringConcat", "StringNormalizer"),
        *("StringSplit", "RegexFullMatch", "TfIdfVectorizer", "NegativeLogLikelihoodLoss"),
        *("SoftmaxCrossEntropyLoss", "MaxUnpool", "MelWeightMatrix"),
    }, sorted(without)


def test_a_kind_has_one_rule():
    with pytest.raises(ValueError, match="two rules"):
        rule("Conv")(lambda site: site.work())


def test_a_site_without_tensors_knows_nothing():
    graph = ModelGraph("g", (Operator("a", inputs=("x", "")),), ())
    site = Site(graph.operators[0], graph, {})
    assert not site.has_input(1)
    assert not site.has_input(5)
    assert site.read_bytes == 0
    with pytest.raises(UnknownShapeError):
        site.input_shape()
