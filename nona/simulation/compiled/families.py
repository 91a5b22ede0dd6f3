"""What is compiled before anybody waits for it: which families are ready, and the process that compiles them.

No family needs the code of another, nor does a run wait for this process: queries are simulated by SimPy
meanwhile, and of the others a run compiles what it calls, if that is not there yet.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from nona import import_root
from nona.code_cache import tell_not_kept
from nona.priority import LOWEST, give_way
from nona.registry import load
from nona.simulation.compiled.build import cache_folder, is_ready, mark_ready

if TYPE_CHECKING:
    from nona.system import System

#: What compiles each family, in the order in which that is done.
FAMILIES = {
    "queries": "nona.simulation.compiled.families:compile_all",
    "serverless": "nona.serverless.replications:compile_loop",
    "training": "nona.training.elastic.replications:make_ready",
    "language": "nona.language.run:make_ready",
    "searches": "nona.serverless.policies.esg.search:compile_searches",
    "learning": "studies.learning.training:make_ready",
}
_CLAIM = "preparing"
_STALE_S = 3600.0  # whoever claimed the work so long ago has died; a busy machine may take half an hour


def compile_families(families: Iterable[str] = FAMILIES) -> None:
    """Compile in this process what is not ready."""
    for family in families:
        if not is_ready(family):
            load(FAMILIES[family])()
            mark_ready(family)


def warm() -> None:
    """Load the engine into this process; compile it, with the shipped policies, where need be."""
    from nona.simulation.compiled.core import load_core

    compile_families(["queries"])
    load_core()


def compile_all() -> None:
    """Compile the core and the policies of all registered schedulers, on disk."""
    from nona.placement.fixed import local_placement
    from nona.schedulers.registry import get_scheduler, scheduler_names
    from nona.simulation.compiled.core import load_core
    from nona.simulation.compiled.engine import is_compiled

    system = _smallest_system()
    for name in scheduler_names():
        scheduler = get_scheduler(name)
        placement = local_placement(system) if scheduler.needs_placement else None
        is_compiled(scheduler, scheduler.prepare(system, placement, {}))
    load_core()


def _smallest_system() -> System:
    """Make a system of two tasks on two servers: enough for a scheduler to prepare its tables."""
    import numpy as np

    from nona.contraction.task_graph import TaskGraph
    from nona.decomposition import decompose
    from nona.system import QueryClass, Stream, System

    graph = TaskGraph.from_edges("two tasks", [1e-3, 1e-3], [(0, 1, 1e3)])
    query = QueryClass("two tasks", graph, decompose(graph.dag), rate=1.0)
    pair = np.arange(2, dtype=np.int64)
    return System(
        executor_server=pair,
        executor_class=np.zeros(2, dtype=np.int64),
        class_names=("gpu",),
        capacity=1e9,
        latency_s=0.0,
        discipline="fifo",
        background_compute=Stream(),
        background_network=Stream(),
        queries=(query,),
    )


def prepare_in_background(*families: str) -> bool:
    """Let a process of its own compile these, in this order, unless one is at it.

    Returns whether all are ready.
    """
    missing = [family for family in families if not is_ready(family)]
    if missing and _claimed():
        _start(missing)
    return not missing


def compiling() -> tuple[str, float] | None:
    """The family that a process compiles now, and for how many seconds; ``None`` where none does."""
    claim = cache_folder() / _CLAIM
    try:
        pid, _, family = claim.read_text(encoding="ascii").partition(" ")
        seconds = time.time() - claim.stat().st_mtime
    except OSError:
        return None
    return (family, max(0.0, seconds)) if family in FAMILIES and not _is_gone(pid) else None


def compile_in_turn(*families: str) -> None:
    """What the process in the background does, at the lowest priority.

    Where compiling fails, the claim stays for its time, so that nobody begins again at once.
    """
    give_way(LOWEST)
    claim = cache_folder() / _CLAIM
    try:
        for family in families:
            _note(claim, f"{os.getpid()} {family}")
            compile_families([family])
    except BaseException:
        _note(claim, "failed")
        raise
    with contextlib.suppress(OSError):
        claim.unlink()


def _start(families: Iterable[str]) -> None:
    program = f"from {__name__} import compile_in_turn; compile_in_turn(*{tuple(families)!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=import_root(),
        start_new_session=True,  # it goes on when we end
    )
    _note(cache_folder() / _CLAIM, str(process.pid))
    threading.Thread(target=process.wait, daemon=True, name="compile").start()


def _note(claim: Path, text: str) -> None:
    """Write into the claim who has the work; without that it holds for its time."""
    with contextlib.suppress(OSError):
        claim.write_text(text, encoding="ascii")


def _claimed() -> bool:
    """Return whether this process may have the work done: only one does it at a time."""
    claim = cache_folder() / _CLAIM
    with contextlib.suppress(OSError):
        pid = claim.read_text(encoding="ascii").partition(" ")[0]
        if time.time() - claim.stat().st_mtime > _STALE_S or _is_gone(pid):
            claim.unlink()
    try:
        os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    except OSError as error:
        tell_not_kept(claim.parent, error)
        return False
    return True


def _is_gone(pid: str) -> bool:
    """Return whether the process that has the work has ended; false where asking could do harm."""
    if not pid.isdigit() or os.name != "posix":
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
