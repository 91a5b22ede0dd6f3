"""The compiled loop and the compiled decision functions, each made once per process."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from nona.code_cache.folders import tell_not_kept
from nona.foreign.whole_files import write_whole
from nona.schedulers.base import Ready, View
from nona.simulation.compiled.events import loop, totals, view
from nona.simulation.compiled.machine.build import cache_folder, compile_function
from nona.simulation.compiled.machine.policies import adapter_source


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
    """Numba's types of what goes into the core."""

    state: Any
    bind: Any  # signatures
    pick: Any


@cache
def _types() -> _Types:
    from numba import boolean, float64, int64, void
    from numba.core import types as numba_types

    types: Any = numba_types  # it has no types of its own

    i, f = int64[::1], float64[::1]
    shown = types.NamedTuple([i, i, i, f, float64, float64, float64, float64, float64, f], View)
    ready = types.NamedTuple([int64, i, i, i, f, i, i, int64, i, i, f, i, i], Ready)
    return _Types(i, void(float64, int64, shown, i, f, f, i), boolean(float64, shown, ready, i, f, f, i))


@cache
def load_core() -> Core:
    """The core: from disk in a fraction of a second, or compiled, which takes many."""
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
        look=compile_function(view.look, every, loop=True),
        no_bind=compile_function(_no_bind, t.bind),
        no_pick=compile_function(_no_pick, t.pick),
    )
    gc.freeze()  # Numba leaves a million objects; to look through them again costs 0.1 s each time
    return core


@cache
def compiled_policy(decide: Any, kind: str, kinds: str, types: tuple[type, ...]) -> Any:
    """``decide`` of a scheduler of ``kind`` as a first-class function, for tables of these ``kinds``.

    ``kinds`` and ``types`` are those of :class:`~nona.simulation.compiled.machine.policies.FlatTables`.

    ``None`` where it cannot be compiled; that is found out once, not at every run.
    """
    from numba.core.errors import NumbaError

    if not isinstance(decide, FunctionType):
        return None
    kept = decide.__module__.split(".")[0] == "nona"
    source = adapter_source(kind, kinds)
    name = f"{decide.__module__}.{decide.__name__}.{types[0].__name__}.{kinds}"
    file = _written(name, source) if kept else None
    scope: dict[str, Any] = {f"tables{i}": made for i, made in enumerate(types)}
    scope |= {"decide": decide, "__name__": decide.__module__}
    exec(compile(source, str(file or f"<adapter of {name}>"), "exec"), scope)
    adapter: FunctionType = scope["adapter"]
    signature = _types().bind if kind == "bind" else _types().pick
    try:
        return compile_function(adapter, signature, file is not None)
    except (NumbaError, TypeError):  # the latter for functions that close over variables
        return None


def _written(name: str, source: str) -> Path | None:
    """A file with ``source`` in the cache: code is kept on disk only for functions that have a file."""
    file = cache_folder() / f"{name}.py"
    try:
        if not file.exists():
            write_whole(file, source.encode())
    except OSError as error:
        tell_not_kept(file.parent, error)
        return None
    return file
