"""The compiled loop and the compiled decision functions, each made once per process.

A scheduler's tables are a named tuple of arrays, numbers and further such tuples; every scheduler may
have another. So that one core serves all, tables travel as two flat arrays, and a small adapter,
generated from the fields, makes the named tuple again and calls the decision function.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.compiled.build import cache_folder, compile_function, sources_hash
from nona.core.compiled.cache import tell_not_kept
from nona.core.compiled.memory import Floats, Ints
from nona.core.foreign import write_whole
from nona.queries.schedulers.base import Ready, SystemView
from nona.queries.simulation.compiled.events import jobs as totals
from nona.queries.simulation.compiled.events import loop

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
        """Return the slice of the array field of this number; fields of inner tuples count."""
        return slice(*self.ints[2 * field : 2 * field + 2].tolist())


class NotFlatError(TypeError):
    """Tables that are not a named tuple of one-dimensional arrays and numbers."""


def flatten_tables(tables: Any) -> FlatTables:
    """Flatten a named tuple of arrays, numbers and named tuples.

    >>> from nona.queries.schedulers.random_executor import TaskCounts
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
    """Yield the fields in order; those of a named tuple among them stand between brackets."""
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
    arguments: list[list[str]] = [[]]  # arguments of the named tuples that are open, the whole first
    types, number = ["tables0"], 0
    opened = 0
    for field in kinds:
        if field == "(":
            opened += 1
            types.append(f"tables{opened}")
            arguments.append([])
        elif field == ")":
            inner = arguments.pop()
            arguments[-1].append(f"{types.pop()}({', '.join(inner)})")
        else:
            arguments[-1].append(_field_source(field, number))
            number += 1
    call = _CALL[kind].format(tables=f"{types[0]}({', '.join(arguments[0])})")
    return f"{_HEAD[kind]}\n{call}\n"


def _field_source(kind: str, number: int) -> str:
    array = "ints" if kind in "iI" else "floats"
    begin, end = f"ints[{2 * number}]", f"ints[{2 * number + 1}]"
    return f"{array}[{begin}]" if kind.isupper() else f"{array}[{begin}:{end}]"


@dataclass(frozen=True)
class Core:
    """``advance(state, bind, pick)``, ``absorb_all(state, now)`` and ``look(state, now)`` as machine code.

    ``no_bind`` and ``no_pick`` stand where no decision function of that kind is called.
    """

    advance: Callable[..., int]
    absorb_all: Callable[..., None]
    busy_and_work: Callable[..., None]
    look: Callable[..., None]
    no_bind: Any
    no_pick: Any


def _no_bind(now: float, query: int, view: Any, ints: Any, floats: Any, uniforms: Any, out: Any) -> None:
    return


def _no_pick(now: float, view: Any, ready: Any, ints: Any, floats: Any, uniforms: Any, out: Any) -> bool:
    return False


class _Types(NamedTuple):
    state: Any
    bind: Any  # signatures
    pick: Any


@cache
def _types() -> _Types:
    from numba import boolean, float64, int64, void
    from numba.core import types as numba_types

    types: Any = numba_types  # it has no types of its own

    i, f = int64[::1], float64[::1]
    shown = types.NamedTuple([i, i, i, f, float64, float64, float64, float64, float64, f], SystemView)
    ready = types.NamedTuple([int64, i, i, i, f, i, i, int64, i, i, f, i, i], Ready)
    return _Types(i, void(float64, int64, shown, i, f, f, i), boolean(float64, shown, ready, i, f, f, i))


@cache
def load_core() -> Core:
    """Return the core: from disk in a fraction of a second, or compiled, which takes many."""
    from numba import float64, int64
    from numba.core import types

    t = _types()
    advance = int64(t.state, types.FunctionType(t.bind), types.FunctionType(t.pick))
    every = types.void(t.state, float64)
    both = types.void(t.state, float64, float64[:, ::1], float64[:, ::1])
    core = Core(
        advance=compile_function(loop.advance, advance, loop=True),
        absorb_all=compile_function(totals.absorb_all, every, loop=True),
        busy_and_work=compile_function(totals.busy_and_work, both, loop=True),
        look=compile_function(loop.look, every, loop=True),
        no_bind=compile_function(_no_bind, t.bind),
        no_pick=compile_function(_no_pick, t.pick),
    )
    gc.freeze()  # Numba leaves a million objects; to look through them again costs 0.1 s each time
    return core


@cache
def compiled_policy(decide: Any, kind: str, kinds: str, types: tuple[type, ...]) -> Any:
    """``decide`` of a scheduler of ``kind`` as a first-class function, for tables of these ``kinds``.

    ``kinds`` and ``types`` are those of :class:`~nona.queries.simulation.compiled.core.FlatTables`.

    ``None`` where it cannot be compiled; that is found out once, not at every run.
    """
    from numba.core.errors import NumbaError

    if not isinstance(decide, FunctionType):
        return None
    kept = decide.__module__.split(".")[0] == "nona"
    source = adapter_source(kind, kinds)
    name = f"{decide.__module__}.{decide.__name__}.{types[0].__name__}.{kinds}"
    file = _written(name, source) if kept else None
    scope: dict[str, Any] = {f"tables{i}": table_type for i, table_type in enumerate(types)}
    scope |= {"decide": decide, "__name__": decide.__module__}
    exec(compile(source, str(file or f"<adapter of {name}>"), "exec"), scope)
    adapter: FunctionType = scope["adapter"]
    signature = _types().bind if kind == "bind" else _types().pick
    try:
        return compile_function(adapter, signature, file is not None)
    except (NumbaError, TypeError):  # the latter for functions that close over variables
        return None


def _written(name: str, source: str) -> Path | None:
    """Write ``source`` to a file in the cache: Numba keeps code on disk only for functions with a file."""
    file = cache_folder() / f"{name}-{sources_hash('queries')}.py"
    try:
        if not file.exists():
            write_whole(file, source.encode())
    except OSError as error:
        tell_not_kept(file.parent, error)
        return None
    return file
