"""The least time of a query class as a function of how fast its executors are: lines below it.

1. Task times of class j at shares s are at least y·q_v, with y = Σ_k s_jk r_jk, r_jk the work of a
   job on class k relative to its quickest class, and q_v = min_k p_kv/r_jk. (They are equal where all
   tasks speed up alike.) So T_j ≥ h_j(y) + W^j − W₀, h_j being the least time of any configuration
   with these task times, the link idle and every visit waiting W₀, the wait of background work
   alone: every path has a visit, and none waits less.
2. A path is y·(seconds) + (constants ≥ 0), so h_j(y) ≥ (y/y')·h_j(y') for y ≤ y'. With h_j known on
   a grid, the lower convex hull of these lines is a bound for all y between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.class_loads import Loads
from nona.placement.configurations.labels import ENUMERATED
from nona.placement.configurations.shape import Shape
from nona.placement.formula.model import Model, build_model
from nona.placement.program.problem import build_problem, groups_of
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link
from nona.placement.waits.link_route import quickest_link
from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.system import System

Floats = NDArray[np.float64]
CandidatesOf = Callable[[Shape, Link], Candidates]
_GRID = 12


def speeds_of(system: System, loads: Loads) -> Floats:
    """(J, K) r_jk: work of a job on each class relative to the quickest that it may use."""
    work = np.array([q.tasks.compute_s.sum(axis=1) for q in system.queries])
    least = np.where(loads.allowed, work, np.inf).min(axis=1, keepdims=True)
    speeds: Floats = np.divide(work, least, out=np.ones(work.shape), where=least > 0)
    return speeds


def least_times(compute_s: Floats, allowed: NDArray[np.bool_], speeds: Floats) -> Floats:
    """(T,) q_v of a query class with ``compute_s`` (K, T): times on every class are at least r_k·q_v."""
    result: Floats = np.where(allowed[:, None], compute_s / speeds[:, None], np.inf).min(axis=0)
    return result


def hulls_of(
    system: System, loads: Loads, candidates_of: CandidatesOf, speeds: Floats
) -> list[list[tuple[float, float]]]:
    """For each query class lines (constant, slope in y) below h_j, W₀ already taken off."""
    fastest = np.where(loads.allowed, speeds, np.inf).min(axis=1)
    slowest = np.where(loads.allowed, speeds, -np.inf).max(axis=1)
    points = 1 if np.array_equal(fastest, slowest) else _GRID
    grid = [fastest * (slowest / fastest) ** (i / max(points - 1, 1)) for i in range(points)]
    values = np.array([_idle_times(system, loads, candidates_of, speeds, y) for y in grid])
    return [_hull([float(y[j]) for y in grid], values[:, j].tolist()) for j in range(len(speeds))]


def _idle_times(
    system: System, loads: Loads, candidates_of: CandidatesOf, speeds: Floats, y: Floats
) -> Floats:
    """(J,) h_j(y_j) − W₀."""
    queries = []
    for j, q in enumerate(system.queries):
        times = y[j] * least_times(q.tasks.compute_s, loads.allowed[j], speeds[j])[None]
        queries.append(replace(q, tasks=replace(q.tasks, compute_s=times)))
    alone = replace(
        system,
        executor_class=np.zeros(system.executors, dtype=np.int64),
        class_names=("any",),
        queries=tuple(queries),
        class_memory_bytes=None,
    )
    model = build_model(alone, lambda shape, link: _enough(shape, quickest_link(system, link), candidates_of))
    stream = system.background_compute
    wait = fifo_wait_s(stream.rate * stream.mean, stream.rate * second_moment(stream))
    return _least_times(model, wait)


def _enough(shape: Shape, link: Link, candidates_of: CandidatesOf) -> Candidates:
    """What a bound needs: of large interiors the local configuration, as a column stands for the rest."""
    if shape.m <= ENUMERATED:
        return candidates_of(shape, link)
    local = np.zeros((1, shape.m + 1), dtype=np.int64)
    return Candidates(shape, local, link, exhaustive=False, note=f"interior of {shape.m} tasks: local only")


def _least_times(model: Model, wait_s: float) -> Floats:
    """The least time of each query class when every visit waits ``wait_s``, the first not counted."""
    groups = groups_of(model)
    problem = build_problem(model, groups, wait_s, relaxed=True)
    # How often a message crosses which of several links depends on the shares: then any wait may be 0.
    idle = problem.least_wait if problem.network is None else 0.0
    least = np.minimum.reduceat(problem.lines(idle), problem.start[:-1]) if groups else np.zeros(0)
    total = np.array([c.sum() for c in model.cut_s]) + (model.first_visits - 1.0) * wait_s
    for g, group in enumerate(groups):
        weight = max(float(model.weights[group.query]), 1e-12)
        total[group.query] += float(least[g]) / weight
    return total


def _hull(y: list[float], h: list[float]) -> list[tuple[float, float]]:
    """Lines whose maximum lies below every (y/y_{i+1})·h_{i+1} on [y_i, y_{i+1}]."""
    points = {y[0]: h[0]}
    for low, high, value in zip(y[:-1], y[1:], h[1:], strict=True):
        for at, bound in ((high, value), (low, value * low / high)):
            points[at] = min(points.get(at, math.inf), bound)
    return lower_hull(points)


def lower_hull(points: Mapping[float, float]) -> list[tuple[float, float]]:
    """Lines (constant, slope) whose maximum is the largest convex function below the points.

    >>> lower_hull({0.0: 4.0, 1.0: 3.0, 2.0: 0.0})
    [(4.0, -2.0)]
    """
    corners: list[tuple[float, float]] = []
    for x, v in sorted(points.items()):
        while len(corners) > 1 and _above(corners[-2], corners[-1], (x, v)):
            corners.pop()
        corners.append((x, v))
    if len(corners) == 1:
        return [(corners[0][1], 0.0)]
    lines = []
    for (x0, v0), (x1, v1) in pairwise(corners):
        slope = (v1 - v0) / (x1 - x0)
        lines.append((v0 - slope * x0, slope))
    return lines


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
