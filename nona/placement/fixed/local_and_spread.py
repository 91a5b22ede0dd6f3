"""Placements that are not optimised: everything local, everything spread. For comparison."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import SubGraph
from nona.placement.capacity.memory import default_shares
from nona.placement.configurations.extremes import local_configuration, server_slots, spread_configuration
from nona.placement.formula.prediction import predict
from nona.placement.result.configuration import Configuration, SubGraphPlacement
from nona.placement.result.placement import Placement
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
        (f"Spread: an interior of {widest} tasks is distributed round robin over {slots} servers.",)
        if widest >= slots
        else ()
    )
    return _fixed(system, "spread", spread_configuration, note, shares)


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
