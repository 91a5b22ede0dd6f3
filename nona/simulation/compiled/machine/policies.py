"""Decision functions as machine code with one fixed signature, whatever their tables are.

A scheduler's tables are a named tuple of arrays and numbers; every scheduler may have another. So
that one core serves all, tables travel as two flat arrays, and a small adapter, generated from the
fields, makes the named tuple again and calls the decision function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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

    ``kinds`` names each field's kind: ``i`` and ``f`` are arrays, ``I`` and ``F`` single numbers.
    ``ints`` begins with two borders per field.
    """

    kinds: str
    ints: Ints
    floats: Floats


class NotFlatError(TypeError):
    """Tables that are not a named tuple of one-dimensional arrays and numbers."""


def flatten_tables(tables: Any) -> FlatTables:
    """Flatten a named tuple of arrays and numbers.

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
    if not isinstance(tables, tuple) or not hasattr(tables, "_fields"):
        raise NotFlatError(f"{type(tables).__name__} is not a named tuple")
    kinds, borders = "", []
    ints: list[Ints] = []
    floats: list[Floats] = []
    at = {"i": 2 * len(tables), "f": 0}
    for name, value in zip(tables._fields, tables, strict=True):
        array = np.asarray(value)
        whole = array.dtype.kind in "iub"
        if array.ndim > 1 or array.dtype.kind not in "iubf":
            raise NotFlatError(f"field {name!r} is not an array of numbers")
        kind = "i" if whole else "f"
        begin = at[kind]
        at[kind] += array.size
        borders += [begin, at[kind]]
        kinds += kind if array.ndim else kind.upper()
        if whole:
            ints.append(array.astype(np.int64).ravel())
        else:
            floats.append(array.astype(np.float64).ravel())
    return FlatTables(
        kinds,
        np.concatenate([np.array(borders, dtype=np.int64), *ints]),
        np.concatenate([np.zeros(0), *floats]),
    )


def adapter_source(kind: str, kinds: str) -> str:
    """Python text of the adapter for a scheduler of ``kind`` with tables of ``kinds``.

    >>> print(adapter_source("pick", "I"))
    def adapter(now, view, ready, ints, floats, uniforms, out):
        return decide(now, view, ready, tables(ints[ints[0]]), uniforms, out)
    <BLANKLINE>
    """
    fields = []
    for k, field in enumerate(kinds):
        array = "ints" if field in "iI" else "floats"
        begin, end = f"ints[{2 * k}]", f"ints[{2 * k + 1}]"
        fields.append(f"{array}[{begin}]" if field.isupper() else f"{array}[{begin}:{end}]")
    call = _CALL[kind].format(tables=f"tables({', '.join(fields)})")
    return f"{_HEAD[kind]}\n{call}\n"
