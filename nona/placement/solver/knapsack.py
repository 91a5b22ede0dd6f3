"""The inner linear program: one choice per group under a single coupling row.

Minimise cost·x over a product of simplices subject to row·x ≤ bound (a multiple-choice knapsack
LP). Its Lagrangian dual  max over μ ≥ 0 of Σ_groups min_c (cost_c + μ·row_c) − μ·bound  is concave
and piecewise linear; the best μ is found by intersecting the supporting lines from both sides. At
it at most one group mixes, two of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Choice:
    """A solution of the LP.

    ``bound`` is the dual value, which no feasible x undercuts (−inf … inf; inf: infeasible).
    ``first`` and ``second`` (G,) are columns: every group takes ``first``, except group ``mixed``
    (−1: none) which takes ``second`` with probability ``share``.
    """

    bound: float
    multiplier: float
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    mixed: int
    share: float

    def vector(self, columns: int) -> Floats:
        """x (n,)."""
        x = np.zeros(columns)
        x[self.first] = 1.0
        if self.mixed >= 0:
            x[self.first[self.mixed]] -= self.share
            x[self.second[self.mixed]] += self.share
        return x


def cheapest(start: NDArray[np.int64], group: NDArray[np.int64], price: Floats) -> NDArray[np.int64]:
    """(G,) The first column of least ``price`` in every group."""
    least = np.minimum.reduceat(price, start[:-1])
    hits = np.flatnonzero(price == least[group])
    first: NDArray[np.int64] = hits[np.searchsorted(group[hits], np.arange(len(start) - 1))]
    return first


def solve_knapsack(
    start: NDArray[np.int64], group: NDArray[np.int64], cost: Floats, row: Floats, bound: float
) -> Choice:
    """Solve the LP; ``row`` ≥ 0.

    Examples
    --------
    One group, columns of cost 3 and 1; the cheap one loads the row with 2, and 1 is allowed:

    >>> c = solve_knapsack(np.array([0, 2]), np.array([0, 0]), np.array([3., 1.]), np.array([0., 2.]), 1.)
    >>> c.bound, c.multiplier, c.vector(2).tolist()
    (2.0, 1.0, [0.5, 0.5])
    """
    over = cheapest(start, group, cost)
    if row[over].sum() <= bound:
        return Choice(float(cost[over].sum()), 0.0, over, over, -1, 0.0)
    under = _lightest(start, group, cost, row)
    if row[under].sum() > bound:
        return Choice(np.inf, np.inf, under, under, -1, 0.0)
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


def _lightest(
    start: NDArray[np.int64], group: NDArray[np.int64], cost: Floats, row: Floats
) -> NDArray[np.int64]:
    """Of the columns that load the row least, the cheapest of each group."""
    least = np.minimum.reduceat(row, start[:-1])
    return cheapest(start, group, np.where(row == least[group], cost, np.inf))


def _mix(
    dual: float,
    multiplier: float,
    under: NDArray[np.int64],
    over: NDArray[np.int64],
    row: Floats,
    bound: float,
    cost: Floats,
) -> Choice:
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
            return Choice(dual, multiplier, first, second, int(g) if share > 0 else -1, share)
        first[g] = over[g]
        spare -= float(steps[g])
    return Choice(dual, multiplier, first, second, -1, 0.0)
