"""Counts operators, edges and multiply-adds of an exported graph, apart from Nona's own code.

The figures go into the manifest, and the tests compare them with what Nona's reader and cost
layer say: two implementations that share nothing but the ``onnx`` package.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from onnx import ModelProto, NodeProto, TensorProto, shape_inference

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Counts:
    """``nodes`` counts all nodes of the file, ``operators`` those that depend on an input.

    ``edges`` are pairs (producer, consumer) of operators; ``weight_elements`` counts the
    elements of every floating-point tensor that is stored, once however many operators use it.
    """

    nodes: int
    operators: int
    edges: int
    macs: int
    weight_elements: int


def count(model: ModelProto) -> Counts:
    """Counts of ``model``."""
    shapes = _shapes(model)
    static = {t.name for t in model.graph.initializer} | {""}
    running: list[NodeProto] = []
    for node in model.graph.node:
        if all(name in static for name in node.input):
            static.update(node.output)
        else:
            running.append(node)
    maker = {name: i for i, node in enumerate(running) for name in node.output if name}
    edges = {(maker[name], i) for i, node in enumerate(running) for name in node.input if name in maker}
    return Counts(
        nodes=len(model.graph.node),
        operators=len(running),
        edges=len(edges),
        macs=sum(_macs(node, shapes) for node in running),
        weight_elements=sum(math.prod(t.dims) for t in model.graph.initializer if _is_weight(t)),
    )


def _is_weight(tensor: TensorProto) -> bool:
    floating = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.DOUBLE)
    return tensor.data_location == TensorProto.EXTERNAL and tensor.data_type in floating


def _shapes(model: ModelProto) -> Shapes:
    inferred = shape_inference.infer_shapes(model, data_prop=True).graph
    shapes = {t.name: tuple(t.dims) for t in inferred.initializer}
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        shapes[value.name] = tuple(d.dim_value for d in value.type.tensor_type.shape.dim)
    return shapes


def _macs(node: NodeProto, shapes: Shapes) -> int:
    """Multiply-adds of a convolution or a matrix product; 0 for everything else."""
    if node.op_type == "Conv":
        return math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    if node.op_type == "MatMul":
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    if node.op_type == "Gemm":
        transposed = any(a.name == "transA" and a.i for a in node.attribute)
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if transposed else 1]
    return 0
