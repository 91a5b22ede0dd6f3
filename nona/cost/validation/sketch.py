"""A builder for model graphs without a file: operators with shapes, one call each."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.graph.model import AttributeValue, Edge, ModelGraph, Operator, Tensor

_WIDTH = {"float32": 4, "float16": 2, "int64": 8}


class Sketch:
    """Collects operators; every call returns the name of the tensor that the operator makes.

    Examples
    --------
    >>> s = Sketch("one")
    >>> y = s.add("MatMul", [s.source("x", (4, 8)), s.weight((8, 2))], (4, 2))
    >>> s.graph().parameter_count
    16
    """

    def __init__(self, name: str, dtype: str = "float32") -> None:
        self.name = name
        self.dtype = dtype
        self._tensors: dict[str, Tensor] = {}
        self._operators: list[Operator] = []
        self._parameters: set[str] = set()

    def source(self, name: str, shape: Sequence[int], dtype: str | None = None) -> str:
        """An input of the model."""
        return self._tensor(name, shape, dtype or self.dtype)

    def weight(self, shape: Sequence[int]) -> str:
        """A parameter."""
        name = self._tensor(f"w{len(self._parameters)}", shape, self.dtype)
        self._parameters.add(name)
        return name

    def add(
        self, kind: str, inputs: Sequence[str], shape: Sequence[int], **attributes: AttributeValue
    ) -> str:
        """An operator with one output of the given shape."""
        number = len(self._operators)
        out = self._tensor(f"t{number}", shape, self.dtype)
        self._operators.append(Operator(f"{kind}_{number}", kind, tuple(inputs), (out,), attributes))
        return out

    def shape(self, name: str) -> tuple[int, ...]:
        """Shape of a tensor."""
        return self._tensors[name].shape or ()

    def graph(self) -> ModelGraph:
        """The model graph."""
        maker = {t: o.id for o in self._operators for t in o.outputs}
        edges = tuple(
            Edge(maker[t], o.id, t, self._tensors[t].size_bytes)
            for o in self._operators
            for t in dict.fromkeys(o.inputs)
            if t in maker
        )
        weights = frozenset(self._parameters)
        return ModelGraph(self.name, tuple(self._operators), edges, self._tensors, weights, weights)

    def _tensor(self, name: str, shape: Sequence[int], dtype: str) -> str:
        self._tensors[name] = Tensor(name, float(math.prod(shape) * _WIDTH[dtype]), tuple(shape), dtype)
        return name
