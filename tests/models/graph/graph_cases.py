"""Small ONNX models for the tests of the readers, made with ``onnx.helper``; and refusals of one line."""

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from nona.core.errors import GraphError

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


def value(name, dims, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def weight(name, dims, kind=FLOAT, location="not-shipped"):
    """An initialiser without its values."""
    tensor = TensorProto(name=name, data_type=kind, dims=dims)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    return tensor


def numbers(name, items):
    return helper.make_tensor(name, INT64, [len(items)], list(items))


def model(nodes, inputs=(), outputs=("y",), weights=(), *, infos=(), functions=(), domains=None):
    """A serialised model; without ``inputs`` its input is ``x``, 1×4 floats."""
    ends = [value(o, None) if isinstance(o, str) else o for o in outputs]
    graph = helper.make_graph(
        list(nodes), "main", list(inputs) or [value("x", [1, 4])], ends, list(weights), value_info=list(infos)
    )
    imports = [helper.make_opsetid(d, v) for d, v in ({"": 20} | dict(domains or {})).items()]
    made = helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)
    return bytes(made.SerializeToString())


def op(text, **more):
    """A node written as "Kind inputs -> outputs"; without a name it is called by its place."""
    (kind, *inputs), outputs = (side.split() for side in text.split("->"))
    return helper.make_node(kind, inputs, outputs, **more)


def relu(source, target, name=""):
    return helper.make_node("Relu", [source], [target], name=name or target)


def refusal(read, *given, **more):
    """The one line that ``read`` says."""
    with pytest.raises(GraphError) as caught:
        read(*given, **more)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    return str(caught.value)
