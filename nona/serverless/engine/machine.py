"""The loop as machine code, and Python functions that it calls."""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from nona.code_cache import tell_not_kept
from nona.foreign import write_whole
from nona.serverless.engine import loop
from nona.serverless.engine.layout import State
from nona.simulation.compiled.build import cache_folder, compile_function


class Signatures(NamedTuple):
    """Numba's types of the functions that the loop calls: for plans, and for anything else."""

    answer: Any
    ask: Any


@cache
def signatures() -> Signatures:
    """Make the types of the functions."""
    from numba import float64, int64

    asked = int64(int64, int64, int64, int64, float64, float64, float64)
    return Signatures(asked, int64(int64, int64, int64, int64))


def loop_for(state: State) -> Callable[..., int]:
    """The loop, for a state: all states are of one type. From disk in a fraction of a second, or compiled."""
    import numba

    type_of: Callable[[object], Any] = numba.typeof
    return _load_loop(type_of(state))


@cache
def _load_loop(state_type: Any) -> Callable[..., int]:
    from numba import int64
    from numba.core import types

    if not is_ready():
        print("nona: the serverless engine is compiled, once: up to a minute.", file=sys.stderr)
    functions = (types.FunctionType(signature) for signature in signatures())
    advance: Callable[..., int] = compile_function(loop.advance, int64(state_type, *functions), loop=True)
    try:
        write_whole(_ready_file(), b"ready\n")
    except OSError as error:
        tell_not_kept(cache_folder(), error)
    return advance


def is_ready() -> bool:
    """Return whether the loop was compiled before, so that it loads quickly."""
    return _ready_file().exists()


@cache
def _ready_file() -> Path:
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return cache_folder() / f"serverless-{digest.hexdigest()[:16]}"


def callback(function: Callable[..., int], signature: Any) -> Any:
    """A Python function as one that machine code can call; it must be kept as long as that may happen."""
    from numba.core import types

    kinds: dict[Any, Any] = {types.int64: ctypes.c_int64, types.float64: ctypes.c_double}
    answer, *given = (kinds[kind] for kind in (signature.return_type, *signature.args))
    c_function = ctypes.CFUNCTYPE(answer, *given)(function)

    class Callback(types.WrapperAddressProtocol):
        """The function in a form that Numba accepts."""

        def __wrapper_address__(self) -> int:
            return ctypes.cast(c_function, ctypes.c_void_p).value or 0

        def signature(self) -> Any:
            return signature

    return Callback()
