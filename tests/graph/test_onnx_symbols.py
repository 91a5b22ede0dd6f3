"""Symbolic dimensions: asked for when missing, bound when given, and everything follows from them."""

import pickle

import pytest
from onnx import helper
from onnx_cases import INT64, model, relu, value, weight

from nona.errors import GraphError
from nona.graph.model import MissingDimensions
from nona.graph.onnx_reader import evaluate
from nona.graph.readers import read_model

node = helper.make_node


def language_model():
    nodes = [
        node("Gather", ["embedding", "ids"], ["h"], name="look_up"),
        node("MatMul", ["h", "w"], ["p"], name="project"),
        relu("p", "y"),
    ]
    stale = [value("h", ["batch", "sequence", 8]), value("p", ["batch", "2*sequence", 16])]
    ends = [value("y", ["batch", "out", 16])]
    ids = [value("ids", ["batch", "sequence"], INT64)]
    return model(nodes, ids, ends, [weight("embedding", [100, 8]), weight("w", [8, 16])], infos=stale)


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
    given = {"batch": batch, "sequence": sequence}
    graph = read_model(language_model(), "m.onnx", symbols=given, guarded=False)
    assert graph.tensors["h"].shape == (batch, sequence, 8)
    assert graph.tensors["y"].shape == (batch, sequence, 16), "a wrong type in the file does not matter"
    assert [e.size_bytes for e in graph.edges] == [4 * batch * sequence * 8, 4 * batch * sequence * 16]
    assert graph.parameter_count == 800 + 128
    assert graph.symbols == {"batch": batch, "sequence": sequence}


def test_sums_of_dimensions_are_computed():
    nodes = [node("MatMul", ["mask", "x"], ["y"])]
    data = model(nodes, [value("mask", [1, "past + 1"]), value("x", ["past + 1", 4])])
    with pytest.raises(MissingDimensions) as caught:
        read_model(data, "m.onnx", guarded=False)
    assert caught.value.names == ("past",)
    graph = read_model(data, "m.onnx", symbols={"past": 9}, guarded=False)
    assert graph.tensors["x"].shape == (10, 4)
    assert graph.warnings == ()


def test_unnamed_and_negative_dimensions_are_asked_for_by_place():
    data = model([relu("x", "y")], [value("x", [None, -1, 3])])
    with pytest.raises(MissingDimensions) as caught:
        read_model(data, "m.onnx", guarded=False)
    assert caught.value.names == ("x[0]", "x[1]")
    graph = read_model(data, "m.onnx", symbols={"x[0]": 2, "x[1]": 5}, guarded=False)
    assert graph.tensors["y"].shape == (2, 5, 3)


def test_dimensions_the_model_does_not_have_are_mentioned():
    graph = read_model(model([relu("x", "y")]), "m.onnx", symbols={"batch": 4}, guarded=False)
    assert graph.warnings == ("The model has no dimension called 'batch'; ignored.",)
    assert graph.symbols == {}


@pytest.mark.parametrize("number", [0, -1, 10**10, 2.5, "8", True])
def test_impossible_numbers_are_refused(number):
    with pytest.raises(GraphError, match=r"Dimension 'batch': .* must be a whole number from 1 to"):
        read_model(model([relu("x", "y")]), "m.onnx", symbols={"batch": number}, guarded=False)


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


def test_an_expression_below_zero_is_refused():
    with pytest.raises(GraphError, match=r"it would be -4"):
        read_model(
            model([relu("x", "y")], [value("x", ["n - 5"])]), "m.onnx", symbols={"n": 1}, guarded=False
        )
