"""Placements that are not optimised: everything local, everything spread. For comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from nona.decomposition.subgraph import SubGraph
from nona.placement.configurations import to_configuration
from nona.placement.placement import Configuration, Placement, SubGraphPlacement
from nona.placement.prediction import predict
from nona.system import System


def local_placement(system: System) -> Placement:
    """Every job on one executor: no messages; without background an exact M/G/1 queue."""
    return _fixed(system, "local", lambda s, slots: local_configuration(s), ())


def spread_placement(system: System) -> Placement:
    """Every interior task on a server of its own, root and sink staying on the job's first server.

    Where the cluster has fewer servers than that, tasks are dealt out in turn to those there are.
    """
    slots = server_slots(system)
    widest = max((len(s.interior) for q in system.queries for s in q.decomposition.subgraphs), default=0)
    note = (
        (f"Spread: an interior of {widest} tasks is dealt out in turn to {slots} servers.",)
        if widest >= slots
        else ()
    )
    return _fixed(system, "spread", spread_configuration, note)


def server_slots(system: System) -> int:
    """Servers that a sub-graph can use; in a system of one server, its executors."""
    return system.servers if system.servers > 1 else system.executors


def local_configuration(subgraph: SubGraph) -> Configuration:
    """Everything on the root's server.

    >>> local_configuration(SubGraph(0, 3, (1, 2)))
    Configuration(parts=((1, 2),), root_part=0, sink_part=0)
    """
    return to_configuration([0] * (len(subgraph.interior) + 1), subgraph.interior)


def spread_configuration(subgraph: SubGraph, slots: int) -> Configuration:
    """A part for every interior task, as far as ``slots`` servers besides the root's allow.

    >>> spread_configuration(SubGraph(0, 3, (1, 2)), 80)
    Configuration(parts=((1,), (2,)), root_part=-1, sink_part=-1)
    """
    if slots < 2:
        return local_configuration(subgraph)
    labels = [1 + i % (slots - 1) for i in range(len(subgraph.interior))]
    return to_configuration([*labels, 0], subgraph.interior)


def _fixed(
    system: System, name: str, choose: Callable[[SubGraph, int], Configuration], notes: tuple[str, ...]
) -> Placement:
    began = time.perf_counter()
    slots = server_slots(system)
    queries = tuple(
        tuple(SubGraphPlacement(s, (choose(s, slots),), np.ones(1)) for s in q.decomposition.subgraphs)
        for q in system.queries
    )
    prediction = predict(system, queries)
    return Placement(
        queries,
        prediction,
        objective_s=prediction.jct_s,
        lower_bound_s=math.nan,
        solver=name,
        seconds=time.perf_counter() - began,
        notes=(*notes, "Fixed placement: not optimised, so it has no bound."),
    )
