"""One operator as the FLOP and byte rules see it: shapes, attributes, bytes of tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nona.models.graph.model import ModelGraph, Operator, StatedWork

INDEX_DTYPES = frozenset({"int32", "int64", "uint32", "uint64", "bool"})
MOST_INDEX_ELEMENTS = 4096


class UnknownShapeError(Exception):
    """A rule asked for a shape that the model does not state; the operator counts as unknown."""


@dataclass(frozen=True, slots=True)
class Site:
    """One operator in its graph.

    ``tensor_bytes`` gives every tensor's size at the precision in use; bytes are those of one
    query.
    """

    operator: Operator
    graph: ModelGraph
    tensor_bytes: Mapping[str, float]

    def attribute(self, name: str, default: int) -> int:
        """Return an attribute that is a number; ``default`` when it is not given."""
        value = self.operator.attributes.get(name, default)
        return int(value) if isinstance(value, int | float) else default

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return an attribute that is a list of whole numbers; empty when it is not given."""
        value = self.operator.attributes.get(name, ())
        return tuple(int(v) for v in value) if isinstance(value, tuple) else ()

    def text(self, name: str) -> str:
        """Return an attribute that is a text; empty when it is not given."""
        value = self.operator.attributes.get(name, "")
        return value if isinstance(value, str) else ""

    def has_input(self, place: int) -> bool:
        """Return whether the operator has the optional input."""
        return place < len(self.operator.inputs) and self.operator.inputs[place] != ""

    def input_shape(self, place: int = 0) -> tuple[int, ...]:
        """Return the shape of an input; empty when it is not given or not known."""
        return self._shape(self.operator.inputs, place)

    def output_shape(self, place: int = 0) -> tuple[int, ...]:
        """Return the shape of an output; empty when it is not given or not known."""
        return self._shape(self.operator.outputs, place)

    def _shape(self, names: tuple[str, ...], place: int) -> tuple[int, ...]:
        tensor = self.graph.tensors.get(names[place]) if place < len(names) else None
        if tensor is None or tensor.shape is None:
            raise UnknownShapeError
        return tensor.shape

    @property
    def input_elements(self) -> int:
        """Return the number of elements of the first input."""
        return math.prod(self.input_shape())

    @property
    def output_elements(self) -> int:
        """Return the number of elements of the first output."""
        return math.prod(self.output_shape())

    def is_static(self, name: str) -> bool:
        """Return whether a tensor is a parameter, or computed from parameters only."""
        return name in self.graph.static or name in self.graph.parameters

    def bytes_of(self, names: Iterable[str]) -> float:
        """Bytes of the named tensors, each once."""
        return sum(self.tensor_bytes.get(n, 0.0) for n in dict.fromkeys(names) if n)

    @property
    def read_bytes(self) -> float:
        """Bytes of all activations that the operator reads."""
        return self.bytes_of(n for n in self.operator.inputs if not self.is_static(n))

    @property
    def weight_bytes(self) -> float:
        """Bytes of all parameters that the operator reads."""
        return self.bytes_of(n for n in self.operator.inputs if self.is_static(n))

    @property
    def write_bytes(self) -> float:
        """Bytes of the outputs that somebody reads."""
        return self.bytes_of(self.operator.outputs)

    def work(
        self,
        flops: float = 0.0,
        macs: float = 0.0,
        read: float | None = None,
        write: float | None = None,
        weight: float | None = None,
    ) -> StatedWork:
        """FLOPs 2·``macs`` + ``flops``; bytes are those of all tensors where not given."""
        return StatedWork(
            flops=2.0 * macs + flops,
            macs=float(macs),
            read_bytes=self.read_bytes if read is None else read,
            write_bytes=self.write_bytes if write is None else write,
            weight_bytes=self.weight_bytes if weight is None else weight,
        )

    @property
    def handles_indices(self) -> bool:
        """True for an operator on shapes or indices: all outputs are short lists of whole numbers.

        Such operators run on the host beside the kernels, or when the engine is built.
        """
        seen = False
        for name in self.operator.outputs:
            tensor = self.graph.tensors.get(name)
            if tensor is None:
                continue
            if tensor.shape is None or tensor.dtype not in INDEX_DTYPES:
                return False
            if math.prod(tensor.shape) > MOST_INDEX_ELEMENTS:
                return False
            seen = True
        return seen
