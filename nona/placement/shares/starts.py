"""Shares to begin a search with: the usual rules of thumb, as far as they are stable."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.class_loads import Loads, tidy
from nona.system import System

Floats = NDArray[np.float64]
_BETWEEN = (0.25, 0.5, 0.75)
_FULL = 0.98


def starting_shares(system: System, loads: Loads) -> list[Floats]:
    """Distinct stable shares, the one to solve at first in front.

    Uniform over the executors that are allowed; proportional to what a class can do, n_k/(seconds of
    a job); the ones that balance the load best; the fastest class alone; and the least work with no
    class busier than a quarter, half, three quarters of the way from the balanced load to 1.
    """
    counts = np.where(loads.allowed, system.class_counts, 0).astype(float)
    work = np.array([q.tasks.compute_s.sum(axis=1) for q in system.queries])
    speed = np.where(loads.allowed, 1.0 / np.maximum(work, 1e-300), 0.0)
    peak, balanced = loads.least_peak()
    found = [_rows(counts), _rows(counts * speed), balanced, _rows(speed == speed.max(axis=1, keepdims=True))]
    for part in _BETWEEN:
        cheapest = loads.cheapest(_priced(system, work), peak + part * (1.0 - peak))
        if cheapest is not None:
            found.append(cheapest)
    stable = [s for s in found if loads.utilization(s).max() < 1.0 - (1.0 - _FULL) * (1.0 - peak)]
    distinct: list[Floats] = []
    for s in stable:
        tidied = tidy(s, loads.allowed)
        if not any(np.abs(tidied - other).max() < 1e-6 for other in distinct):
            distinct.append(tidied)
    return distinct


def _rows(values: Floats) -> Floats:
    result: Floats = values / values.sum(axis=1, keepdims=True)
    return result


def _priced(system: System, work: Floats) -> Floats:
    """Seconds of a job on each class, weighted by how many there are; rare ones count a little too."""
    rates = np.array([q.rate for q in system.queries])
    weights = rates / rates.sum() if rates.sum() > 0 else np.ones(len(rates))
    result: Floats = np.maximum(weights, 1e-6)[:, None] * work
    return result
