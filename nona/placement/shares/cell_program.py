"""The linear program of a cell of waits: the least mean JCT that shares could have there.

Variables, for every query class j and class k that it may use: the share s, u = s·z with z the mean
number of sub-graphs that split, and m, s times the mean squared visits (over the squared work). With
a_k ≤ W_k ≤ b_k and the hulls of :mod:`~.least_times` and :mod:`~.run_squares`::

    minimise  Σ_j w_j (t_j + Σ_k s_jk a_k + Σ_k u_jk (a_k − W₀))
    t_j ≥ lines of y_j = Σ_k r_jk s_jk            m_jk ≥ lines of (s_jk, u_jk),  u_jk ≤ s_jk·most
    Σ_j (λ_j/n_k)(work² m_jk/b_k + 2 w_jk s_jk) ≤ 2(1 − ρ) − λE[S²]/b_k   of the background
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nona.placement.capacity.class_loads import Loads
from nona.placement.shares.run_squares import Runs
from nona.placement.waits.queueing import fifo_wait_s, second_moment
from nona.system import System

Floats = NDArray[np.float64]
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
    """What all cells share; ``unit_s`` scales the times so that tolerances mean the same everywhere."""

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
    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
        result = linprog(
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
