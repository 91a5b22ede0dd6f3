"""The traps of ONNX import: what runs, what is a parameter, what an edge carries."""

import pickle
from itertools import pairwise

import networkx as nx
import onnx
import pytest
from graph_cases import FLOAT, INT64, LIGHT, model, numbers, op, refusal, relu, value, weight
from onnx import TensorProto, helper

from nona.models.cost.operators import operator_work
from nona.models.graph.model import MissingDimensions, Operator
from nona.models.graph.onnx_reader import evaluate
from nona.models.graph.readers import read_model

DIMS = numbers("dims", [4, 1])


def read(data, **symbols):
    return read_model(data, "case.onnx", symbols=symbols, guarded=False)


def read_ops(*ops, inputs=(), weights=(), **more):
    return read(model(ops, inputs, weights=weights, **more))


def arrows(graph):
    return [f"{e.source} -{e.tensor}-> {e.target}" for e in graph.edges]


def sizes(graph):
    return [e.size_bytes for e in graph.edges]


def test_a_chain_has_shapes_bytes_and_weights():
    gemm = op("Gemm x w b -> h", name="fc1/gemm", transB=1, alpha=0.5)
    ops, bias = (gemm, relu("h", "y", "fc1/act")), weight("b", [3])
    graph = read_ops(*ops, weights=[weight("w", [3, 4]), bias])
    assert read_ops(*ops, weights=[helper.make_tensor("w", FLOAT, [3, 4], [0.5] * 12), bias]) == graph
    attributes = {"transB": 1, "alpha": 0.5}
    wanted = Operator("fc1/gemm", "Gemm", ("x", "w", "b"), ("h",), attributes, scope="fc1")
    assert graph.operators[0] == wanted
    assert graph.tensors["h"].shape == (1, 3)
    assert (arrows(graph), sizes(graph)) == (["fc1/gemm -h-> fc1/act"], [12.0])
    assert graph.parameters == {"w", "b"}
    assert (graph.parameter_count, graph.weight_bytes) == (15, 60.0)
    assert (graph.name, graph.source_format, graph.warnings) == ("case", "onnx", ())


def test_what_depends_on_constants_only_is_no_operator():
    constant = op("Constant -> c", value=helper.make_tensor("v", FLOAT, [4, 4], [0.0] * 16))
    ops = [op("ConstantOfShape dims -> z"), op("Add c z -> w"), op("MatMul x w -> y", name="product")]
    graph = read_ops(constant, *ops, weights=[numbers("dims", [4, 4])])
    assert [o.id for o in graph.operators] == ["product"]
    assert graph.parameters == {"c", "z"}, "stored values, not the sum of them, nor the shape"
    assert graph.static == {"c", "z", "w"}
    assert graph.tensors["w"].shape == (4, 4)


def test_weights_behind_other_operators_are_the_stored_ones_and_tied_ones_count_once():
    look_up, project = op("Gather embedding ids -> h"), op("MatMul h head -> y")
    ops = [look_up, op("Cast embedding -> cast", to=FLOAT), op("Transpose cast -> head"), project]
    stored = weight("embedding", [100, 8], TensorProto.FLOAT16)
    graph = read_ops(*ops, inputs=[value("ids", [1, 7], INT64)], weights=[stored])
    assert graph.parameters == {"embedding"}
    assert (graph.parameter_count, graph.weight_bytes) == (800, 1600.0)
    assert graph.static == {"embedding", "head"}
    assert graph.tensors["head"].shape == (8, 100)
    assert graph.operators[1].inputs == ("h", "head")


def test_only_what_holds_weights_is_a_parameter():
    """Indices, shapes and masks among the constants are static, and so is a weight that is only measured."""
    unpack = op("DequantizeLinear packed scale -> w")
    ops = [op("Shape measured -> dims"), op("Reshape x dims -> h"), unpack, op("MatMul h w -> y")]
    weights = [weight("measured", [1, 4]), weight("packed", [4, 4], TensorProto.INT8), weight("scale", [])]
    graph = read_ops(*ops, weights=weights)
    assert graph.parameters == {"packed", "scale"}
    assert graph.weight_bytes == 16 + 4


def test_edges_are_tensors_with_their_readers_neither_caches_nor_what_nobody_reads():
    ops = [relu("x", "h", "a"), op("Mul h h -> sq", name="b"), op("Add h sq -> s", name="c")]
    ops += [op("Dropout s -> y mask", name="drop"), op("Concat past s -> present", axis=0, name="grow")]
    graph = read(model(ops, [value("past", [9, 4]), value("x", [1, 4])], ["y", "present"]))
    assert arrows(graph) == ["a -h-> b", "a -h-> c", "b -sq-> c", "c -s-> drop", "c -s-> grow"]
    assert graph.operators[1].inputs == ("h", "h")
    assert [o.outputs for o in graph.operators[3:]] == [("y", ""), ("present",)]
    assert graph.tensors["present"].shape == (10, 4)
    assert "mask" not in graph.tensors


def test_external_data_is_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for location in ("/etc/passwd", "../../secret", "missing.bin"):
        graph = read_ops(op("MatMul x w -> y"), weights=[weight("w", [4, 4], location=location)])
        assert graph.parameter_count == 16
    assert list(tmp_path.iterdir()) == []


def test_nodes_are_sorted_names_made_unique_or_made_up_and_scopes_found():
    scoped = relu("d", "e", "node_relu")
    scoped.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'layer1', 'layer1.0', 'relu']")
    ops = [relu("x", "a", "same"), relu("a", "b", "same"), op("Relu b -> c"), relu("c", "d", "same#2")]
    ops += [
        scoped,
        relu("e", "f", "/encoder/mlp/act/Relu"),
        op("RandomNormal -> r", shape=[1, 4], name="noise"),
    ]
    graph = read_ops(op("Reshape s dims -> y", name="last"), *ops, op("Add f r -> s"), weights=[DIMS])
    ids = [o.id for o in graph.operators]
    assert len(set(ids)) == len(ids) == 9, "a random source runs although it has no input"
    assert {"same", "same#2", "noise"} <= set(ids), "names that the file gives are kept"
    assert any(i.startswith("Relu") for i in ids)
    assert ids[-1] == "last"
    assert {o.scope for o in graph.operators} == {"", "layer1.0", "encoder/mlp/act"}
    assert graph.tensors["y"].shape == (4, 1), "shape inference needs the order too"


def test_unknown_operators_keep_their_place_with_a_visible_warning():
    mystery = op("Mystery h -> m", domain="my.domain", name="m")
    graph = read_ops(relu("x", "h"), mystery, relu("m", "y"), domains={"my.domain": 1})
    assert (arrows(graph), sizes(graph)) == (["h -h-> m", "m -m-> y"], [16.0, 0.0])
    (warning,) = graph.warnings
    assert "'Mystery' ×1" in warning
    told = {"infos": [value("m", [2, 4])], "domains": {"my.domain": 1}}
    helped = read_ops(relu("x", "h"), mystery, relu("m", "y"), **told)
    assert (sizes(helped), helped.warnings) == ([16.0, 32.0], ())
    forgotten = read_ops(relu("x", "h"), relu("h", "p"), op("Odd p -> y", domain="not imported"))
    assert sizes(forgotten) == [16.0, 16.0]


def test_local_functions_are_inlined():
    body = [op("Relu a -> t"), op("Neg t -> b")]
    function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
    calls = [op("Twice x -> h", domain="mine", name="one"), op("Twice h -> y", domain="mine", name="two")]
    graph = read_ops(*calls, functions=[function], domains={"mine": 1})
    assert [o.kind for o in graph.operators] == ["Relu", "Neg", "Relu", "Neg"]
    assert sizes(graph) == [16.0] * 3


def test_control_flow_is_one_operator_that_reads_what_its_bodies_read():
    yes = helper.make_graph([op("MatMul h w -> p")], "yes", [], [value("p", None)], [weight("w", [4, 4])])
    no = helper.make_graph([op("Identity h -> q")], "no", [], [value("q", None)])
    branch = op("If flag -> y", name="branch", then_branch=yes, else_branch=no)
    inputs = [value("x", [1, 4]), value("flag", [], TensorProto.BOOL)]
    graph = read_ops(relu("x", "h", "first"), branch, inputs=inputs)
    assert arrows(graph) == ["first -h-> branch"]
    assert graph.operators[1].inputs == ("flag", "h", "branch/w")
    assert graph.parameter_count == 16
    assert operator_work(graph)[0][1].work.macs == 16, "the branch with more work counts"
    assert "1 × If" in graph.warnings[0]


@pytest.mark.parametrize(
    ("nodes", "shape", "says"),
    [
        ([relu("nowhere", "y", "r")], [], "'r' reads 'nowhere', which nothing makes"),
        ([relu("x", "y"), relu("x", "y", "again")], [], "'y' is made twice"),
        ([relu("x", "x")], [], "'x' is made twice"),
        ([op("Add x b -> a", name="a"), relu("a", "b"), relu("b", "y")], [], "cycle, 'a' → 'b' → 'a'"),
        ([relu("w", "y")], [2], "nothing runs"),
        ([], [], "its graph is empty"),
        ([op("MatMul x w -> y")], [4, -4], "'w': its shape (4, -4) is impossible"),
        ([op("MatMul x w -> y")], [4, 2**62], "bytes="),
        ([op("MatMul x w -> y")], [1] * 65, "impossible"),
    ],
)
def test_a_bad_graph_gives_one_line(nodes, shape, says):
    assert says in refusal(read_ops, *nodes, weights=[weight("w", shape)] if shape else [])


def test_damaged_bytes_give_one_line():
    data = model([relu("x", "hidden"), relu("hidden", "y")])
    assert all(refusal(read, data[:length]) for length in range(1, len(data)))
    assert "not UTF-8" in refusal(read, data.replace(b"hidden", b"hi\xff\xfeen"))


# Parameters of torchvision's VGG19 and of the published SqueezeNet 1.1 and AlexNet (Caffe).
KNOWN = {"light_vgg19": 143_667_240, "light_squeezenet": 1_235_496, "light_bvlc_alexnet": 60_965_224}


@pytest.mark.parametrize("path", LIGHT, ids=lambda p: p.stem)
def test_graphs_of_the_onnx_wheel(path):
    """A node runs iff it is reachable from a real input: an independent reading of the graph."""
    data = path.read_bytes()
    graph = read_model(data, path.name, guarded=False)
    raw = onnx.load_model_from_string(data).graph
    flow = nx.DiGraph()
    makers = {t: i for i, n in enumerate(raw.node) for t in n.output}
    for i, n in enumerate(raw.node):
        flow.add_edges_from((makers.get(t, t), i) for t in n.input)
    inputs = {v.name for v in raw.input} - {t.name for t in raw.initializer}
    runs = {v for v in nx.descendants(flow, inputs.pop()) if isinstance(v, int)}
    assert len(graph.operators) == len(runs)
    pairs = {(u, v) for u, v in flow.edges if u in runs and v in runs}
    assert len(list(graph.dag.edges())) == len(pairs)
    assert all(t.shape is not None for t in graph.tensors.values()), "every shape that counts is known"
    assert graph.warnings == ()
    assert graph.parameter_count == KNOWN.get(graph.name, graph.parameter_count)


def nested(depth, calls):
    """Functions F0 … each of which calls the next ``calls`` times; the last calls F0 if ``calls`` is 1."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    made = []
    for level in range(depth):
        last = level == depth - 1
        following = "F0" if last and calls == 1 else f"F{level + 1}"
        names = ["a", *(f"t{i}" for i in range(calls - 1)), "b"]
        body = [op(f"{following} {u} -> {v}", domain="mine") for u, v in pairwise(names)]
        if last and calls > 1:
            body = [op("Relu a -> b")]
        made.append(helper.make_function("mine", f"F{level}", ["a"], ["b"], body, opsets))
    return made


@pytest.mark.parametrize(
    ("functions", "says"),
    [(nested(30, 2), "unfold to more than 200000 operators"), (nested(3, 1), "in a circle")],
    ids=["exponential", "recursive"],
)
def test_functions_that_explode_are_refused_at_once(functions, says):
    call = op("F0 x -> y", domain="mine")
    assert says in refusal(read_ops, call, functions=functions, domains={"mine": 1})


def language_model():
    ops = [op("Gather embedding ids -> h"), op("MatMul h w -> p"), relu("p", "y")]
    stale = [value("h", ["batch", "sequence", 8]), value("p", ["batch", "2*sequence", 16])]
    ids, ends = [value("ids", ["batch", "sequence"], INT64)], [value("y", ["batch", "out", 16])]
    return model(ops, ids, ends, [weight("embedding", [100, 8]), weight("w", [8, 16])], infos=stale)


@pytest.mark.parametrize("guarded", [False, True])
def test_missing_dimensions_are_asked_for(guarded):
    with pytest.raises(MissingDimensions) as caught:
        read_model(language_model(), "m.onnx", symbols={"batch": 2}, guarded=guarded)
    assert caught.value.names == ("sequence",)
    assert str(caught.value) == (
        "Model 'm': dimension 'sequence' is symbolic; give a whole number for it, for example sequence=128."
    )
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.names, str(copy)) == (caught.value.names, str(caught.value))


@pytest.mark.parametrize(("batch", "sequence"), [(1, 7), (8, 7), (1, 128)])
def test_activations_scale_with_the_dimensions_and_weights_do_not(batch, sequence):
    graph = read(language_model(), batch=batch, sequence=sequence)
    assert graph.tensors["h"].shape == (batch, sequence, 8)
    assert graph.tensors["y"].shape == (batch, sequence, 16), "a wrong type in the file does not matter"
    assert sizes(graph) == [4 * batch * sequence * 8, 4 * batch * sequence * 16]
    assert graph.parameter_count == 800 + 128
    assert graph.symbols == {"batch": batch, "sequence": sequence}


@pytest.mark.parametrize(
    ("inputs", "bound", "shape"),
    [
        ([("mask", [1, "past + 1"]), ("x", ["past + 1", 4])], {"past": 9}, (10, 4)),
        ([("x", [None, -1, 3]), ("mask", [2, 5, 3])], {"x[0]": 2, "x[1]": 5}, (2, 5, 3)),
    ],
)
def test_sums_of_dimensions_are_computed_and_those_without_a_name_asked_for_by_place(inputs, bound, shape):
    kind = "MatMul" if "past" in bound else "Add"
    data = model([op(f"{kind} mask x -> y")], [value(*one) for one in inputs])
    with pytest.raises(MissingDimensions) as caught:
        read(data)
    assert caught.value.names == tuple(bound)
    graph = read(data, **bound, batch=4)
    assert graph.tensors["x"].shape == shape
    assert graph.warnings == ("The model has no dimension called 'batch'; ignored.",)
    assert graph.symbols == bound


@pytest.mark.parametrize("number", [0, -1, 10**10, 2.5, "8", True])
def test_impossible_numbers_are_refused(number):
    line = refusal(read, model([relu("x", "y")]), batch=number)
    assert "Dimension 'batch': " in line
    assert "must be a whole number from 1 to" in line
    assert "it would be -4" in refusal(read, model([relu("x", "y")], [value("x", ["n - 5"])]), n=1)


@pytest.mark.parametrize(
    ("text", "symbols", "expected"),
    [
        ("batch", {"batch": 3}, (3, ())),
        ("2*s0 + s1", {"s0": 4, "s1": 1}, (9, ())),
        ("a // b", {"a": 7, "b": 2}, (3, ())),
        ("a + b", {"a": 1}, (None, ("b",))),
        ("batch-size", {"batch": 3, "size": 1}, (None, ("batch-size",))),
        ("__import__('os')", {}, (None, ("__import__('os')",))),
    ],
)
def test_expressions(text, symbols, expected):
    assert evaluate(text, symbols) == expected
