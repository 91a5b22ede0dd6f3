"""ONNX bytes → protobuf message with its functions inlined, and its nodes in topological order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nona.errors import GraphError
from nona.graph.dag import Dag
from nona.graph.limits import MAX_OPERATORS, check_count
from nona.graph.onnx.bodies import enter_bodies
from nona.graph.onnx.functions import inline_functions
from nona.graph.onnx.names import all_text
from nona.graph.onnx.static import Node
from nona.graph.structure.order import cycle_message, find_cycle
from nona.graph.text import quote


def parse_model(data: bytes, filename: str) -> Any:
    """The protobuf message with its local functions inlined, if it is a model at all."""
    import onnx
    from google.protobuf.message import DecodeError

    where = f"File {quote(filename)}"
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError:  # also when memory runs out
        large = " or unfolds to more than the memory limit," if len(data) > 10_000_000 else ""
        raise GraphError(
            f"{where}: it is not an ONNX model,{large} or it was cut short; export or copy it again."
        ) from None
    check_count(len(model.graph.node), MAX_OPERATORS, "operators", filename)
    if not model.graph.node and not model.opset_import and not model.graph.input:
        raise GraphError(f"{where}: it is not an ONNX model; export the model to ONNX.")
    if not model.graph.node:
        raise GraphError(f"{where}: its graph is empty; give a model with at least one operator.")
    if not model.opset_import:
        raise GraphError(f"{where}: it names no operator set, so it is not complete; export it again.")
    model = inline_functions(model, filename)
    check_count(len(model.graph.node), MAX_OPERATORS, "operators", filename)
    return model


def sorted_nodes(graph: Any, constants: set[str], name: str) -> list[Node]:
    """The nodes in a topological order; ``graph.node`` is put into that order too."""
    nodes = []
    for proto in graph.node:
        inputs = list(proto.input)
        nodes.append(Node(proto, proto.op_type, inputs, list(proto.output), inputs))
    for node in nodes:
        if node.proto.attribute:
            enter_bodies(node)
        all_text((node.kind, *node.needs, *node.outputs))
    maker: dict[str, int] = {}
    known = {"", *constants, *(v.name for v in graph.input)}
    all_text(known)
    sources = set(known)
    in_order = True
    for place, node in enumerate(nodes):
        in_order = in_order and known.issuperset(node.needs)
        for output in node.outputs:
            if output in maker or (output and output in sources):
                raise GraphError(f"Graph {quote(name)}: tensor {quote(output)} is made twice; rename one.")
            if output:
                maker[output] = place
                known.add(output)
    if in_order:
        return nodes
    return _reordered(graph, nodes, maker, sources, name)


def _reordered(
    graph: Any, nodes: Sequence[Node], maker: Mapping[str, int], sources: set[str], name: str
) -> list[Node]:
    arcs = []
    for place, node in enumerate(nodes):
        for tensor in node.needs:
            if tensor in maker:
                arcs.append((maker[tensor], place))
            elif tensor not in sources:
                raise GraphError(
                    f"Graph {quote(name)}: operator {quote(node.proto.name or node.kind)} reads "
                    f"{quote(tensor)}, which nothing makes; add its producer or make it an input."
                )
    dag = Dag.from_edges(len(nodes), arcs)
    cycle = find_cycle(dag)
    if cycle:
        raise GraphError(cycle_message(name, [nodes[v].proto.name or nodes[v].kind for v in cycle]))
    order = dag.topological_order()
    protos = [type(nodes[v].proto).FromString(nodes[v].proto.SerializeToString()) for v in order]
    del graph.node[:]
    graph.node.extend(protos)
    result = [nodes[v] for v in order]
    for node, proto in zip(result, graph.node, strict=True):
        node.proto = proto
    return result
