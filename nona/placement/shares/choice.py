"""Which shares a placement is solved at: given ones, a uniform draw, or the best that are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from nona.errors import PlacementError
from nona.placement.capacity.class_loads import loads_of
from nona.placement.capacity.memory import allowed_classes, default_shares
from nona.placement.shares.search import Solved, search_shares
from nona.system import System

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")
Wanted = Literal["optimal", "uniform"] | Floats


def choose_shares(
    system: System, wanted: Wanted, solve_at: Callable[[Floats | None], Solved[Kept]]
) -> Solved[Kept]:
    """The solution at the shares that are ``wanted``; ``solve_at(None)`` solves at a uniform draw.

    Where every query class has but one executor class to run on there is nothing to search.

    Raises
    ------
    PlacementError
        For weights that fit nowhere, for shares that are no probabilities or fall where weights do not
        fit, and whatever ``solve_at`` raises.
    """
    if isinstance(wanted, np.ndarray):
        return solve_at(_checked(system, wanted))
    if wanted not in ("optimal", "uniform"):
        raise PlacementError(f"Class shares {wanted!r}: they must be 'optimal', 'uniform' or numbers.")
    if not system.queries:
        return solve_at(None)
    shares, allowed = default_shares(system), allowed_classes(system)
    if wanted == "uniform" or not is_choice(system, allowed):
        return solve_at(shares)
    loads = loads_of(system, allowed)
    peak, balanced = loads.least_peak()
    if peak >= 1:
        return solve_at(balanced)  # says what is overloaded, and what would do
    return search_shares(system, loads, solve_at)


def is_choice(system: System, allowed: NDArray[np.bool_]) -> bool:
    """Whether some query class may run on executors of more than one class."""
    return bool((allowed & (system.class_counts > 0)).sum(axis=1).max() > 1)


def _checked(system: System, shares: Floats) -> Floats:
    shape = (len(system.queries), len(system.class_names))
    if shares.shape != shape or not (shares >= 0).all() or np.abs(shares.sum(axis=1) - 1).max() > 1e-6:
        raise PlacementError(
            f"Class shares {shares.tolist()}: they must be {shape[0]} rows of {shape[1]} probabilities that "
            "add up to 1; give a row for each query class."
        )
    for j, k in zip(*np.nonzero((shares > 0) & ~allowed_classes(system)), strict=True):
        raise PlacementError(
            f"Class shares of {system.queries[j].name!r}: {shares[j, k]:.3g} on {system.class_names[k]!r}, "
            "which has no executors or cannot hold its weights; set it to 0."
        )
    return shares
