"""What exporters and runtimes write: shapes that files compute, other makers' operators, bodies, weights."""

import io
from contextlib import suppress

import numpy as np
import pytest
from graph_cases import FLOAT, model, numbers, op, refusal, value, weight
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from nona.core.errors import GraphError
from nona.models.cost.operators import operator_work
from nona.models.graph.guard import GuardedWorker
from nona.models.graph.model import MissingDimensions
from nona.models.graph.node_link import from_node_link, to_node_link
from nona.models.graph.onnx_weights import without_weights
from nona.models.graph.readers import read_model

MS, NCHWC = "com.microsoft", "com.microsoft.nchwc"
BOOL, INT64, INT8, UINT8 = TensorProto.BOOL, TensorProto.INT64, TensorProto.INT8, TensorProto.UINT8


def macs(ops, inputs, weights=(), opset=20, **symbols):
    data = model(ops, inputs, weights=weights, domains={"": opset, MS: 1, NCHWC: 1})
    graph = read_model(data, "case.onnx", symbols=symbols, guarded=False)
    assert from_node_link(to_node_link(graph)) == graph
    works = operator_work(graph)[0]
    assert all(w.known for w in works)
    return sum(w.work.macs for w in works)


def const(name, items, kind=np.int64):
    return op(f"Constant -> {name}", value=numpy_helper.from_array(np.array(items, kind)))


def ms(text, **more):
    return op(text, domain=MS, **more)


X, W = value("x", ["n", 8]), weight("w", [8, 8])
IMAGE, KERNEL = value("x", ["n", 4, 10, 10]), weight("k", [4, 4, 3, 3])
SIZE = [op("Shape x -> s"), const("one", 1), op("Gather s one -> width")]
HALF = [*SIZE, const("two", 2), op("Div width two -> half"), const("o", [0]), op("Unsqueeze half o -> end")]
FLAT = [op("Shape x -> s"), const("zero", 0), op("Gather s zero -> n"), op("Unsqueeze n -> nu", axes=[0])]
FLAT_END = [op("Reshape x sh -> f"), op("MatMul f w -> y")]
BATCH = op("Slice s -> n", starts=[0], ends=[1], axes=[0])
SCALE = [weight("s", []), weight("z", [], INT8)]
SIDES = {"kernel_shape": [3, 3]}

COMPUTED = [  # name, operators, inputs, weights, opset, MACs with n = 2
    ("a half by Div", [*HALF, const("from", [0]), const("along", [1]), op("Slice x from end along -> a"),
     op("MatMul a w -> y")], [X], [weight("w", [4, 6])], 20, 2 * 4 * 6),
    ("view of opset 11", [*FLAT, const("rest", [-1]), op("Concat nu rest -> sh", axis=0),
     *FLAT_END], [IMAGE], [weight("w", [400, 5])], 11, 2 * 400 * 5),
    ("bounds as attributes", [op("Shape x -> s"), BATCH, op("Concat n rest -> sh", axis=0), *FLAT_END],
     [IMAGE], [weight("w", [400, 5]), numbers("rest", [-1])], 9, 2 * 400 * 5),
    ("pads turned by a step of −1", [const("p", [1, 1, 0, 0]), const("from", [-1]), const("to", [-99]),
     const("axis", [0]), const("step", [-1]), op("Slice p from to axis step -> half"),
     op("Concat half half -> pads", axis=0), op("Pad x pads -> q"), op("Conv q k -> y", kernel_shape=[3, 3])],
     [IMAGE], [KERNEL], 20, 2 * 4 * 10 * 10 * 4 * 9),
    ("Expand to a shape by Where", [op("Shape x -> s"), const("want", [3, -1, 8]), const("less", [-1, -1, 0]),
     op("Concat one s -> three", axis=0), op("Equal want minus -> open"), op("Where open three want -> to"),
     op("Expand x to -> e"), op("MatMul e w -> y")], [X],
     [W, numbers("one", [1]), numbers("minus", [-1])], 20, 3 * 2 * 8 * 8),
    ("k of TopK by Min", [*SIZE, const("few", 3), op("Min width few -> k0"), const("flat", [1]),
     op("Reshape k0 flat -> kk"), op("TopK x kk -> v i"), op("MatMul v w -> y")], [X],
     [weight("w", [3, 4])], 20, 2 * 3 * 4),
]  # fmt: skip
RUNTIME = [
    ("FusedConv", [ms("FusedConv x k -> a", **SIDES), ms("FusedConv a k -> y", **SIDES)],
     [IMAGE], [KERNEL], 20, 2 * 4 * 36 * (64 + 36)),
    ("BiasGelu and FusedMatMul", [ms("BiasGelu x b -> g"), ms("FusedMatMul g w -> y", transB=1)], [X],
     [weight("b", [8]), weight("w", [5, 8])], 20, 2 * 8 * 5),
    ("SkipLayerNormalization", [ms("SkipLayerNormalization x x g b -> h"), op("MatMul h w -> y")],
     [value("x", ["n", 3, 8])], [weight("g", [8]), weight("b", [8]), W], 20, 2 * 3 * 64),
    ("Attention with a cache", [ms("Attention x w b m past -> y present", num_heads=2)],
     [value("x", ["n", 1, 8]), value("past", [2, "n", 2, 15, 4]),
     value("m", ["n", 16], TensorProto.INT32)],
     [weight("w", [8, 24]), weight("b", [24])], 20, 2 * (8 * 24 + 2 * 16 * 8)),
    ("QLinearConv", [op("QLinearConv x s z k s z s z -> y", **SIDES)], [value("x", ["n", 4, 10, 10], INT8)],
     [*SCALE, weight("k", [4, 4, 3, 3], INT8)], 20, 2 * 4 * 64 * 4 * 9),
    ("QGemm", [ms("QGemm x s z w s z b s z -> y", transB=1)], [value("x", ["n", 8], INT8)],
     [*SCALE, weight("w", [5, 8], INT8), weight("b", [5], TensorProto.INT32)], 20, 2 * 8 * 5),
    ("MatMulIntegerToFloat", [ms("MatMulIntegerToFloat x w s s -> h"), op("MatMul h v -> y")],
     [value("x", ["n", 8], INT8)], [weight("s", []), weight("w", [8, 8], INT8), weight("v", [8, 2])], 20,
     2 * 8 * (8 + 2)),
    ("QLinearConcat", [ms("QLinearConcat s z x s z x s z -> c", axis=1),
     op("QLinearConv c s z k s z s z -> y", **SIDES)],
     [value("x", ["n", 2, 10, 10], INT8)], [*SCALE, weight("k", [4, 4, 3, 3], INT8)], 20, 2 * 4 * 64 * 4 * 9),
    ("LayerNormalization of an old opset", [op("LayerNormalization x g b -> h"), op("MatMul h w -> y")], [X],
     [weight("g", [8]), weight("b", [8]), W], 13, 2 * 64),
    ("channels last", [ms("QLinearConv x s z k s z s z -> c", channels_last=1, **SIDES),
     ms("QLinearConv c s z k s z s z -> y", channels_last=1, **SIDES)], [value("x", ["n", 10, 10, 4], INT8)],
     [*SCALE, weight("k", [4, 4, 3, 3], INT8)], 20, 2 * 4 * (64 + 36) * 4 * 9),
    ("blocks of channels", [ms("ReorderInput x -> r", channels_last=1),
     helper.make_node("Conv", ["r", "k"], ["c"], domain=NCHWC, **SIDES),
     helper.make_node("Upsample", ["c"], ["u"], domain=NCHWC, scales=[1, 1, 2, 2]),
     helper.make_node("Conv", ["u", "k"], ["y"], domain=NCHWC, **SIDES)],
     [value("x", ["n", 10, 10, 4])], [KERNEL], 20, 2 * 4 * (64 + 14 * 14) * 4 * 9),
    ("GatherBlockQuantized", [ms("GatherBlockQuantized e ids s -> h"), op("MatMul h w -> y")],
     [value("ids", ["n", 3], INT64)], [weight("e", [50, 8], TensorProto.UINT4), weight("s", [50, 1]), W], 21,
     2 * 3 * 64),
    ("unequal sizes of attention", [ms("Attention x w b -> y", num_heads=2, qkv_hidden_sizes=[4, 4, 8])],
     [value("x", ["n", 3, 8])], [weight("w", [8, 16]), weight("b", [16])],
     20, 2 * (3 * 8 * 16 + 9 * (4 + 8))),
    ("FusedMatMul over its batch", [ms("FusedMatMul x w -> y", transBatchA=1)], [value("x", [5, "n", 8])],
     [weight("w", [2, 8, 3])], 20, 2 * 5 * 8 * 3),
    ("MatMulNBits", [ms("MatMulNBits x q s -> y", K=8, N=5, bits=4, block_size=16)], [X],
     [weight("q", [5, 1, 8], UINT8), weight("s", [5])], 20, 2 * 8 * 5),
]  # fmt: skip


@pytest.mark.parametrize("case", COMPUTED + RUNTIME, ids=lambda case: case[0])
def test_every_operator_behind_computed_shapes_and_foreign_operators_counts(case):
    _, ops, inputs, weights, opset, right = case
    assert macs(ops, inputs, weights, opset, n=2) == right


def body(name, *ops, inputs=(), out=("o",)):
    return helper.make_graph(list(ops), name, list(inputs), [value(o, None) for o in out])


def test_bodies_count_by_branch_and_turns():
    small = body("small", op("MatMul x v -> o"))
    large = body("large", op("MatMul x w -> h"), op("MatMul h w -> o"))
    weights = [W, weight("v", [8, 2])]
    flag = value("flag", [], BOOL)

    def branch(condition):
        return op(f"If {condition} -> y", then_branch=small, else_branch=large)

    assert macs([branch("flag")], [X, flag], weights, n=2) == 2 * 2 * 64, "unknown: the larger"
    assert macs([const("yes", True, bool), branch("yes")], [X], weights, n=2) == 2 * 8 * 2
    computed = [*SIZE, const("eight", 8), op("Equal width eight -> yes"), branch("yes")]
    assert macs(computed, [X], weights, n=2) == 2 * 8 * 2

    turn = body("turn", op("Identity go -> go2"), op("MatMul h w -> h2"), op("MatMul h2 v -> scanned"),
                inputs=[value("i", [], INT64), value("go", [], BOOL), value("h", None)],
                out=("go2", "h2", "scanned"))  # fmt: skip
    yes, loop = const("yes", True, bool), op("Loop count yes x -> last all", body=turn)
    after = op("MatMul all u -> y")
    known = macs([const("count", 5), yes, loop, after], [X], [*weights, weight("u", [2, 3])], n=2)
    assert known == 5 * (2 * 64 + 2 * 8 * 2) + 5 * 2 * 2 * 3, "what a Loop stacks has its turns"
    data = model([yes, loop], [value("x", [2, 8]), value("count", [], INT64)], ["last"], weights)
    graph = read_model(data, "loop.onnx", guarded=False)
    (work,) = operator_work(graph)[0]
    assert (work.known, work.work.macs) == (False, 2 * 64 + 2 * 8 * 2)
    assert "how often its body runs is not in the file" in graph.warnings[0]

    count_up = body("up", op("Add i one -> j"), op("Less j n -> go2"), op("MatMul h w -> h2"),
                    inputs=[value("i", [], INT64), value("go", [], BOOL), value("h", None)],
                    out=("go2", "h2"))  # fmt: skip
    before = [const("m", 1024), const("few", 3), yes, const("one", 1), const("n", 5)]
    for most, turns in (("m", 5), ("few", 3), ("", 5)):
        loop = helper.make_node("Loop", [most, "yes", "x"], ["y"], body=count_up)
        assert macs([*before, loop], [X], [W], n=2) == turns * 2 * 64

    step = body("step", op("MatMul row w -> o"), inputs=[value("row", None)])
    scan = op("Scan x -> y", body=step, num_scan_inputs=1)
    assert macs([scan], [value("x", [7, "n", 8])], [W], n=2) == 7 * 2 * 64
    deep = body("deep", op("If flag -> o", then_branch=large, else_branch=small))
    nested = op("If flag -> y", then_branch=deep, else_branch=small)
    assert macs([nested], [X, flag], weights, n=2) == 2 * 2 * 64


def test_masks_are_no_weights_and_dimensions_without_a_name_are_asked_for_one_by_one():
    mask, scores = weight("mask", [8, 8], UINT8), value("x", [8, 8])
    ops = [op("Cast mask -> kept", to=BOOL), op("Where kept x low -> y")]
    graph = read_model(model(ops, [scores], weights=[mask, weight("low", [])]), "m.onnx", guarded=False)
    assert graph.parameters == {"low"}
    for unnamed, asked in (("?", ("x[0]", "x[1]")), (0, ("x[0]",))):
        data = model([op("Relu x -> y")], [value("x", [unnamed, "?" if unnamed else 4, 4])])
        with pytest.raises(MissingDimensions, match=r"for example x\[0\]=1") as caught:
            read_model(data, "m.onnx", guarded=False)
        assert caught.value.names == asked


BIG = helper.make_tensor("w", FLOAT, [300, 300], np.zeros((300, 300), np.float32).tobytes(), raw=True)
BIGGER = helper.make_tensor("v", FLOAT, [300, 300], np.ones(90_000, np.float32).tolist())
INNER = op("Constant -> u", value=helper.make_tensor("u", FLOAT, [300, 300], bytes(360_000), raw=True))
PRODUCTS = [op("MatMul x w -> a"), op("MatMul a v -> b"), INNER, op("MatMul b u -> y")]
LARGE = model(PRODUCTS, [value("x", [1, 300])], weights=[BIG, BIGGER, numbers("dims", [1, 2])])


def test_a_file_without_its_weights_is_the_same_network():
    slim = without_weights(io.BytesIO(LARGE), len(LARGE), "large.onnx")
    assert len(slim) < 2000 < 1e6 < len(LARGE)
    read = [read_model(data, "large.onnx", guarded=False) for data in (LARGE, slim)]
    assert read[0] == read[1]
    assert read[0].parameter_count == 270_000
    with GuardedWorker() as worker:
        assert worker.slim(io.BytesIO(LARGE), len(LARGE), "large.onnx") == slim
        assert "cut short" in refusal(worker.slim, io.BytesIO(LARGE), len(LARGE) - 5, "large.onnx")
        assert worker.slim(io.BytesIO(LARGE), len(LARGE), "large.onnx") == slim


@given(st.integers(0, len(LARGE) - 1), st.binary(max_size=40))
def test_cut_or_changed_files_give_one_line_or_a_file(place, noise):
    changed = LARGE[:place] + noise + LARGE[place + len(noise) :]
    for data in (LARGE[:place], changed, noise):
        with suppress(GraphError):  # no other error comes out
            assert len(without_weights(io.BytesIO(data), len(data), "f.onnx")) <= len(data) + 8
