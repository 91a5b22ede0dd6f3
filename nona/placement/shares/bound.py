"""A bound below every placement at every choice of class shares.

The times are relaxed as in :mod:`nona.placement.shares.times`: T_j ≥ hull_j(y_j) + W^j, W^j being
Σ_k s_jk W_k, and y_j = Σ_k s_jk r_jk. The waits: W_k ≥ Pollaczek–Khinchine with each task a visit of
its own. For W_k in a cell [a_k, b_k] the least of Σ_j w_j (hull_j + Σ_k s_jk a_k) under
W_k(s) ≤ b_k, which is linear in s, is a linear program over the shares; cells are split, best first,
at geometric means.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nona.placement.queueing import fifo_wait_s, second_moment
from nona.placement.shares.balance import Loads
from nona.placement.shares.times import CandidatesOf, hulls_of, speeds_of
from nona.system import System

Floats = NDArray[np.float64]
_Cell = tuple[Floats, Floats]
_Entry = tuple[float, int, _Cell, Floats]
_CELLS = 300
_GAP = 2e-3


def shares_bound_s(system: System, loads: Loads, candidates_of: CandidatesOf, value_s: float) -> float:
    """A bound for the mean JCT over all shares that ``loads`` allows and all configurations, seconds.

    ``value_s`` is that of a known placement: the bound is not refined beyond it.
    """
    speeds = speeds_of(system, loads)
    hulls = hulls_of(system, loads, candidates_of, speeds)
    return _Cells(system, loads, speeds, hulls).run(value_s)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Branch and bound over the waits of the executor classes."""

    system: System
    loads: Loads
    speeds: Floats
    hulls: list[list[tuple[float, float]]]

    def run(self, value_s: float) -> float:
        """The least bound of all cells after at most ``_CELLS`` programs, or when that is near enough."""
        stream, base = self.system.background_compute, self._base
        least = fifo_wait_s(stream.rate * stream.mean, base)
        classes = len(self.system.class_names)
        first = (np.full(classes, least), np.full(classes, math.inf))
        heap = self._pushed([], first, 0)
        for number in range(_CELLS):
            if not heap or heap[0][0] >= value_s * (1 - _GAP):
                break
            _, _, (low, high), shares = heapq.heappop(heap)
            k, at = self._split(low, high, shares, value_s)
            if k < 0:
                heapq.heappush(heap, (self._true(shares), 4 * number, (low, high), shares))
                break
            below, above = high.copy(), low.copy()
            below[k] = above[k] = at
            for i, cell in enumerate(((low, below), (above, high))):
                heap = self._pushed(heap, cell, 4 * number + 1 + i)
        return min([value_s, *(entry[0] for entry in heap[:1])])

    @property
    def _base(self) -> float:
        stream = self.system.background_compute
        return stream.rate * second_moment(stream)

    @property
    def _weights(self) -> Floats:
        rates = np.array([q.rate for q in self.system.queries])
        return rates / rates.sum() if rates.sum() > 0 else np.full(len(rates), 1.0 / len(rates))

    def _pushed(self, heap: list[_Entry], cell: _Cell, number: int) -> list[_Entry]:
        solved = self._program(*cell)
        if solved is not None:
            heapq.heappush(heap, (solved[0], number, cell, solved[1]))
        return heap

    def _moments(self) -> Floats:
        """(J, K) λ_j/n_k·(least sum of squared visits)."""
        counts = self.system.class_counts
        rows = [
            q.rate * (1 + q.service_scv) * (q.tasks.compute_s**2).sum(axis=1) for q in self.system.queries
        ]
        moments: Floats = np.zeros((len(rows), len(counts)))
        np.divide(np.array(rows), counts, out=moments, where=counts > 0)
        return moments

    def _program(self, low: Floats, high: Floats) -> tuple[float, Floats] | None:
        """Bound and shares of a cell; None where no shares belong to it."""
        allowed, weights = self.loads.allowed, self._weights
        rows, columns = np.nonzero(allowed)
        n, queries = len(rows), len(weights)
        cost = np.concatenate([weights[rows] * low[columns], weights])
        once = np.zeros((queries, n + queries))
        once[rows, np.arange(n)] = 1.0
        limits, room = [], []
        for j, lines in enumerate(self.hulls):
            for constant, slope in lines:
                row = np.zeros(n + queries)
                row[:n] = np.where(rows == j, slope * self.speeds[j, columns], 0.0)
                row[n + j] = -1.0
                limits.append(row)
                room.append(-constant)
        moments = self._moments()
        for k in range(allowed.shape[1]):
            row = np.zeros(n + queries)
            each = moments[rows, columns] / high[k] + 2.0 * self.loads.load[rows, columns]
            row[:n] = np.where(columns == k, each, 0.0)
            limits.append(row)
            room.append(2.0 * (1.0 - self.loads.background) - self._base / high[k])
        bounds = [(0.0, 1.0)] * n + [(None, None)] * queries
        result = linprog(cost, np.array(limits), np.array(room), once, np.ones(queries), bounds)
        if result.x is None:
            return None
        shares = np.zeros(allowed.shape)
        shares[rows, columns] = result.x[:n]
        return float(cost @ result.x), shares

    def _split(self, low: Floats, high: Floats, shares: Floats, value_s: float) -> tuple[int, float]:
        """The class whose wait is most undercharged at ``shares``, and where to cut; −1: none is."""
        far = np.maximum(4.0 * low, value_s)  # stands for the wait of a class that is loaded fully
        waits = np.minimum(self._waits(shares), far)
        missing = (self._weights @ shares) * (np.minimum(waits, high) - low)
        k = int(np.argmax(missing))
        upper = min(float(waits[k]), float(high[k]))
        if missing[k] <= 1e-9 * upper or not upper > 0:
            return -1, 0.0
        return k, math.sqrt(max(float(low[k]), 1e-3 * upper) * upper)

    def _waits(self, shares: Floats) -> Floats:
        moments = self._base + (self._moments() * shares).sum(axis=0)
        used = self.loads.utilization(shares)
        return np.array([fifo_wait_s(r, m) for r, m in zip(used.tolist(), moments.tolist(), strict=True)])

    def _true(self, shares: Floats) -> float:
        """The relaxed objective at ``shares``, at the waits that they bring about."""
        times = [
            max(c + s * float(shares[j] @ self.speeds[j]) for c, s in lines)
            for j, lines in enumerate(self.hulls)
        ]
        waits = np.where((shares > 0).any(axis=0), self._waits(shares), 0.0)
        return float(self._weights @ (np.array(times) + shares @ waits))
