"""The loop as machine code, and Python functions that it can call."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from nona.code_cache.folders import tell_not_kept
from nona.foreign.whole_files import write_whole
from nona.serverless.engine.compiled import loop
from nona.serverless.engine.compiled.layout import State
from nona.simulation.compiled.machine.build import cache_folder, compile_function
from nona.simulation.compiled.preparation import run_in_background

_CLAIM = "serverless-preparing"


class Signatures(NamedTuple):
    """Numba's types of what the loop asks: ``answer``, ``search``, ``tell``."""

    answer: Any
    search: Any
    tell: Any


@cache
def signatures() -> Signatures:
    """Of the three functions."""
    from numba import float64, int64

    asked = int64(int64, int64, int64, int64, float64, float64, float64)
    return Signatures(asked, int64(int64, int64, int64), int64(int64))


@cache
def load_loop(state_type: Any) -> Callable[..., int]:
    """``advance`` for states of this type: from disk in a fraction of a second, or compiled."""
    from numba import int64
    from numba.core import types

    functions = (types.FunctionType(signature) for signature in signatures())
    made: Callable[..., int] = compile_function(loop.advance, int64(state_type, int64, *functions), loop=True)
    _mark_ready()
    return made


def loop_for(state: State) -> Callable[..., int]:
    """The loop, for a state: all states are of one type."""
    import numba

    type_of: Callable[[object], Any] = numba.typeof
    return load_loop(type_of(state))


def callback(function: Callable[..., int], signature: Any) -> Any:
    """A Python function as one that machine code can call; it must be kept as long as that may happen."""
    from numba.core import types

    kinds: dict[Any, Any] = {types.int64: ctypes.c_int64, types.float64: ctypes.c_double}
    answer, *given = (kinds[kind] for kind in (signature.return_type, *signature.args))
    made = ctypes.CFUNCTYPE(answer, *given)(function)

    class Callback(types.WrapperAddressProtocol):
        """What Numba takes for a function."""

        def __wrapper_address__(self) -> int:
            return ctypes.cast(made, ctypes.c_void_p).value or 0

        def signature(self) -> Any:
            return signature

    return Callback()


def is_ready() -> bool:
    """Whether the loop was compiled before, so that loading it is quick; if not, a process begins to."""
    if _ready_file().exists():
        return True
    run_in_background("nona.serverless.engine.compiled", _CLAIM)
    return False


def _mark_ready() -> None:
    try:
        write_whole(_ready_file(), b"ready\n")
    except OSError as error:
        tell_not_kept(cache_folder(), error)


@cache
def _ready_file() -> Path:
    """A file that is there when the loop of these sources was compiled."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return cache_folder() / f"serverless-{digest.hexdigest()[:16]}"
