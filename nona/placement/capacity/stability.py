"""Whether any placement is stable: the overloaded resource, its utilisation, and the servers needed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from nona.errors import PlacementError
from nona.system import System
from nona.units import format_bandwidth

Floats = NDArray[np.float64]


def check_feasible(system: System, shares: Floats | None = None) -> None:
    """Raise unless the local placement is stable.

    Under given shares of the executor classes (a uniform draw by default) the load on the executors
    is the same for every placement, and a placement that sends nothing exists, so a stable placement
    exists exactly when every executor class is loaded below 1 and the link's background alone is
    below 1.

    Raises
    ------
    PlacementError
        Names the resource, its utilisation, and the number of servers or the capacity that would do.
    """
    if not system.queries:
        raise PlacementError("Workload: it has no query classes; add at least one model with a rate.")
    _check_executors(system, shares)
    _check_links(system)


def _check_links(system: System) -> None:
    """Every link's background must leave it some capacity."""
    offered = np.array([stream.rate * stream.mean for _, stream in system.link_streams])
    worst = int(np.argmax(offered / system.link_capacity))
    traffic, capacity = float(offered[worst]), float(system.link_capacity[worst])
    if traffic <= 0 or traffic < capacity:
        return
    several = len(system.link_names) > 1
    raise PlacementError(
        f"{f'Link {system.link_names[worst]!r}' if several else 'Link'}: background traffic "
        f"{format_bandwidth(traffic)} is {traffic / capacity:.3g} of the capacity "
        f"{format_bandwidth(capacity)}, it must be below 1; raise the capacity above "
        f"{format_bandwidth(traffic)} or lower the background (more servers do not help)."
    )


def executor_utilization(system: System, shares: Floats | None = None) -> tuple[float, tuple[float, ...]]:
    """Background utilisation of an executor, and the queries' for each executor class."""
    stream = system.background_compute
    rows = system.uniform_shares if shares is None else shares
    work = np.zeros(len(system.class_names))
    for q, row in zip(system.queries, rows, strict=True):
        work += q.rate * row * q.tasks.compute_s.sum(axis=1)
    counts = system.class_counts
    used = np.divide(work, counts, out=np.zeros(len(work)), where=counts > 0)
    return stream.rate * stream.mean, tuple(used.tolist())


def servers_needed(system: System, shares: Floats | None = None) -> int | None:
    """Servers of the present mix that bring every executor below utilisation 1; None: no number does."""
    background, queries = executor_utilization(system, shares)
    if background >= 1:
        return None
    factor = max(queries) / (1.0 - background)
    needed = math.floor(system.servers * factor * (1 + 1e-12)) + 1
    return max(needed, 1)


def _check_executors(system: System, shares: Floats | None) -> None:
    background, queries = executor_utilization(system, shares)
    worst, k = max(
        (background + q, k)
        for k, (q, n) in enumerate(zip(queries, system.class_counts.tolist(), strict=True))
        if n > 0
    )
    if worst < 1:
        return
    needed = servers_needed(system, shares)
    what = (
        f"Executors of class {system.class_names[k]!r}: utilisation {worst:.3g} must be below 1 "
        f"(background {background:.3g}, queries {queries[k]:.3g} on {system.class_counts[k]} executors)"
    )
    if needed is None:
        raise PlacementError(
            f"{what}; lower the background load, which overloads executors for any number of servers."
        )
    raise PlacementError(
        f"{what}; use {needed} servers of this mix in place of {system.servers}, or lower the rates."
    )
