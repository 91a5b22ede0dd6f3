"""Export a network to a weight-free ONNX graph that names no machine, path or source line."""

from __future__ import annotations

import ast
import logging
import math
import warnings
from collections.abc import Iterable

import onnx_ir as ir
import torch
from onnx import ModelProto
from onnxscript.optimizer import optimize_ir
from tools.networks import Built

NOT_SHIPPED = "weights-not-shipped"
WRAPPERS = ("network.",)  # module scopes of the wrappers in tools.networks
SMALL_INTEGERS, SMALL_FLOATS = 64, 1


def export(built: Built, name: str, facts: dict[str, str]) -> ModelProto:
    """The ONNX model of ``built``; ``facts`` become its metadata.

    Weights keep their name, type and dimensions and say that their content is in the file
    ``weights-not-shipped``. Scalars and small integer tensors (shapes, axes) keep their values.
    Nodes are named after the module that they belong to, ``layer1.0.conv1/Conv_3``.
    """
    for chatty in ("onnxscript", "onnx_ir", "torch.onnx"):
        logging.getLogger(chatty).setLevel(logging.ERROR)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The optimiser folds constants, which needs their values: on the meta device it runs
        # below, on a graph whose large weights have been declared unknown.
        program = torch.onnx.export(
            built.module,
            built.inputs,
            input_names=list(built.input_names),
            dynamo=True,
            optimize=built.allocated,
            verbose=False,
        )
    model = program.model
    if not built.allocated:
        _optimise_without_weights(model)
    _drop_weights(model.graph.initializers.values())
    _rename(model)
    _strip(model)
    model.graph.name = name
    model.metadata_props.update(facts)
    return ir.serde.serialize_model(model)


def _kept(value: ir.Value) -> bool:
    """Whether the value belongs to the graph (a shape, an axis, a scalar) and not to the weights."""
    size = math.prod(value.shape.numpy()) if value.shape is not None else 0
    integers = value.dtype in (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.BOOL)
    return size <= (SMALL_INTEGERS if integers else SMALL_FLOATS)


def _optimise_without_weights(model: ir.Model) -> None:
    held = {}
    for value in model.graph.initializers.values():
        tensor = value.const_value
        on_meta = isinstance(getattr(tensor, "raw", None), torch.Tensor) and tensor.raw.is_meta
        if on_meta or not _kept(value):
            held[value.name] = tensor
            value.shape, value.dtype = ir.Shape(tensor.shape), tensor.dtype
            value.const_value = None
    optimize_ir(model)
    for name, value in model.graph.initializers.items():
        if value.const_value is None:
            value.const_value = held[name]


def _drop_weights(values: Iterable[ir.Value]) -> None:
    for value in values:
        if _kept(value):
            continue
        value.const_value = ir.ExternalTensor(
            NOT_SHIPPED, None, None, value.dtype, shape=ir.Shape(value.shape), name=value.name or ""
        )


def _scope(node: ir.Node) -> str:
    """The innermost named module that the node comes from, as ``layer1.0.conv1``.

    A node that the optimiser made has no such note: it belongs to the module whose result it takes.
    """
    text = node.metadata_props.get("pkg.torch.onnx.name_scopes")
    if text is None:
        makers = [value.producer() for value in node.inputs if value is not None]
        return next((_scope(maker) for maker in makers if maker is not None), "")
    scopes = [s for s in ast.literal_eval(text)[:-1] if s]
    return _unwrapped(scopes[-1] + ".").rstrip(".") if scopes else ""


def _unwrapped(name: str) -> str:
    for prefix in WRAPPERS:
        name = name.removeprefix(prefix)
    return name


def _rename(model: ir.Model) -> None:
    for node in model.graph:
        own = (node.name or node.op_type).removeprefix("node_")
        scope = _scope(node)
        node.name = f"{scope}/{own}" if scope else own
    for value in list(model.graph.initializers.values()):
        value.name = _unwrapped(value.name or "")


def _strip(model: ir.Model) -> None:
    """Remove all that tells of the machine: stack traces, source lines, doc strings."""
    model.doc_string = model.graph.doc_string = None
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    values = [*model.graph.inputs, *model.graph.initializers.values()]
    for node in model.graph:
        node.doc_string = None
        node.metadata_props.clear()
        values += node.outputs
    for value in values:
        value.doc_string = None
        value.metadata_props.clear()
