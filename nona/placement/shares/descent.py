"""The best shares for given configurations: a smooth program over the simplices, from one start."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, minimize

from nona.placement.capacity.class_loads import Loads, tidy
from nona.placement.shares.objective import SharesObjective

Floats = NDArray[np.float64]
_GUARD = 0.02
_ROUNDS = 100
_MOVED = 1e-4


def descend_shares(objective: SharesObjective, loads: Loads, start: Floats) -> tuple[float, Floats]:
    """A local minimum of the objective over the allowed shares, and its value in seconds.

    SLSQP (Kraft, DFVLR-FB 88-28, 1988) with the analytic gradient; no class is loaded nearer to 1
    than a fiftieth of the room that balanced shares leave. The answer is never worse than ``start``.
    """
    allowed = loads.allowed
    rows, columns = np.nonzero(allowed)
    value = objective.value_and_gradient(start)[0]
    if not math.isfinite(value):
        return value, start

    def shares_of(z: Floats) -> Floats:
        shares = np.zeros(allowed.shape)
        shares[rows, columns] = np.clip(z, 0.0, 1.0)
        return shares

    def scaled(z: Floats) -> tuple[float, Floats]:
        found, slope = objective.value_and_gradient(shares_of(z))
        if not math.isfinite(found):
            return 1e6, np.zeros(len(z))
        return found / value, slope[rows, columns] / value

    result = minimize(
        scaled,
        start[rows, columns],
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(rows),
        constraints=_constraints(loads, rows, columns),
        options={"maxiter": _ROUNDS, "ftol": 1e-12},
    )
    shares = _sparse(objective, tidy(shares_of(result.x), allowed), allowed)
    found = objective.value_and_gradient(shares)[0]
    return (found, shares) if found < value else (value, start)


def _sparse(objective: SharesObjective, shares: Floats, allowed: NDArray[np.bool_]) -> Floats:
    """Without shares below a ten-thousandth, if that costs nothing to speak of."""
    least = tidy(np.where(shares < _MOVED, 0.0, shares), allowed)
    here, there = objective.value_and_gradient(shares)[0], objective.value_and_gradient(least)[0]
    return least if there <= here * (1 + 1e-6) else shares


def _constraints(loads: Loads, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> list[LinearConstraint]:
    """Shares of a query class add up to 1; every executor class stays below the guard."""
    once = np.zeros((loads.allowed.shape[0], len(rows)))
    once[rows, np.arange(len(rows))] = 1.0
    busy = np.zeros((loads.allowed.shape[1], len(rows)))
    busy[columns, np.arange(len(rows))] = loads.load[rows, columns]
    guard = 1.0 - _GUARD * (1.0 - loads.least_peak()[0])
    kept = busy.any(axis=1)
    return [
        LinearConstraint(once, 1.0, 1.0),
        LinearConstraint(busy[kept], -np.inf, guard - loads.background),
    ]
