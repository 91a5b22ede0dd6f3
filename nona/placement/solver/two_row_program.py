"""The inner linear program with two rows: prices of the wait and of the load that bound it best.

Minimise cost·x over a product of simplices subject to a·x ≤ α and d·x ≤ δ. For a price ν of the
second row what remains is the knapsack with one row; h(ν) = knapsack(cost + ν·d; a, α) − ν·δ is
concave, and every ν ≥ 0 gives a bound. Its maximum is found where supporting lines meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.solver.knapsack import solve_knapsack

Floats = NDArray[np.float64]
_ROUNDS = 30
_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class Dual:
    """``bound`` of the program (``inf``: infeasible), the prices of its rows, and points met on the way."""

    bound: float
    wait_price: float
    load_price: float
    points: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class TwoRows:
    """cost·x under a·x ≤ ``wait`` and d·x ≤ ``load``, over groups of columns ``start``."""

    start: NDArray[np.int64]
    group: NDArray[np.int64]
    cost: Floats
    a: Floats
    wait: float
    d: Floats
    load: float

    def at(self, price: float) -> tuple[float, float, float, Floats]:
        """h(ν), its slope there, the price of the first row, and the point."""
        choice = solve_knapsack(self.start, self.group, self.cost + price * self.d, self.a, self.wait)
        x = choice.vector(len(self.cost))
        return choice.bound - price * self.load, float(self.d @ x) - self.load, choice.multiplier, x


def solve_two_rows(rows: TwoRows, guess: float = 0.0, tolerance: float = 0.0) -> Dual:
    """Maximise h, to within ``tolerance``, from the price ``guess`` on.

    Examples
    --------
    One group of a dear column and two cheap ones, each of which loads one row with 2 where 1 is allowed:

    >>> rows = TwoRows(np.array([0, 3]), np.zeros(3, dtype=np.int64), np.array([3.0, 1.0, 1.0]),
    ...                np.array([0.0, 2.0, 0.0]), 1.0, np.array([0.0, 0.0, 2.0]), 1.0)
    >>> round(solve_two_rows(rows).bound, 12)
    1.0
    """
    if rows.wait < 0 or rows.load < 0:
        return Dual(math.inf, 0.0, 0.0, ())
    low = rows.at(0.0)
    best, points = (low[0], low[2], 0.0), [low[3]]
    if low[1] <= 0 or not math.isfinite(low[0]):
        return Dual(*best, tuple(points))
    at_low, high, at_high = 0.0, max(guess, 1e-3 * _scale(rows)), low
    for _ in range(_DOUBLINGS):
        at_high = rows.at(high)
        points.append(at_high[3])
        best = max(best, (at_high[0], at_high[2], high))
        if at_high[1] <= 0:
            break
        at_low, low, high = high, at_high, 4.0 * high
    for _ in range(_ROUNDS):
        steep = low[1] - at_high[1]
        if steep <= 0:
            break
        meet = (at_high[0] - low[0] + low[1] * at_low - at_high[1] * high) / steep
        roof = low[0] + low[1] * (meet - at_low)
        if not at_low < meet < high or roof <= best[0] + tolerance + 1e-13 * abs(roof):
            break
        middle = rows.at(meet)
        points.append(middle[3])
        best = max(best, (middle[0], middle[2], meet))
        if middle[1] > 0:
            at_low, low = meet, middle
        else:
            high, at_high = meet, middle
    return Dual(*best, tuple(points))


def _scale(rows: TwoRows) -> float:
    """A price of the load that matters: the greatest cost for the greatest load."""
    return float(np.abs(rows.cost).max(initial=0.0)) / max(float(rows.d.max(initial=0.0)), 1e-300)
