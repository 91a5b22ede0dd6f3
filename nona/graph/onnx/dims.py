"""Bind the symbolic dimensions of an ONNX model to numbers, or ask for the missing ones."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from nona.errors import GraphError
from nona.graph.onnx.names import all_text
from nona.graph.symbols import MAX_DIMENSION, MissingDimensions
from nona.graph.text import one_line, quote

# exporters write sums and products of other dimensions, for example "past + 1" and "2*s0"
_EXPRESSION = re.compile(r"\s*(?:[A-Za-z_]\w*|\d+)(?:(?: [-+] | ?\* ?| ?// ?)(?:[A-Za-z_]\w*|\d+)){1,8}\s*")
_OPERATIONS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


def evaluate(text: str, symbols: Mapping[str, int]) -> tuple[int | None, tuple[str, ...]]:
    """The value of a symbolic dimension, or the names it still needs.

    >>> evaluate("past + 1", {"past": 7}), evaluate("past + 1", {}), evaluate("batch-size", {})
    ((8, ()), (None, ('past',)), (None, ('batch-size',)))
    """
    if text in symbols:
        return symbols[text], ()
    if not _EXPRESSION.fullmatch(text):
        return None, (text,)
    tree = ast.parse(text.strip(), mode="eval").body
    missing = tuple(
        dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id not in symbols)
    )
    return (None, missing) if missing else (_value(tree, symbols), ())


def _value(node: ast.expr, symbols: Mapping[str, int]) -> int:
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, symbols), _value(node.right, symbols)
        if isinstance(node.op, ast.FloorDiv) and right == 0:
            raise GraphError("Dimension: division by 0; correct the numbers given for the dimensions.")
        return _OPERATIONS[type(node.op)](left, right)
    if isinstance(node, ast.Name):
        return symbols[node.id]
    return int(ast.literal_eval(node))


def bind_dimensions(model: Any, symbols: Mapping[str, int], name: str) -> tuple[dict[str, int], list[str]]:
    """Write numbers into the symbolic dimensions of ``model`` (an ``onnx.ModelProto``), in place.

    Only the graph's inputs are asked about: everything else follows from them. An unnamed dimension
    of an input is called ``input[axis]``.

    Returns
    -------
    tuple
        The symbols that the model has, with their numbers, and warnings.

    Raises
    ------
    MissingDimensions
        When ``symbols`` lacks a dimension of an input.
    GraphError
        When an expression such as ``past - 1`` gives a number that is no dimension.
    """
    graph = model.graph
    constants = {t.name for t in graph.initializer}
    used: dict[str, int] = {}
    missing: dict[str, None] = {}
    for value in graph.input:
        if value.name in constants:
            continue  # IR version 3 and older list the initialisers here too
        for axis, dim in enumerate(_dims(value)):
            if dim.HasField("dim_value") and dim.dim_value >= 0:
                continue
            all_text((dim.dim_param, value.name))
            label = dim.dim_param or f"{value.name}[{axis}]"
            number, need = evaluate(label, symbols)
            missing.update(dict.fromkeys(one_line(n, 100) for n in need))
            if number is not None:
                _set(dim, number, label)
                used |= {k: v for k, v in symbols.items() if k == label or k in re.findall(r"\w+", label)}
    if missing:
        raise MissingDimensions.of(name, tuple(missing))
    changed = _bind_inner(graph, symbols)
    notes = []
    extra = sorted(set(symbols) - set(used) - changed)
    if extra:
        notes.append(f"The model has no dimension called {', '.join(map(quote, extra[:8]))}; ignored.")
    return used, notes


def _dims(value: Any) -> Iterator[Any]:
    tensor = value.type.tensor_type
    if value.type.WhichOneof("value") == "tensor_type" and tensor.HasField("shape"):
        yield from tensor.shape.dim


def _set(dim: Any, number: int, label: str) -> None:
    if not 0 <= number <= MAX_DIMENSION:
        raise GraphError(
            f"Dimension {quote(label)}: it would be {quote(number)}, but must be from 0 to {MAX_DIMENSION}; "
            "give other numbers."
        )
    dim.dim_value = number


def _bind_inner(graph: Any, symbols: Mapping[str, int]) -> set[str]:
    """Bind what can be bound in the types of outputs and inner tensors; the names that occurred."""
    found: set[str] = set()
    for values in (graph.value_info, graph.output):
        for value in values:
            for dim in _dims(value):
                if not dim.dim_param or not isinstance(dim.dim_param, str):
                    continue
                number, _ = evaluate(dim.dim_param, symbols)
                if number is not None and 0 <= number <= MAX_DIMENSION:
                    found |= {dim.dim_param, *re.findall(r"\w+", dim.dim_param)}
                    dim.dim_value = number
    return found
