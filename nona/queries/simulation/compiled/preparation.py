"""Make the compiled engine ready: once, before anybody waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nona.core.compiled.families import compile_families

if TYPE_CHECKING:
    from nona.queries.system import System


def warm() -> None:
    """Load the engine into this process; compile it, with the shipped policies, where need be."""
    from nona.queries.simulation.compiled.core import load_core

    compile_families(["queries"])
    load_core()


def compile_all() -> None:
    """Compile the core and the policies of all registered schedulers, on disk."""
    from nona.queries.placement.fixed import local_placement
    from nona.queries.schedulers.registry import get_scheduler, scheduler_names
    from nona.queries.simulation.compiled.core import load_core
    from nona.queries.simulation.compiled.engine import is_compiled

    system = _smallest_system()
    for name in scheduler_names():
        scheduler = get_scheduler(name)
        placement = local_placement(system) if scheduler.needs_placement else None
        is_compiled(scheduler, scheduler.prepare(system, placement, {}))
    load_core()


def _smallest_system() -> System:
    """Make a system of two tasks on two servers: enough for a scheduler to prepare its tables."""
    from nona.models.contraction.task_graph import TaskGraph
    from nona.models.decomposition import decompose
    from nona.queries.system import BackgroundStream, QueryClass, System

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
        background_compute=BackgroundStream(),
        background_network=BackgroundStream(),
        queries=(query,),
    )
