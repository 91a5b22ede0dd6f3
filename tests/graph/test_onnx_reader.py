"""The traps of ONNX import: what runs, what is a parameter, what an edge carries."""

from itertools import pairwise

import networkx as nx
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_cases import FLOAT, INT64, LIGHT, model, numbers, relu, value, weight

from nona.errors import GraphError
from nona.graph.readers import read_model

node = helper.make_node


def read(data, **symbols):
    return read_model(data, "case.onnx", symbols=symbols, guarded=False)


def test_a_chain_has_shapes_bytes_and_weights():
    graph = read(
        model(
            [
                node("Gemm", ["x", "w", "b"], ["h"], name="fc1/gemm", transB=1, alpha=0.5),
                relu("h", "y", "fc1/act"),
            ],
            weights=[weight("w", [3, 4]), weight("b", [3])],
        )
    )
    first = graph.operators[0]
    assert (first.id, first.kind, first.scope) == ("fc1/gemm", "Gemm", "fc1")
    assert (first.inputs, first.outputs) == (("x", "w", "b"), ("h",))
    assert first.attributes == {"transB": 1, "alpha": 0.5}
    assert graph.tensors["h"].shape == (1, 3)
    assert [(e.source, e.target, e.tensor, e.size_bytes) for e in graph.edges] == [
        ("fc1/gemm", "fc1/act", "h", 12.0)
    ]
    assert graph.parameters == {"w", "b"}
    assert (graph.parameter_count, graph.weight_bytes) == (15, 60.0)
    assert (graph.name, graph.source_format, graph.warnings) == ("case", "onnx", ())


def test_what_depends_on_constants_only_is_no_operator():
    made = helper.make_tensor("v", FLOAT, [4, 4], [0.0] * 16)
    graph = read(
        model(
            [
                node("Constant", [], ["c"], value=made),
                node("ConstantOfShape", ["dims"], ["z"]),
                node("Add", ["c", "z"], ["w"]),
                node("MatMul", ["x", "w"], ["y"], name="product"),
            ],
            weights=[numbers("dims", [4, 4])],
        )
    )
    assert [o.id for o in graph.operators] == ["product"]
    assert graph.parameters == {"c", "z"}, "stored values, not the sum of them, nor the shape"
    assert graph.static == {"c", "z", "w"}
    assert graph.tensors["w"].shape == (4, 4)


def test_old_files_list_initialisers_among_the_inputs():
    inputs = [value("x", [1, 4]), value("w", [4, 4])]
    data = model(
        [node("MatMul", ["x", "w"], ["y"])], inputs, weights=[weight("w", [4, 4])], opset=8, ir_version=3
    )
    graph = read(data)
    assert graph.parameters == {"w"}
    assert len(graph.operators) == 1


def test_outputs_that_nobody_reads_are_left_out():
    drop = node("Dropout", ["x"], ["kept", "mask"], name="drop")
    graph = read(model([drop, relu("kept", "y")]))
    assert graph.operators[0].outputs == ("kept", "")
    assert "mask" not in graph.tensors
    assert graph.warnings == ()


def test_weights_behind_other_operators_are_the_stored_ones_and_tied_ones_count_once():
    graph = read(
        model(
            [
                node("Gather", ["embedding", "ids"], ["h"], name="look_up"),
                node("Cast", ["embedding"], ["cast"], to=FLOAT),
                node("Transpose", ["cast"], ["head"]),
                node("MatMul", ["h", "head"], ["y"], name="project"),
            ],
            [value("ids", [1, 7], INT64)],
            weights=[weight("embedding", [100, 8], TensorProto.FLOAT16)],
        )
    )
    assert graph.parameters == {"embedding"}
    assert (graph.parameter_count, graph.weight_bytes) == (800, 1600.0)
    assert graph.static == {"embedding", "head"}
    assert graph.tensors["head"].shape == (8, 100)
    assert graph.operators[1].inputs == ("h", "head")


def test_only_what_holds_weights_is_a_parameter():
    """Indices, shapes and masks among the constants are static, and so is a weight that is only measured."""
    graph = read(
        model(
            [
                node("Shape", ["measured"], ["dims"]),
                node("Reshape", ["x", "dims"], ["h"]),
                node("DequantizeLinear", ["packed", "scale"], ["w"]),
                node("MatMul", ["h", "w"], ["y"]),
            ],
            weights=[
                weight("measured", [1, 4]),
                weight("packed", [4, 4], TensorProto.INT8),
                weight("scale", []),
            ],
        )
    )
    assert graph.parameters == {"packed", "scale"}
    assert graph.weight_bytes == 16 + 4


def test_one_tensor_with_many_consumers_is_one_tensor():
    graph = read(
        model(
            [
                relu("x", "h", "a"),
                node("Mul", ["h", "h"], ["sq"], name="b"),
                node("Add", ["h", "sq"], ["y"], name="c"),
            ]
        )
    )
    ends = [(e.source, e.target, e.tensor) for e in graph.edges]
    assert ends == [("a", "b", "h"), ("a", "c", "h"), ("b", "c", "sq")]
    assert graph.operators[1].inputs == ("h", "h")


def test_caches_are_outputs_of_the_graph_not_edges():
    nodes = [node("Concat", ["past", "x"], ["present"], axis=0, name="grow"), relu("x", "y")]
    graph = read(model(nodes, [value("past", [9, 4]), value("x", [1, 4])], ["y", "present"]))
    assert graph.edges == ()
    assert graph.operators[0].outputs == ("present",)
    assert graph.tensors["present"].shape == (10, 4)


def test_external_data_is_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for location in ("/etc/passwd", "../../secret", "missing.bin"):
        data = model([node("MatMul", ["x", "w"], ["y"])], weights=[weight("w", [4, 4], location=location)])
        assert read(data).parameter_count == 16
    assert list(tmp_path.iterdir()) == []


def test_names_are_made_unique_and_missing_ones_made_up():
    nodes = [relu("x", "a", "same"), relu("a", "b", "same"), relu("b", "c"), relu("c", "d", "same#2")]
    nodes[2].name = ""
    graph = read(model([*nodes, relu("d", "y")]))
    ids = [o.id for o in graph.operators]
    assert len(set(ids)) == 5
    assert ids[0] == "same"
    assert ids[3] == "same#2", "a name that the file gives is kept"
    assert ids[2].startswith("Relu")


def test_scope_comes_from_the_name_or_from_the_metadata():
    plain = relu("x", "h", "node_relu")
    plain.metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'layer1', 'layer1.0', 'relu']")
    graph = read(model([plain, relu("h", "y", "/encoder/mlp/act/Relu")]))
    assert [o.scope for o in graph.operators] == ["layer1.0", "encoder/mlp/act"]


def test_a_random_source_runs_although_it_has_no_input():
    graph = read(
        model([node("RandomNormal", [], ["r"], shape=[1, 4], name="noise"), node("Add", ["x", "r"], ["y"])])
    )
    assert [o.id for o in graph.operators] == ["noise", "Add_1"]


def test_unknown_operators_keep_their_place_with_a_visible_warning():
    nodes = [relu("x", "h"), node("Mystery", ["h"], ["m"], domain="my.domain", name="m"), relu("m", "y")]
    graph = read(model(nodes, domains={"my.domain": 1}))
    assert [(e.source, e.target, e.size_bytes) for e in graph.edges] == [("h", "m", 16.0), ("m", "y", 0.0)]
    assert len(graph.warnings) == 1
    assert "'Mystery' ×1" in graph.warnings[0]


def test_shapes_in_the_file_help_where_inference_cannot():
    nodes = [node("Mystery", ["x"], ["m"], domain="my.domain"), relu("m", "y")]
    graph = read(model(nodes, infos=[value("m", [2, 4])], domains={"my.domain": 1}))
    assert graph.edges[0].size_bytes == 32
    assert graph.warnings == ()


def test_local_functions_are_inlined():
    body = [node("Relu", ["a"], ["t"]), node("Neg", ["t"], ["b"])]
    function = helper.make_function("mine", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 20)])
    calls = [
        node("Twice", ["x"], ["h"], domain="mine", name="one"),
        node("Twice", ["h"], ["y"], domain="mine", name="two"),
    ]
    graph = read(model(calls, functions=[function], domains={"mine": 1}))
    assert [o.kind for o in graph.operators] == ["Relu", "Neg", "Relu", "Neg"]
    assert [e.size_bytes for e in graph.edges] == [16.0] * 3


def test_control_flow_is_one_operator_that_reads_what_its_bodies_read():
    yes = helper.make_graph(
        [node("MatMul", ["h", "w"], ["p"])], "yes", [], [value("p", None)], [weight("w", [4, 4])]
    )
    no = helper.make_graph([node("Identity", ["h"], ["q"])], "no", [], [value("q", None)])
    nodes = [
        relu("x", "h", "first"),
        node("If", ["flag"], ["y"], name="branch", then_branch=yes, else_branch=no),
    ]
    graph = read(model(nodes, [value("x", [1, 4]), value("flag", [], TensorProto.BOOL)]))
    assert [(e.source, e.target, e.tensor) for e in graph.edges] == [("first", "branch", "h")]
    assert graph.operators[1].inputs == ("flag", "h", "branch/w")
    assert graph.parameter_count == 16
    assert "If ×1" in graph.warnings[0]


def test_nodes_in_any_order_are_sorted():
    shape = node("Reshape", ["h", "dims"], ["y"], name="last")
    graph = read(model([shape, relu("x", "h", "first")], weights=[numbers("dims", [4, 1])]))
    assert [o.id for o in graph.operators] == ["first", "last"]
    assert graph.tensors["y"].shape == (4, 1), "shape inference needs the order too"


def test_weights_in_the_file_do_not_matter():
    values = helper.make_tensor("w", FLOAT, [64, 64], [0.5] * 4096)
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    inputs = [value("x", [1, 64])]
    with_values = read(model(nodes, inputs, weights=[values]))
    assert with_values == read(model(nodes, inputs, weights=[weight("w", [64, 64])]))


@pytest.mark.parametrize(
    ("nodes", "weights", "says"),
    [
        ([relu("nowhere", "y", "r")], [], "'r' reads 'nowhere', which nothing makes"),
        ([relu("x", "y"), relu("x", "y", "again")], [], "'y' is made twice"),
        ([relu("x", "x")], [], "'x' is made twice"),
        (
            [node("Add", ["x", "b"], ["a"], name="a"), relu("a", "b"), relu("b", "y")],
            [],
            "cycle, 'a' → 'b' → 'a'",
        ),
        ([relu("w", "y")], [weight("w", [2])], "nothing runs"),
        ([], [], "its graph is empty"),
        ([node("MatMul", ["x", "w"], ["y"])], [weight("w", [4, -4])], "'w': its shape (4, -4) is impossible"),
        ([node("MatMul", ["x", "w"], ["y"])], [weight("w", [4, 2**62])], "bytes="),
        ([node("MatMul", ["x", "w"], ["y"])], [weight("w", [1] * 65)], "impossible"),
    ],
)
def test_a_bad_graph_gives_one_line(nodes, weights, says):
    with pytest.raises(GraphError) as caught:
        read(model(nodes, weights=weights))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_truncation_is_refused():
    data = model([relu("x", "h"), relu("h", "y")])
    for length in range(1, len(data)):
        with pytest.raises(GraphError):
            read(data[:length])


# Parameters of torchvision's VGG19 and of the published SqueezeNet 1.1 and AlexNet (Caffe).
KNOWN_PARAMETERS = {
    "light_vgg19": 143_667_240,
    "light_squeezenet": 1_235_496,
    "light_bvlc_alexnet": 60_965_224,
}


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
    assert graph.parameter_count == KNOWN_PARAMETERS.get(graph.name, graph.parameter_count)


def nested(depth, calls):
    """Functions F0 … each of which calls the next ``calls`` times; the last calls F0 if ``calls`` is 1."""
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]
    made = []
    for level in range(depth):
        last = level == depth - 1
        following = "F0" if last and calls == 1 else f"F{level + 1}"
        names = ["a", *(f"t{i}" for i in range(calls - 1)), "b"]
        body = [node(following, [u], [v], domain="mine") for u, v in pairwise(names)]
        if last and calls > 1:
            body = [node("Relu", ["a"], ["b"])]
        made.append(helper.make_function("mine", f"F{level}", ["a"], ["b"], body, opsets))
    return made


@pytest.mark.parametrize(
    ("functions", "says"),
    [(nested(30, 2), "unfold to more than 200000 operators"), (nested(3, 1), "in a circle")],
    ids=["exponential", "recursive"],
)
def test_functions_that_explode_are_refused_at_once(functions, says):
    data = model([node("F0", ["x"], ["y"], domain="mine")], functions=functions, domains={"mine": 1})
    with pytest.raises(GraphError, match=says):
        read(data)


def test_a_domain_that_the_file_forgot_to_import_spoils_nothing():
    graph = read(model([relu("x", "h"), relu("h", "p"), node("Odd", ["p"], ["y"], domain="forgotten")]))
    assert [e.size_bytes for e in graph.edges] == [16.0, 16.0]


def test_a_name_that_is_not_utf8_gives_one_line():
    data = model([relu("x", "hidden"), relu("hidden", "y")])
    with pytest.raises(GraphError, match="not UTF-8"):
        read(data.replace(b"hidden", b"hi\xff\xfeen"))
