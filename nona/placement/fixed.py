"""Placements that are not optimised: everything local, everything spread. For comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import SubGraph
from nona.placement.configurations import to_configuration
from nona.placement.placement import Configuration, Placement, SubGraphPlacement
from nona.placement.prediction import predict
from nona.placement.shares.memory import default_shares
from nona.system import System

Floats = NDArray[np.float64]


def local_placement(system: System, shares: Floats | None = None) -> Placement:
    """Every job on one executor: no messages; without background an exact M/G/1 queue.

    ``shares`` (J, K) of the executor classes; by default every executor that holds the model's weights
    is drawn alike.
    """
    return _fixed(system, "local", lambda s, slots: local_configuration(s), (), shares)


def spread_placement(system: System, shares: Floats | None = None) -> Placement:
    """Every interior task on a server of its own, root and sink staying on the job's first server.

    Where the cluster has fewer servers than that, tasks are dealt out in turn to those there are.
    ``shares`` as for :func:`local_placement`.
    """
    slots = server_slots(system)
    widest = max((len(s.interior) for q in system.queries for s in q.decomposition.subgraphs), default=0)
    note = (
        (f"Spread: an interior of {widest} tasks is dealt out in turn to {slots} servers.",)
        if widest >= slots
        else ()
    )
    return _fixed(system, "spread", spread_configuration, note, shares)


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
    system: System,
    name: str,
    choose: Callable[[SubGraph, int], Configuration],
    notes: tuple[str, ...],
    shares: Floats | None,
) -> Placement:
    began = time.perf_counter()
    slots = server_slots(system)
    queries = tuple(
        tuple(SubGraphPlacement(s, (choose(s, slots),), np.ones(1)) for s in q.decomposition.subgraphs)
        for q in system.queries
    )
    used = default_shares(system) if shares is None else shares
    prediction = predict(system, queries, used)
    return Placement(
        queries,
        prediction,
        objective_s=prediction.jct_s,
        lower_bound_s=math.nan,
        solver=name,
        seconds=time.perf_counter() - began,
        notes=(*notes, "Fixed placement: not optimised, so it has no bound."),
        class_shares=used,
    )
