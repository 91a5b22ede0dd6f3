"""Which engine answers, as a worker finds out: the compiled one once its machine code is there.

The only place that knows how to ask. Until the compiled engine is ready the SimPy engine answers; both
give the same results, bit for bit.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from types import ModuleType

from nona.schedulers.base import Prepared, Scheduler

COMPILED, SIMPY = "compiled", "simpy"


def _compiled() -> ModuleType | None:
    """The compiled engine's module, where this installation can run it."""
    try:
        module = importlib.import_module("nona.simulation.compiled")
    except ImportError:
        return None
    return module if hasattr(module, "is_ready") and hasattr(module, "warm") else None


def compiled_ready() -> bool:
    """Whether the compiled engine would start without compiling anything first."""
    module = _compiled()
    return bool(module is not None and module.is_ready())


def warm_compiled() -> bool:
    """Load the compiled engine into this process, compiling it where need be; whether there is one."""
    module = _compiled()
    if module is None:
        return False
    module.warm()
    return True


def engine_now() -> str:
    """The name of the engine that can answer at once."""
    return COMPILED if compiled_ready() else SIMPY


def plain_policies(engine: str, chosen: Sequence[tuple[Scheduler, Prepared]]) -> list[str]:
    """Schedulers whose decisions the compiled engine has to make in plain Python, so that it is slower."""
    if engine != COMPILED:
        return []
    is_compiled = importlib.import_module("nona.simulation.compiled.engine").is_compiled
    return [scheduler.name for scheduler, prepared in chosen if not is_compiled(scheduler, prepared)]
