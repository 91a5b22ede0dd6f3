"""The engines by name, and which of them answers.

All give the same records, bit for bit. ``compiled`` is the quick one; ``simpy`` is the one to read.
``auto`` is the compiled engine when its machine code lies ready on disk; until then SimPy answers,
and a process in the background compiles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nona.errors import SimulationError
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.compiled import is_ready, prepare_in_background
from nona.simulation.records.collected import OnProgress
from nona.simulation.records.run import RawRun
from nona.simulation.reference.engine import SimPyRun
from nona.simulation.sizes import RunSize
from nona.system import System

AUTO = "auto"
Engine = Callable[[System, Scheduler, Prepared, RunSize, OnProgress | None], RawRun]


def _simpy(
    system: System, scheduler: Scheduler, prepared: Prepared, size: RunSize, on_progress: OnProgress | None
) -> RawRun:
    return SimPyRun(system, scheduler, prepared, size, on_progress).run()


def _compiled(
    system: System, scheduler: Scheduler, prepared: Prepared, size: RunSize, on_progress: OnProgress | None
) -> RawRun:
    from nona.simulation.compiled.engine import run_compiled  # Numba takes most of a second to import

    return run_compiled(system, scheduler, prepared, size, on_progress)


ENGINES: Mapping[str, Engine] = {"compiled": _compiled, "simpy": _simpy}


def engine_named(name: str) -> str:
    """The engine that runs when ``name`` is asked for: itself, or for ``auto`` what is ready.

    Raises
    ------
    SimulationError
        For an unknown name.
    """
    if name in ENGINES:
        return name
    if name != AUTO:
        raise SimulationError(
            f"Engine {name!r} is not known; choose one of {', '.join((AUTO, *sorted(ENGINES)))}."
        )
    if is_ready():
        return "compiled"
    prepare_in_background()
    return "simpy"
