"""Local functions of an ONNX model: inlined, after a look at how large the result would be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nona.errors import GraphError
from nona.graph.limits import MAX_OPERATORS
from nona.graph.text import one_line, quote

MAX_DEPTH = 200
Key = tuple[str, str, str]


def inline_functions(model: Any, filename: str) -> Any:
    """``model`` with every call of a local function replaced by the function's nodes.

    Raises
    ------
    GraphError
        When functions call each other in a circle or hundreds deep, when more than 200,000
        operators would result (functions that call functions twice grow exponentially), or when
        a call does not fit its function.
    """
    if not model.functions:
        return model
    from onnx import checker, inliner, shape_inference

    where = f"File {quote(filename)}"
    size = _Sizes(model.functions, where).of(model.graph.node, 0)
    if size > MAX_OPERATORS:
        raise GraphError(
            f"{where}: its local functions unfold to more than {MAX_OPERATORS} operators; "
            "give a smaller model."
        )
    try:
        return inliner.inline_local_functions(model)
    except (
        checker.ValidationError,
        shape_inference.InferenceError,
        RuntimeError,
        ValueError,
        TypeError,
    ) as error:
        detail = one_line(error, 120)
        raise GraphError(
            f"{where}: its local functions cannot be inlined ({detail}); export without."
        ) from None


class _Sizes:
    """Number of nodes that each function unfolds to, computed once per function."""

    def __init__(self, functions: Iterable[Any], where: str) -> None:
        self._functions: dict[Key, Any] = {(f.domain, f.name, f.overload): f for f in functions}
        self._known: dict[Key, int] = {}
        self._where = where

    def of(self, nodes: Iterable[Any], depth: int) -> int:
        """Nodes that ``nodes`` unfold to; bodies of control flow count as one."""
        if depth > MAX_DEPTH:
            raise GraphError(
                f"{self._where}: its local functions call each other in a circle or more than {MAX_DEPTH} "
                "deep; flatten them."
            )
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            if key not in self._functions:
                total += 1
                continue
            if key not in self._known:
                self._known[key] = self.of(self._functions[key].node, depth + 1)
            total += self._known[key]
        return total
