"""Which tensors of an ONNX graph depend on constants only, and which of those are weights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nona.graph.onnx.types import STANDARD, WEIGHT_TYPES, TensorType

# no inputs, yet not constants
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
_MEASURES = frozenset({"Shape", "Size"})  # read the shape of a weight, not the weight


@dataclass(slots=True)
class Node:
    """An ONNX node, its names fetched once.

    ``needs`` are all tensors that must exist before it runs: its inputs, and the outer tensors that
    its bodies read. ``owned`` are the constants stored in its bodies, (name, type).
    """

    proto: Any
    kind: str
    inputs: list[str]
    outputs: list[str]
    needs: Sequence[str]
    owned: tuple[tuple[str, TensorType], ...] = ()


def split_static(nodes: Sequence[Node], constants: Collection[str]) -> tuple[set[str], list[Node]]:
    """The static names and the nodes that run.

    A name is static if it is an initialiser or all inputs of its producer are static; a node
    whose outputs are static is folded into parameters. ``nodes`` must be in topological order.
    """
    static = {"", *constants}
    running = []
    for node in nodes:
        if static.issuperset(node.needs) and not _makes_anew(node):
            static.update(node.outputs)
        else:
            running.append(node)
    static.discard("")
    return static, running


def _makes_anew(node: Node) -> bool:
    if node.kind in _RANDOM:
        return True
    return not node.inputs and node.proto.domain not in STANDARD  # a source of data we do not know


def weights(
    nodes: Iterable[Node],
    running: Iterable[Node],
    static: Collection[str],
    outputs: Iterable[str],
    types: Mapping[str, TensorType],
) -> set[str]:
    """The stored weights that reach an operator that runs, or an output of the graph.

    A weight behind ``Transpose``, ``Cast`` or ``Reshape`` is the stored one, counted once. Stored
    are initialisers, ``Constant`` and ``ConstantOfShape``; the last stands for a weight in graphs
    that were stripped of theirs.
    """
    maker = {name: node for node in nodes for name in node.outputs if name in static}
    todo = {name for node in running for name in node.needs if name in static}
    todo |= {name for name in outputs if name in static}
    stack = sorted(todo)
    found: set[str] = set()
    while stack:
        name = stack.pop()
        node = maker.get(name)
        if node is None or node.kind in ("Constant", "ConstantOfShape"):
            if types.get(name, (0, None))[0] in WEIGHT_TYPES:
                found.add(name)
        elif node.kind not in _MEASURES:
            new = {n for n in node.needs if n and n not in todo}
            todo |= new
            stack.extend(sorted(new))
    return found
