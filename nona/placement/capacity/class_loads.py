"""Shares that are stable: the load of every executor class as a linear program over the shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from nona.system import System

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Loads:
    """What shares do to the executors: ρ_k = ``background`` + Σ_j ``load``_jk s_jk.

    Attributes
    ----------
    load : (J, K)
        λ_j·(seconds of all tasks)/n_k; 0 where there are no executors.
    allowed : (J, K)
        Where a query class may run.
    background
        ρ of an executor by background work alone.
    """

    load: Floats
    allowed: Mask
    background: float

    def utilization(self, shares: Floats) -> Floats:
        """(K,) ρ of each executor class."""
        result: Floats = self.background + (self.load * shares).sum(axis=0)
        return result

    def least_peak(self) -> tuple[float, Floats]:
        """The least ρ that the busiest class can have, and shares (J, K) that reach it.

        Of the shares that do, those with the least work in all are taken.
        """
        tie = 1e-6 / max(float(self.load.max(initial=0.0)), 1e-300)
        found = self._program(tie * self.load, None)
        if found is None:  # only rounding can bring this about: any shares fulfil this program
            found = tidy(self.allowed.astype(float), self.allowed)
        return float(self.utilization(found)[self.used].max(initial=self.background)), found

    def cheapest(self, cost: Floats, peak: float) -> Floats | None:
        """Shares of least Σ ``cost``_jk s_jk with no class busier than ``peak``; None: there are none."""
        return self._program(cost, peak)

    @property
    def used(self) -> Mask:
        """(K,) Classes that some query class may run on."""
        return np.asarray(self.allowed.any(axis=0), dtype=bool)

    def _program(self, cost: Floats, peak: float | None) -> Floats | None:
        """The program over the allowed shares; without a ``peak``, over that as well, at a price of 1."""
        rows, columns = np.nonzero(self.allowed)
        n, (queries, classes) = len(rows), self.allowed.shape
        free = int(peak is None)
        once = np.zeros((queries, n + free))
        once[rows, np.arange(n)] = 1.0
        below = np.zeros((classes, n + free))
        below[columns, np.arange(n)] = self.load[rows, columns]
        below[:, n:] = -1.0
        price = np.concatenate([cost[rows, columns], np.ones(free)])
        room = np.full(classes, (peak or 0.0) - self.background)
        result = linprog(price, A_ub=below, b_ub=room, A_eq=once, b_eq=np.ones(queries), bounds=(0, None))
        if result.x is None:
            return None
        shares = np.zeros(self.allowed.shape)
        shares[rows, columns] = np.clip(result.x[:n], 0.0, None)
        return tidy(shares, self.allowed)


def loads_of(system: System, allowed: Mask) -> Loads:
    """The loads of ``system``'s queries."""
    counts, stream = system.class_counts, system.background_compute
    work = np.array([q.rate * q.tasks.compute_s.sum(axis=1) for q in system.queries]).reshape(allowed.shape)
    load = np.divide(work, counts, out=np.zeros(work.shape), where=counts > 0)
    return Loads(load, allowed & (counts > 0), stream.rate * stream.mean)


def tidy(shares: Floats, allowed: Mask) -> Floats:
    """Shares without what is negligible or not allowed; every row adds up to 1."""
    kept = np.where(allowed & (shares > 1e-9), shares, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    result: Floats = kept / total
    return result
