"""Make the compiled engine ready: once, before anybody waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from nona import import_root
from nona.code_cache import tell_not_kept
from nona.simulation.compiled.build import cache_folder, is_ready, mark_ready

if TYPE_CHECKING:
    from nona.system import System


_CLAIM = "preparing"
_STALE_S = 3600.0  # whoever claimed the work so long ago has died; a busy machine may take half an hour


def warm() -> None:
    """Load the engine into this process; compile it, with the shipped policies, where need be."""
    from nona.simulation.compiled.core import load_core

    if is_ready():
        load_core()
    else:
        compile_all()


def compile_all() -> None:
    """Compile the core, the policies of all registered schedulers, and the placement's searches, on disk."""
    from nona.placement.fixed import local_placement
    from nona.placement.interiors.relaxed_columns import compile_searches
    from nona.schedulers.registry import get_scheduler, scheduler_names
    from nona.simulation.compiled.core import load_core
    from nona.simulation.compiled.engine import is_compiled

    system = _smallest_system()
    for name in scheduler_names():
        scheduler = get_scheduler(name)
        placement = local_placement(system) if scheduler.needs_placement else None
        is_compiled(scheduler, scheduler.prepare(system, placement, {}))
    load_core()
    compile_searches()
    mark_ready()


def prepare_in_background() -> None:
    """Let a process of its own compile the engine, unless one is at it or it is ready."""
    if not is_ready():
        run_in_background(f"{__name__}:compile_all", _CLAIM)


def compiling_s() -> float:
    """Seconds since a process began to compile the engine; 0 where none has."""
    with contextlib.suppress(OSError):
        return time.time() - (cache_folder() / _CLAIM).stat().st_mtime
    return 0.0


def run_in_background(compiles: str, claim: str) -> None:
    """Let a process of its own run ``module:function``, unless one is at it (file ``claim``)."""
    if not _claimed(claim):
        return
    module, _, function = compiles.partition(":")
    process = subprocess.Popen(
        [sys.executable, "-c", f"from {module} import {function}; {function}()"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=import_root(),
        start_new_session=True,  # it goes on when we end
    )
    with contextlib.suppress(OSError):  # without the process's id the claim holds for its time
        (cache_folder() / claim).write_text(str(process.pid), encoding="ascii")
    threading.Thread(target=process.wait, daemon=True, name="compile").start()


def _claimed(name: str = _CLAIM) -> bool:
    """Return whether this process may do the work: only one does at a time."""
    claim = cache_folder() / name
    with contextlib.suppress(OSError):
        if time.time() - claim.stat().st_mtime > _STALE_S or _is_gone(claim.read_text(encoding="ascii")):
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


def _smallest_system() -> System:
    """Make a system of two tasks on two servers: enough for a scheduler to prepare its tables."""
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
