"""The least square of a job's visits, given how many of its sub-graphs split: lines below it.

A sub-graph that splits makes its sink queue again, so of z that do, the runs along the cut tasks number
z + 1. They hold at least all cut tasks and the interiors of the sub-graphs that do not split; so with
R(z) the work of all tasks less the z largest interiors, the squares are at least R²/(z + 1) (Cauchy),
and with task times of squared coefficient of variation v another v·Σp². The mean over random
configurations lies above the lower convex hull of that, at their mean z. (A sub-graph without a sink
splits without a new visit: its interior does not count in R, nor the sub-graph in z.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.capacity.class_loads import Loads
from nona.placement.shares.least_times import least_times, lower_hull
from nona.system import QueryClass, System

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Runs:
    """For one query class, times taken as q_v of :mod:`nona.placement.shares.least_times`.

    ``lines`` (constant, slope) bound the squares over ``work_s``², as a function of z ≤ ``most``.
    """

    work_s: float
    most: int
    lines: tuple[tuple[float, float], ...]


def runs_of(system: System, loads: Loads, speeds: Floats) -> list[Runs]:
    """The bound of every query class."""
    return [
        _runs(q, least_times(q.tasks.compute_s, loads.allowed[j], speeds[j]))
        for j, q in enumerate(system.queries)
    ]


def _runs(query: QueryClass, times: Floats) -> Runs:
    whole, free = float(times.sum()), 0.0
    interiors = []
    for s in query.decomposition.subgraphs:
        work = float(times[list(s.interior)].sum())
        if s.sink == VIRTUAL:
            free += work
        elif s.interior:
            interiors.append(work)
    interiors.sort(reverse=True)
    if whole <= 0:
        return Runs(1.0, len(interiors), ((0.0, 0.0),))
    drawn = query.service_scv * float((times**2).sum())
    taken = np.cumsum([0.0, *interiors])
    squares = [((max(whole - free - t, 0.0)) ** 2 / (z + 1) + drawn) / whole**2 for z, t in enumerate(taken)]
    return Runs(whole, len(interiors), tuple(lower_hull({float(z): g for z, g in enumerate(squares)})))
