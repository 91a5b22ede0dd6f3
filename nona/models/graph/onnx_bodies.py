"""The bodies of If, Loop and Scan: which run, how often, on what.

A body becomes a model of its own. What it reads from outside is an input of it, or a constant where it is
one there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.models.graph.node_link_fields import MAX_TURNS
from nona.models.graph.onnx_shapes import FAILS, RUN_BY_VALUE
from nona.models.graph.onnx_tensors import (
    DTYPES,
    KEPT_ELEMENTS,
    OnnxNode,
    TensorType,
    bodies_of,
    read_outside,
)
from nona.models.graph.registry import Document
from nona.models.graph.text import quote

ReadBody = Callable[[Any], tuple[Document | None, Mapping[str, TensorType]]]
Value = Callable[[str], Any]

WHILE = 10**7  # exporters write a trip count beyond it for a loop that only its condition ends
_UNKNOWN: TensorType = (0, None)


@dataclass(frozen=True, slots=True)
class BodyReader:
    """Enters the nodes of ``model`` that have bodies: fills in ``bodies`` and ``turns`` of each.

    ``types`` and ``static`` are those of the model's tensors; ``read`` reads a body as a model, and gives
    its document (``None``: nothing runs in it) and the types in it.
    """

    model: Any
    types: Mapping[str, TensorType]
    static: AbstractSet[str]
    read: ReadBody

    def enter(self, node: OnnxNode, value: Value) -> Mapping[str, TensorType]:
        """Return the types of the outputs of ``node``, as far as its bodies tell them."""
        graphs = bodies_of(node.proto)
        if node.kind == "If":
            condition = value(node.inputs[0]) if node.inputs else None
            if condition is not None and np.size(condition) == 1:
                runs = "then_branch" if np.ravel(condition)[0] else "else_branch"
                graphs = [a.g for a in node.proto.attribute if a.name == runs]
        node.turns = self._iterations(node, value)
        documents, types = [], dict[str, TensorType]()
        for graph in graphs:
            document, inner = self.read(self._body_model(graph, node, value))
            documents += [] if document is None else [document]
            for name, kind in _outputs(node, graph, inner):
                types[name] = max(types.get(name, _UNKNOWN), kind, key=_elements)
        node.bodies = tuple(documents)
        if not documents:
            node.turns = 0
        return types

    def _iterations(self, node: OnnxNode, value: Value) -> int | None:
        if node.kind == "If":
            return 1
        if node.kind == "Loop":
            count = value(node.inputs[0]) if node.inputs and node.inputs[0] else None
            most = None if count is None or np.size(count) != 1 else int(np.ravel(count)[0])
            most = most if most is not None and 0 <= most < WHILE else None
            turns = _turns_until(self.model, node, value, most)
            node.bounded = turns is None and most is not None
            return most if turns is None else turns
        if node.kind == "Scan":
            scanned, axes = _scanned(node)
            shape = self.types.get(scanned[0], _UNKNOWN)[1] if scanned else None
            axis = axes[0] if axes else 0
            if shape is not None and -len(shape) <= axis < len(shape):
                return min(shape[axis], MAX_TURNS)
        return None

    def _body_model(self, graph: Any, node: OnnxNode, value: Value) -> Any:
        """Return the body ``graph`` of ``node`` as an ONNX ``ModelProto`` of its own.

        A tensor read from outside becomes an initializer where ``value`` knows its number, and it has at
        most ``KEPT_ELEMENTS`` elements. A larger constant becomes an initializer without its data; any
        other tensor becomes an input.
        """
        from onnx import ModelProto, helper, numpy_helper

        model = ModelProto(ir_version=self.model.ir_version)
        model.opset_import.extend(self.model.opset_import)
        model.graph.CopyFrom(graph)
        del model.graph.input[:]
        for declared, kind in zip(graph.input, _given(node, self.types), strict=False):
            own = model.graph.input.add()
            own.CopyFrom(declared)
            if kind[1] is not None:
                own.CopyFrom(helper.make_tensor_value_info(declared.name, *kind))
        named = {v.name for v in model.graph.input}
        for name in dict.fromkeys(read_outside(graph)):
            element, shape = self.types.get(name, _UNKNOWN)
            number = value(name)
            if name in named:
                continue
            if number is not None and np.size(number) <= KEPT_ELEMENTS:
                model.graph.initializer.append(numpy_helper.from_array(np.asarray(number), name))
            elif name in self.static and shape is not None and element in DTYPES:
                tensor = model.graph.initializer.add(name=name, data_type=element, dims=shape)
                tensor.data_location = 1  # TensorProto.EXTERNAL
            else:
                model.graph.input.append(helper.make_tensor_value_info(name, element, shape))
        return model


MOST_TRIED = 2000  # turns of a loop's condition


def _turns_until(model: Any, node: OnnxNode, value: Value, most: int | None) -> int | None:
    """Return the turns of a Loop, at most ``most``, after which its condition is false; ``None``: not known.

    The operators of the condition run alone, turn by turn, where all their inputs are known before.
    """
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator

    graph = bodies_of(node.proto)[0]
    inputs, outputs = [v.name for v in graph.input], [v.name for v in graph.output]
    maker = {name: step for step in graph.node for name in step.output}
    constants = {t.name: t for t in graph.initializer}
    carried, needed, todo = set[int](), set[str](), [outputs[0]]
    while todo:
        name = todo.pop()
        if name in needed or not name:
            continue
        needed.add(name)
        if name in maker:
            if maker[name].op_type not in RUN_BY_VALUE or bodies_of(maker[name]):
                return None
            todo += maker[name].input
        elif name in inputs[2:]:
            place = inputs.index(name)
            carried.add(place)
            todo.append(outputs[place - 1])
        elif name not in inputs and name not in constants:
            outside = value(name)
            if outside is None:
                return None
            constants[name] = numpy_helper.from_array(np.asarray(outside), name)
    go = value(node.inputs[1]) if node.inputs[1:2] != [""] and node.inputs[1:] else np.bool_(True)
    state = {place: value(node.inputs[place]) for place in carried}
    if go is None or any(start is None for start in state.values()):
        return None
    steps = [step for step in graph.node if needed.intersection(step.output)]
    if not carried and needed <= {outputs[0], inputs[1]}:
        return most if bool(go) else 0  # the condition stays what it is
    fed, kept = [*inputs[:2], *(inputs[p] for p in carried)], [outputs[0], *(outputs[p - 1] for p in carried)]
    ends = [
        [helper.make_tensor_value_info(name, 0, None) for name in dict.fromkeys(names)]
        for names in (fed, kept)
    ]
    kept_constants = [tensor for name, tensor in constants.items() if name in needed]
    body = helper.make_graph(steps, "condition", ends[0], ends[1], kept_constants)
    turn = 0
    try:
        runner = ReferenceEvaluator(helper.make_model(body, opset_imports=list(model.opset_import)))
        while bool(go) and turn < min(MOST_TRIED if most is None else most, MOST_TRIED):
            feeds = dict(zip(fed, (np.int64(turn), np.asarray(go), *state.values()), strict=True))
            results = dict(zip(dict.fromkeys(kept), runner.run(None, feeds), strict=True))
            go, state = results[outputs[0]], {place: results[outputs[place - 1]] for place in state}
            turn += 1
    except FAILS:
        return None
    return turn if not bool(go) or turn == most else None


def warnings(nodes: Sequence[OnnxNode]) -> list[str]:
    """List the parts of the control flow that the file does not determine, a line each."""
    branches = sum(len(node.bodies) > 1 for node in nodes)
    loops = [node for node in nodes if node.turns is None]
    lines = []
    if branches:
        lines.append(f"{branches} × If: which branch runs is not in the file; the one with more work counts.")
    if bounded := sum(node.bounded for node in nodes):
        lines.append(f"{bounded} × Loop: its condition may end it before the turns that count.")
    if loops:
        kinds = ", ".join(sorted({quote(node.kind, 30) for node in loops}))
        lines.append(f"{len(loops)} × {kinds}: how often its body runs is not in the file; one turn counts.")
    return lines


def _given(node: OnnxNode, types: Mapping[str, TensorType]) -> Iterator[TensorType]:
    """Yield the types of what a body is given, in the order of its inputs."""
    if node.kind == "Loop":
        yield from ((7, ()), (9, ()))
        yield from (types.get(name, _UNKNOWN) for name in node.inputs[2:])
    elif node.kind == "Scan":
        scanned, axes = _scanned(node)
        yield from (types.get(name, _UNKNOWN) for name in node.inputs[: len(node.inputs) - len(scanned)])
        for place, name in enumerate(scanned):
            element, shape = types.get(name, _UNKNOWN)
            axis = axes[place] if place < len(axes) else 0
            fits = shape is not None and -len(shape) <= axis < len(shape)
            yield element, tuple(np.delete(shape, axis).tolist()) if shape is not None and fits else None


def _outputs(node: OnnxNode, graph: Any, inner: Mapping[str, TensorType]) -> Iterator[tuple[str, TensorType]]:
    kinds = [inner.get(v.name, _UNKNOWN) for v in graph.output]
    carried = len(kinds)
    if node.kind == "Loop":
        kinds, carried = kinds[1:], len(node.inputs) - 2
    elif node.kind == "Scan":
        carried = len(node.inputs) - len(_scanned(node)[0])
    axes = _numbers(node, "scan_output_axes")
    for place, (name, (element, shape)) in enumerate(zip(node.outputs, kinds, strict=False)):
        if place >= carried and shape is not None:
            axis = axes[place - carried] if place - carried < len(axes) else 0
            axis += (len(shape) + 1) * (axis < 0)
            shape = None if node.turns is None else (*shape[:axis], node.turns, *shape[axis:])
        if name:
            yield name, (element, shape)


def _elements(kind: TensorType) -> float:
    return -1.0 if kind[1] is None else float(math.prod(kind[1]))


def _scanned(node: OnnxNode) -> tuple[list[str], tuple[int, ...]]:
    """Return the inputs that a Scan goes through, and along which axes."""
    count = next((a.i for a in node.proto.attribute if a.name == "num_scan_inputs"), 0)
    return node.inputs[max(len(node.inputs) - count, 0) :], _numbers(node, "scan_input_axes")


def _numbers(node: OnnxNode, name: str) -> tuple[int, ...]:
    return next((tuple(a.ints) for a in node.proto.attribute if a.name == name), ())
