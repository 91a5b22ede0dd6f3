"""All placements of tiny systems: an independent check of the other solvers."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from nona.errors import PlacementError
from nona.placement.formula.mean_jct import objective_s, value_at
from nona.placement.formula.model import Model
from nona.placement.solver.certified import Certified
from nona.placement.solver.linearised import Solution, price

Floats = NDArray[np.float64]
_LIMIT = 5_000
_REFINED = 5


def solve_exhaustive(model: Model, *, grid: int = 17) -> Solution:
    """The best pure placement, and the best mixture of two configurations in one sub-graph.

    Every pure placement is evaluated; around the five best ones, every mixture with another
    configuration of one sub-graph is searched on a grid and refined. No bound is given (``nan``).

    Raises
    ------
    PlacementError
        When there are more than 5,000 pure placements.
    """
    sizes = [len(c) for row in model.candidates for c in row]
    if math.prod(sizes) > _LIMIT:
        raise PlacementError(
            f"Exhaustive solver: {math.prod(sizes):.3g} placements are more than {_LIMIT}; use 'parametric'."
        )
    ranked = sorted(
        (_value(model, _pure(model, chosen)), chosen) for chosen in itertools.product(*map(range, sizes))
    )
    value, x = ranked[0][0], _pure(model, ranked[0][1])
    for _, chosen in ranked[:_REFINED]:
        for position, size in enumerate(sizes):
            for other in range(size):
                if other != chosen[position]:
                    found, mixed = _best_mixture(model, chosen, position, other, grid)
                    if found < value:
                        value, x = found, mixed
    at = value_at(model, x)
    end = Certified(np.zeros(0), value, math.nan, len(ranked), True)
    return Solution(x, value, price(model, x, at), end)


def _value(model: Model, x: list[list[Floats]]) -> float:
    return objective_s(model, value_at(model, x))


def _pure(model: Model, chosen: tuple[int, ...]) -> list[list[Floats]]:
    numbers = iter(chosen)
    return [[np.eye(1, len(c), next(numbers))[0] for c in row] for row in model.candidates]


def _best_mixture(
    model: Model, chosen: tuple[int, ...], position: int, other: int, grid: int
) -> tuple[float, list[list[Floats]]]:
    changed = tuple(other if i == position else c for i, c in enumerate(chosen))
    ends = _pure(model, chosen), _pure(model, changed)

    def mixed(share: float) -> list[list[Floats]]:
        return [
            [(1 - share) * a + share * b for a, b in zip(*rows, strict=True)]
            for rows in zip(*ends, strict=True)
        ]

    shares = np.linspace(0.0, 1.0, grid)
    values = [_value(model, mixed(s)) for s in shares]
    at = int(np.argmin(values))
    low, high = shares[max(at - 1, 0)], shares[min(at + 1, grid - 1)]
    refined = minimize_scalar(
        lambda s: _value(model, mixed(s)), bounds=(low, high), method="bounded", options={"xatol": 1e-7}
    )
    if refined.fun < values[at]:
        return float(refined.fun), mixed(float(refined.x))
    return values[at], mixed(float(shares[at]))
