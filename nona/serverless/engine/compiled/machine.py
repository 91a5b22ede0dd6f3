"""The loop as machine code, what it calls, and which systems it can simulate."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from nona.code_cache.folders import tell_not_kept
from nona.foreign.files import write_whole
from nona.scenario.serverless import LATE, ContainersSpec, DispatchSpec, SharingSpec, TransferSpec
from nona.serverless.engine.compiled import loop
from nona.serverless.engine.compiled import state as layout
from nona.serverless.engine.compiled.state import State
from nona.serverless.engine.options import COMPILED, PLAIN, RunOptions
from nona.serverless.system import ServerlessSystem
from nona.simulation.compiled.build import cache_folder, compile_function
from nona.simulation.compiled.preparation import run_in_background

_CLAIM = "serverless-preparing"


class Signatures(NamedTuple):
    """Numba's types of the functions that the loop calls: ``answer``, ``search``, ``tell``."""

    answer: Any
    search: Any
    tell: Any


@cache
def signatures() -> Signatures:
    """Make the types of the three functions."""
    from numba import float64, int64

    asked = int64(int64, int64, int64, int64, float64, float64, float64)
    return Signatures(asked, int64(int64, int64, int64), int64(int64))


@cache
def _load_loop(state_type: Any) -> Callable[..., int]:
    """``advance`` for states of this type: from disk in a fraction of a second, or compiled."""
    from numba import int64
    from numba.core import types

    functions = (types.FunctionType(signature) for signature in signatures())
    advance: Callable[..., int] = compile_function(
        loop.advance, int64(state_type, int64, *functions), loop=True
    )
    _mark_ready()
    return advance


def loop_for(state: State) -> Callable[..., int]:
    """The loop, for a state: all states are of one type."""
    import numba

    type_of: Callable[[object], Any] = numba.typeof
    return _load_loop(type_of(state))


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


def is_ready() -> bool:
    """Return whether the loop was compiled before and loads quickly; if not, a process begins to compile."""
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


#: What the loop knows; a part of a system that has more must have it as it is by default.
_KNOWN = {
    SharingSpec: frozenset(SharingSpec.model_fields),
    TransferSpec: frozenset({"local_latency", "local_bandwidth", "remote_latency", "remote_bandwidth"}),
    ContainersSpec: frozenset({"warm", "prewarm", "spare", "ewma_weight", "keep_alive"}),
    DispatchSpec: frozenset(
        {"first", "later", "rechecks", "blocking", "partial", "order", "late", "ready_first"}
    ),
}


def is_compiled(system: ServerlessSystem, run: RunOptions) -> bool:
    """Return whether the compiled engine simulates the system."""
    if run.engine == PLAIN or not suits(system):
        return False
    return run.engine == COMPILED or is_ready()


def suits(system: ServerlessSystem) -> bool:
    """Return whether the loop can simulate a system.

    vGPUs are counted, late calls are kept, transfers take their time alone, containers cost nothing while
    they wait and take no memory, numbers fit.
    """
    parts = (system.sharing, system.transfer, system.containers, system.dispatch)
    return (
        system.sharing.mode == "mig-counter"
        and system.network is None
        and system.memory is None
        and not system.idle_cost
        and not LATE.find(system.dispatch.late).drops
        and all(_is_known(part) for part in parts)
        and max(len(system.applications), len(system.invokers)) < layout.MOST_APPLICATIONS
        and max(len(system.functions), *(a.stages for a in system.applications)) < layout.MOST_STAGES
        and all(node.vgpus <= layout.MOST_SLOTS for node in system.invokers)
    )


def _is_known(part: SharingSpec | TransferSpec | ContainersSpec | DispatchSpec) -> bool:
    default = type(part)()
    others = type(part).model_fields.keys() - _KNOWN[type(part)]
    return all(getattr(part, name) == getattr(default, name) for name in others)
