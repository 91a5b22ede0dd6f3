"""A bound below every placement at every choice of class shares.

1. Task times of class j at shares s are at least y·q_v, with y = Σ_k s_jk r_jk, r_jk the work of a
   job on class k relative to its quickest class, and q_v = min_k p_kv/r_jk. (They are equal where all
   tasks speed up alike.) So T_j ≥ h_j(y) + W^j − W₀, h_j being the least time of any configuration
   with these task times, the link idle and every visit waiting W₀, the wait of background work
   alone: every path has a visit, and none waits less.
2. A path is y·(seconds) + (constants ≥ 0), so h_j(y) ≥ (y/y')·h_j(y') for y ≤ y'. With h_j known on
   a grid, the lower convex hull of these lines is a bound for all y between.

A sub-graph that splits makes its sink queue again, so of z that do, the runs along the cut tasks number
z + 1. They hold at least all cut tasks and the interiors of the sub-graphs that do not split; so with
R(z) the work of all tasks less the z largest interiors, the squares are at least R²/(z + 1) (Cauchy),
and with task times of squared coefficient of variation v another v·Σp². The mean over random
configurations lies above the lower convex hull of that, at their mean z. (A sub-graph without a sink
splits without a new visit: its interior does not count in R, nor the sub-graph in z.)

Variables, for every query class j and class k that it may use: the share s, u = s·z with z the mean
number of sub-graphs that split, and m, s times the mean squared visits (over the squared work). With
a_k ≤ W_k ≤ b_k and the hulls below::

    minimise  Σ_j w_j (t_j + Σ_k s_jk a_k + Σ_k u_jk (a_k − W₀))
    t_j ≥ lines of y_j = Σ_k r_jk s_jk            m_jk ≥ lines of (s_jk, u_jk),  u_jk ≤ s_jk·most
    Σ_j (λ_j/n_k)(work² m_jk/b_k + 2 w_jk s_jk) ≤ 2(1 − ρ) − λE[S²]/b_k   of the background

Times and the squares of visits are relaxed as below, and the waits
of the executor classes lie in cells: the least of a cell is a linear program.
Cells are split, the one of least bound first, at the geometric mean of the wait that is undercharged most.
The least bound of all cells holds for everything.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from nona.arrays import Bools, Floats, Ints
from nona.decomposition import VIRTUAL
from nona.placement.capacity import Loads
from nona.placement.configurations import ENUMERATED, Shape
from nona.placement.link_routes import quickest_link
from nona.placement.messages import Candidates, Link
from nona.placement.model import Model, build_model
from nona.placement.queueing import fifo_wait_s, second_moment
from nona.placement.solver.problem import build_problem, groups_of
from nona.system import QueryClass, System

CandidatesOf = Callable[[Shape, Link], Candidates]
_GRID = 12


def speeds_of(system: System, loads: Loads) -> Floats:
    """(J, K) r_jk: work of a job on each class relative to the quickest that it may use."""
    work = np.array([q.tasks.compute_s.sum(axis=1) for q in system.queries])
    least = np.where(loads.allowed, work, np.inf).min(axis=1, keepdims=True)
    speeds: Floats = np.divide(work, least, out=np.ones(work.shape), where=least > 0)
    return speeds


def least_times(compute_s: Floats, allowed: Bools, speeds: Floats) -> Floats:
    """(T,) q_v of a query class with ``compute_s`` (K, T): times on every class are at least r_k·q_v."""
    result: Floats = np.where(allowed[:, None], compute_s / speeds[:, None], np.inf).min(axis=0)
    return result


def _hulls_of(
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
    """Return the candidates for a bound: of large interiors the local one; a column stands for the rest."""
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
    return _lower_hull(points)


def _lower_hull(points: Mapping[float, float]) -> list[tuple[float, float]]:
    """Lines (constant, slope) whose maximum is the largest convex function below the points.

    >>> _lower_hull({0.0: 4.0, 1.0: 3.0, 2.0: 0.0})
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


@dataclass(frozen=True, slots=True)
class Runs:
    """For one query class, times taken as q_v of :mod:`nona.placement.shares_bound`.

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
    return Runs(whole, len(interiors), tuple(_lower_hull({float(z): g for z, g in enumerate(squares)})))


Lines = list[list[tuple[float, float]]]
_TOLERANCE = 1e-6  # of the value: more than the solver leaves open


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The least of a cell: its value in seconds, visits of each class's jobs by class (J, K), and waits."""

    bound_s: float
    visits: Floats
    waits: Floats


@dataclass(frozen=True, eq=False)
class Program:
    """Data that all cells share; ``unit_s`` scales the times so that tolerances mean the same everywhere."""

    system: System
    loads: Loads
    speeds: Floats
    hulls: Lines
    runs: list[Runs]
    unit_s: float

    @cached_property
    def weights(self) -> Floats:
        """(J,) w_j."""
        rates = np.array([q.rate for q in self.system.queries])
        return rates / rates.sum() if rates.sum() > 0 else np.full(len(rates), 1.0 / len(rates))

    @cached_property
    def base(self) -> float:
        """λE[S²] of the background, seconds."""
        stream = self.system.background_compute
        return stream.rate * second_moment(stream)

    @cached_property
    def idle_s(self) -> float:
        """W₀."""
        return fifo_wait_s(self.loads.background, self.base)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        rows, columns = np.nonzero(self.loads.allowed)
        return rows, columns

    @cached_property
    def _moments(self) -> Floats:
        """(pairs,) λ_j/n_k·(r_jk·work_j)²: what m counts in λE[S²] of class k, seconds."""
        rows, columns = self._pairs
        rates = np.array([q.rate for q in self.system.queries])
        work = np.array([r.work_s for r in self.runs])
        counts = self.system.class_counts
        result: Floats = rates[rows] / counts[columns] * (self.speeds[rows, columns] * work[rows]) ** 2
        return result

    @cached_property
    def _fixed(self) -> tuple[Floats, Floats]:
        """Rows and right-hand sides that no cell changes."""
        rows, columns = self._pairs
        n, queries = len(rows), len(self.weights)
        limits, room = [], []
        for j, lines in enumerate(self.hulls):
            for constant, slope in lines:
                row = np.zeros(3 * n + queries)
                row[:n] = np.where(rows == j, slope / self.unit_s * self.speeds[j, columns], 0.0)
                row[3 * n + j] = -1.0
                limits.append(row)
                room.append(-constant / self.unit_s)
        least = self._least()
        for i, j in enumerate(rows.tolist()):
            for constant, slope in (*self.runs[j].lines, (float(least[i]), 0.0)):
                row = np.zeros(3 * n + queries)
                row[[i, n + i, 2 * n + i]] = constant, slope, -1.0
                limits.append(row)
                room.append(0.0)
            row = np.zeros(3 * n + queries)
            row[[i, n + i]] = -float(self.runs[j].most), 1.0
            limits.append(row)
            room.append(0.0)
        return np.array(limits), np.array(room)

    def _least(self) -> Floats:
        """(pairs,) (1 + scv)·Σp² over (r_jk·work_j)²: each task a visit of its own."""
        rows, columns = self._pairs
        queries = self.system.queries
        squares = [
            (1 + queries[j].service_scv) * float((queries[j].tasks.compute_s[k] ** 2).sum())
            for j, k in zip(rows.tolist(), columns.tolist(), strict=True)
        ]
        whole = np.array([r.work_s for r in self.runs])[rows] * self.speeds[rows, columns]
        result: Floats = np.array(squares) / whole**2
        return result

    def solve(self, low: Floats, high: Floats) -> Relaxed | None:
        """The least over the cell of waits from ``low`` to ``high`` (K,); None: no shares belong to it."""
        rows, columns = self._pairs
        n, queries = len(rows), len(self.weights)
        charge = self.weights[rows] * low[columns] / self.unit_s
        beyond = self.weights[rows] * (low[columns] - self.idle_s) / self.unit_s
        cost = np.concatenate([charge, np.maximum(beyond, 0.0), np.zeros(n), self.weights])
        once = np.zeros((queries, len(cost)))
        once[rows, np.arange(n)] = 1.0
        classes = len(low)
        cell = np.zeros((classes, len(cost)))
        cell[columns, np.arange(n)] = 2.0 * self.loads.load[rows, columns]
        cell[columns, 2 * n + np.arange(n)] = self._moments / high[columns]
        spare = 2.0 * (1.0 - self.loads.background) - self.base / high
        limits, room = self._fixed
        bounds = [(0.0, None)] * (3 * n) + [(None, None)] * queries
        result = scipy.optimize.linprog(
            cost, np.vstack([limits, cell]), np.concatenate([room, spare]), once, np.ones(queries), bounds
        )
        if result.x is None:
            return None
        shares, visits, moments = (np.zeros(self.loads.allowed.shape) for _ in range(3))
        shares[rows, columns] = result.x[:n]
        visits[rows, columns] = result.x[:n] + result.x[n : 2 * n]
        moments[rows, columns] = self._moments * result.x[2 * n : 3 * n]
        used = self.loads.utilization(shares)
        total = self.base + moments.sum(axis=0)
        waits = np.array([fifo_wait_s(r, m) for r, m in zip(used.tolist(), total.tolist(), strict=True)])
        return Relaxed(float(cost @ result.x - _TOLERANCE) * self.unit_s, visits, waits)


_Entry = tuple[float, int, Floats, Floats, Relaxed]
_CELLS = 300
_GAP = 2e-3


def shares_bound_s(system: System, loads: Loads, candidates_of: CandidatesOf, value_s: float) -> float:
    """A bound for the mean JCT over all shares that ``loads`` allows and all configurations, seconds.

    ``value_s`` is that of a known placement: the bound is not refined beyond it.
    """
    speeds = speeds_of(system, loads)
    hulls = _hulls_of(system, loads, candidates_of, speeds)
    return _least_of(Program(system, loads, speeds, hulls, runs_of(system, loads, speeds), value_s), value_s)


def _least_of(program: Program, value_s: float) -> float:
    """The least bound of all cells after ``_CELLS`` splits at most, or when it is near enough."""
    classes = len(program.system.class_names)
    heap: list[_Entry] = []
    _push(heap, program, np.full(classes, program.idle_s), np.full(classes, math.inf), 0)
    for number in range(_CELLS):
        if not heap or heap[0][0] >= value_s * (1 - _GAP):
            break
        entry = heapq.heappop(heap)
        _, _, low, high, relaxed = entry
        k, at = _split(program, low, high, relaxed, value_s)
        if k < 0:
            heapq.heappush(heap, entry)
            break
        below, above = high.copy(), low.copy()
        below[k] = above[k] = at
        _push(heap, program, low, below, 2 * number + 1)
        _push(heap, program, above, high, 2 * number + 2)
    return min([value_s, *(entry[0] for entry in heap[:1])])


def _push(heap: list[_Entry], program: Program, low: Floats, high: Floats, number: int) -> None:
    relaxed = program.solve(low, high)
    if relaxed is not None:
        heapq.heappush(heap, (relaxed.bound_s, number, low, high, relaxed))


def _split(
    program: Program, low: Floats, high: Floats, relaxed: Relaxed, value_s: float
) -> tuple[int, float]:
    """The class whose wait is most undercharged, and where to cut its cell; −1 if no class is."""
    far = np.maximum(4.0 * low, value_s)  # stands for the wait of a class that is loaded fully
    waits = np.minimum(relaxed.waits, far)
    missing = (program.weights @ relaxed.visits) * (np.minimum(waits, high) - low)
    k = int(np.argmax(missing))
    upper = min(float(waits[k]), float(high[k]))
    if missing[k] <= 1e-9 * value_s:
        return -1, 0.0
    return k, math.sqrt(max(float(low[k]), 1e-3 * upper) * upper)
