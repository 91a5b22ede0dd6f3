"""Decision functions as machine code with one fixed signature, whatever their tables are.

A scheduler's tables are a named tuple of arrays, numbers and further such tuples; every scheduler may
have another. So that one core serves all, tables travel as two flat arrays, and a small adapter,
generated from the fields, makes the named tuple again and calls the decision function.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.simulation.compiled.memory.arrays import Floats, Ints

_HEAD = {
    "bind": "def adapter(now, query, view, ints, floats, uniforms, out):",
    "pick": "def adapter(now, view, ready, ints, floats, uniforms, out):",
}
_CALL = {
    "bind": "    decide(now, query, view, {tables}, uniforms, out)",
    "pick": "    return decide(now, view, ready, {tables}, uniforms, out)",
}


@dataclass(frozen=True, slots=True)
class FlatTables:
    """Tables as two arrays, and how to read them.

    ``kinds`` names each field's kind: ``i`` and ``f`` are arrays, ``I`` and ``F`` single numbers, and
    brackets stand around those of a named tuple in it. ``types`` are the types of the named tuples, the
    whole first, then in order of their brackets. ``ints`` begins with two borders per field.
    """

    kinds: str
    types: tuple[type, ...]
    ints: Ints
    floats: Floats

    def place_of(self, field: int) -> slice:
        """Where the array field of this number lies; fields of inner tuples count."""
        return slice(*self.ints[2 * field : 2 * field + 2].tolist())


class NotFlatError(TypeError):
    """Tables that are not a named tuple of one-dimensional arrays and numbers."""


def flatten_tables(tables: Any) -> FlatTables:
    """Flatten a named tuple of arrays, numbers and named tuples.

    Raises
    ------
    NotFlatError
        For anything else; such a policy is called as plain Python.

    Examples
    --------
    >>> from nona.schedulers.queues.random_executor import TaskCounts
    >>> flat = flatten_tables(TaskCounts(np.array([3, 4])))
    >>> flat.kinds, flat.ints.tolist()
    ('i', [2, 4, 3, 4])
    """
    if not _is_named_tuple(tables):
        raise NotFlatError(f"{type(tables).__name__} is not a named tuple")
    kinds, types, arrays = "", [type(tables)], []
    for name, value in _fields(tables):
        if name == "(":
            types.append(type(value))
        if name in "()":
            kinds += name
            continue
        array = np.asarray(value)
        if array.ndim > 1 or array.dtype.kind not in "iubf":
            raise NotFlatError(f"field {name!r} is not an array of numbers")
        kind = "i" if array.dtype.kind in "iub" else "f"
        kinds += kind if array.ndim else kind.upper()
        arrays.append(array)
    return _flat(kinds, tuple(types), arrays)


def _is_named_tuple(value: Any) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _fields(tables: Any) -> Iterator[tuple[str, Any]]:
    """The fields in order; those of a named tuple among them stand between brackets."""
    for name, value in zip(tables._fields, tables, strict=True):
        if _is_named_tuple(value):
            yield "(", value
            yield from _fields(value)
            yield ")", value
        else:
            yield name, value


def _flat(kinds: str, types: tuple[type, ...], arrays: Sequence[NDArray[Any]]) -> FlatTables:
    ints: list[Ints] = []
    floats: list[Floats] = []
    borders, at = [], {True: 2 * len(arrays), False: 0}
    for array in arrays:
        whole = array.dtype.kind in "iub"
        borders += [at[whole], at[whole] + array.size]
        at[whole] += array.size
        if whole:
            ints.append(array.astype(np.int64).ravel())
        else:
            floats.append(array.astype(np.float64).ravel())
    return FlatTables(
        kinds,
        types,
        np.concatenate([np.array(borders, dtype=np.int64), *ints]),
        np.concatenate([np.zeros(0), *floats]),
    )


def adapter_source(kind: str, kinds: str) -> str:
    """Python text of the adapter for a scheduler of ``kind`` with tables of ``kinds``.

    The types of the tables are ``tables0``, ``tables1``, … there.

    >>> print(adapter_source("pick", "(I)F"))
    def adapter(now, view, ready, ints, floats, uniforms, out):
        return decide(now, view, ready, tables0(tables1(ints[ints[0]]), floats[ints[2]]), uniforms, out)
    <BLANKLINE>
    """
    made: list[list[str]] = [[]]  # arguments of the named tuples that are open, the whole first
    types, number = ["tables0"], 0
    opened = 0
    for field in kinds:
        if field == "(":
            opened += 1
            types.append(f"tables{opened}")
            made.append([])
        elif field == ")":
            inner = made.pop()
            made[-1].append(f"{types.pop()}({', '.join(inner)})")
        else:
            made[-1].append(_field_source(field, number))
            number += 1
    call = _CALL[kind].format(tables=f"{types[0]}({', '.join(made[0])})")
    return f"{_HEAD[kind]}\n{call}\n"


def _field_source(kind: str, number: int) -> str:
    array = "ints" if kind in "iI" else "floats"
    begin, end = f"ints[{2 * number}]", f"ints[{2 * number + 1}]"
    return f"{array}[{begin}]" if kind.isupper() else f"{array}[{begin}:{end}]"
