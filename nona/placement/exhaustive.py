"""All placements of tiny systems: an independent check of the other solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from nona.errors import PlacementError
from nona.placement.parametric import Certified
from nona.placement.problem import Problem

Floats = NDArray[np.float64]
_LIMIT = 20_000


def solve_exhaustive(problem: Problem, start: Floats | None = None, *, grid: int = 33) -> Certified:
    """The best of all points in which at most one group mixes two columns.

    An optimum of that form exists. Shares of a mixture are searched on a grid and refined around
    the best one, so the value is the optimum up to that search; no bound is given (``nan``).

    Raises
    ------
    PlacementError
        When there are more than 20,000 pure placements and pairs.
    """
    ranges = [
        range(a, b) for a, b in zip(problem.start[:-1].tolist(), problem.start[1:].tolist(), strict=True)
    ]
    pure = math.prod(len(r) for r in ranges)
    pairs = sum(len(r) - 1 for r in ranges) * pure // 2
    if pure + pairs > _LIMIT:
        raise PlacementError(
            f"Exhaustive solver: {pure + pairs} placements are more than {_LIMIT}; use 'parametric'."
        )
    best, value = np.zeros(len(problem.a0)), math.inf
    cells = 0
    for chosen in itertools.product(*ranges):
        for x in _around(problem, chosen, ranges, grid):
            cells += 1
            found = problem.value(x)
            if found < value:
                best, value = x, found
    return Certified(best, value, math.nan, cells, True)


def _around(problem: Problem, chosen: tuple[int, ...], ranges: list[range], grid: int) -> list[Floats]:
    """The pure point ``chosen`` and the best mixture of it with each later column of each group."""
    point = np.zeros(len(problem.a0))
    point[list(chosen)] = 1.0
    points = [point]
    for mine, columns in zip(chosen, ranges, strict=True):
        points.extend(_best_mixture(problem, point, mine, other, grid) for other in columns if other > mine)
    return points


def _best_mixture(problem: Problem, point: Floats, mine: int, other: int, grid: int) -> Floats:
    def mixed(share: float) -> Floats:
        x = point.copy()
        x[mine], x[other] = 1.0 - share, share
        return x

    shares = np.linspace(0.0, 1.0, grid)
    values = [problem.value(mixed(s)) for s in shares]
    at = int(np.argmin(values))
    low, high = shares[max(at - 1, 0)], shares[min(at + 1, grid - 1)]
    refined = minimize_scalar(lambda s: problem.value(mixed(s)), bounds=(low, high), method="bounded")
    return mixed(float(refined.x) if refined.fun < values[at] else float(shares[at]))
