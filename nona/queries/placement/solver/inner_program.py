"""The inner linear program under one row or two.

Minimise cost·x over a product of simplices subject to row·x ≤ bound (a multiple-choice knapsack
LP). Its Lagrangian dual  max over μ ≥ 0 of Σ_groups min_c (cost_c + μ·row_c) − μ·bound  is concave
and piecewise linear; the best μ is found by intersecting the supporting lines from both sides. At
it at most one group mixes, two of its columns.

Minimise cost·x over a product of simplices subject to a·x ≤ α and d·x ≤ δ. For a price ν of the
second row what remains is the knapsack with one row; h(ν) = knapsack(cost + ν·d; a, α) − ν·δ is
concave, and every ν ≥ 0 gives a bound. Its maximum is found where supporting lines meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats, Ints

_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class LpSolution:
    """A solution of the LP.

    ``bound`` is the dual value, which no feasible x undercuts (−inf … inf; inf: infeasible).
    ``first`` and ``second`` (G,) are columns: every group takes ``first``, except group ``mixed``
    (−1: none) which takes ``second`` with probability ``share``.
    """

    bound: float
    multiplier: float
    first: Ints
    second: Ints
    mixed: int
    share: float

    def vector(self, columns: int) -> Floats:
        """Return x (n,)."""
        x = np.zeros(columns)
        x[self.first] = 1.0
        if self.mixed >= 0:
            x[self.first[self.mixed]] -= self.share
            x[self.second[self.mixed]] += self.share
        return x


def cheapest(start: Ints, group: Ints, price: Floats) -> Ints:
    """(G,) The first column of least ``price`` in every group."""
    least = np.minimum.reduceat(price, start[:-1])
    hits = np.flatnonzero(price == least[group])
    first: Ints = hits[np.searchsorted(group[hits], np.arange(len(start) - 1))]
    return first


def solve_knapsack(start: Ints, group: Ints, cost: Floats, row: Floats, bound: float) -> LpSolution:
    """Solve the LP; ``row`` ≥ 0.

    One group, columns of cost 3 and 1; the cheap one loads the row with 2, and 1 is allowed:

    >>> c = solve_knapsack(np.array([0, 2]), np.array([0, 0]), np.array([3., 1.]), np.array([0., 2.]), 1.)
    >>> c.bound, c.multiplier, c.vector(2).tolist()
    (2.0, 1.0, [0.5, 0.5])
    """
    over = cheapest(start, group, cost)
    if row[over].sum() <= bound:
        return LpSolution(float(cost[over].sum()), 0.0, over, over, -1, 0.0)
    under = _lightest(start, group, cost, row)
    if row[under].sum() > bound:
        return LpSolution(np.inf, np.inf, under, under, -1, 0.0)
    best, multiplier = -np.inf, 0.0
    for _ in range(_ROUNDS):
        lower, upper = row[under].sum(), row[over].sum()
        if upper <= lower:
            break
        multiplier = max(float((cost[under].sum() - cost[over].sum()) / (upper - lower)), 0.0)
        chosen = cheapest(start, group, cost + multiplier * row)
        dual = float(cost[chosen].sum() + multiplier * (row[chosen].sum() - bound))
        line = float(cost[under].sum() + multiplier * (lower - bound))
        best = max(best, dual)
        if dual >= line - 1e-13 * max(abs(line), abs(cost[chosen].sum())):
            break
        if row[chosen].sum() > bound:
            over = chosen
        else:
            under = chosen
    return _mix(best, multiplier, under, over, row, bound, cost)


def _lightest(start: Ints, group: Ints, cost: Floats, row: Floats) -> Ints:
    """Return the cheapest column of each group, of those that load the row least."""
    least = np.minimum.reduceat(row, start[:-1])
    return cheapest(start, group, np.where(row == least[group], cost, np.inf))


def _mix(
    dual: float,
    multiplier: float,
    under: Ints,
    over: Ints,
    row: Floats,
    bound: float,
    cost: Floats,
) -> LpSolution:
    """Move groups from ``under`` to ``over`` until the row is full; the last one moves in part.

    Both minimise the Lagrangian at ``multiplier``, so every such mixture does. Groups that gain
    most per unit of load move first, which matters only within rounding.
    """
    first, second = under.copy(), over
    spare = bound - float(row[under].sum())
    steps = row[over] - row[under]
    saved = cost[under] - cost[over]
    moving = np.flatnonzero((under != over) & ((steps != 0) | (saved > 0)))
    order = moving[np.argsort(-saved[moving] + multiplier * steps[moving], kind="stable")]
    for g in order[np.argsort(steps[order] > 0, kind="stable")]:
        if steps[g] > spare:
            share = max(spare, 0.0) / float(steps[g])
            return LpSolution(dual, multiplier, first, second, int(g) if share > 0 else -1, share)
        first[g] = over[g]
        spare -= float(steps[g])
    return LpSolution(dual, multiplier, first, second, -1, 0.0)


_TWO_ROW_PROGRAM_ROUNDS = 30
_DOUBLINGS = 60


@dataclass(frozen=True, eq=False)
class DualBound:
    """``bound`` of the program (``inf``: infeasible), the prices of its rows, and points met on the way."""

    bound: float
    wait_price: float
    load_price: float
    points: tuple[Floats, ...]


@dataclass(frozen=True, eq=False)
class TwoRowDual:
    """cost·x under a·x ≤ ``wait`` and d·x ≤ ``load``, over groups of columns ``start``."""

    start: Ints
    group: Ints
    cost: Floats
    a: Floats
    wait: float
    d: Floats
    load: float

    def evaluate(self, price: float) -> tuple[float, float, float, Floats]:
        """h(ν), its slope there, the price of the first row, and the point."""
        choice = solve_knapsack(self.start, self.group, self.cost + price * self.d, self.a, self.wait)
        x = choice.vector(len(self.cost))
        return choice.bound - price * self.load, float(self.d @ x) - self.load, choice.multiplier, x


def solve_two_rows(rows: TwoRowDual, guess: float = 0.0, tolerance: float = 0.0) -> DualBound:
    """Maximise h, to within ``tolerance``, from the price ``guess`` on.

    One group of a dear column and two cheap ones, each of which loads one row with 2 where 1 is allowed:

    >>> rows = TwoRowDual(np.array([0, 3]), np.zeros(3, dtype=np.int64), np.array([3.0, 1.0, 1.0]),
    ...                np.array([0.0, 2.0, 0.0]), 1.0, np.array([0.0, 0.0, 2.0]), 1.0)
    >>> round(solve_two_rows(rows).bound, 12)
    1.0
    """
    if rows.wait < 0 or rows.load < 0:
        return DualBound(math.inf, 0.0, 0.0, ())
    low = rows.evaluate(0.0)
    best, points = (low[0], low[2], 0.0), [low[3]]
    if low[1] <= 0 or not math.isfinite(low[0]):
        return DualBound(*best, tuple(points))
    at_low, high, at_high = 0.0, max(guess, 1e-3 * _scale(rows)), low
    for _ in range(_DOUBLINGS):
        at_high = rows.evaluate(high)
        points.append(at_high[3])
        best = max(best, (at_high[0], at_high[2], high))
        if at_high[1] <= 0:
            break
        at_low, low, high = high, at_high, 4.0 * high
    for _ in range(_TWO_ROW_PROGRAM_ROUNDS):
        steep = low[1] - at_high[1]
        if steep <= 0:
            break
        meet = (at_high[0] - low[0] + low[1] * at_low - at_high[1] * high) / steep
        roof = low[0] + low[1] * (meet - at_low)
        if not at_low < meet < high or roof <= best[0] + tolerance + 1e-13 * abs(roof):
            break
        middle = rows.evaluate(meet)
        points.append(middle[3])
        best = max(best, (middle[0], middle[2], meet))
        if middle[1] > 0:
            at_low, low = meet, middle
        else:
            high, at_high = meet, middle
    return DualBound(*best, tuple(points))


def _scale(rows: TwoRowDual) -> float:
    """Return a price of the load that matters: the greatest cost for the greatest load."""
    return float(np.abs(rows.cost).max(initial=0.0)) / max(float(rows.d.max(initial=0.0)), 1e-300)
