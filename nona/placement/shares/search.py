"""The search over class shares: configurations and shares in turn, each the best for the other.

At fixed shares the placement's own solver finds configurations, with a certificate; at fixed
configurations the shares follow from a smooth program. The two alternate until neither gains. Several
starts make it unlikely, not impossible, that another valley is deeper: what is certain is the bound
of :mod:`nona.placement.shares.lower_bound`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.class_loads import Loads
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.shares.descent import descend_shares
from nona.placement.shares.objective import SharesObjective
from nona.placement.shares.starts import starting_shares
from nona.system import System

Floats = NDArray[np.float64]
Kept = TypeVar("Kept")
_ROUNDS = 4
_SOLVED = 2
_TOLERANCE = 1e-4


@dataclass(frozen=True, eq=False)
class Solved(Generic[Kept]):
    """Configurations at some shares: mean JCT in seconds, rows, link wait, and what the solver keeps."""

    shares: Floats
    value_s: float
    rows: tuple[tuple[SubGraphPlacement, ...], ...]
    link_wait: float
    kept: Kept


def search_shares(system: System, loads: Loads, solve_at: Callable[[Floats], Solved[Kept]]) -> Solved[Kept]:
    """Shares and configurations of the least mean JCT that the search finds.

    The first round solves at the first start, optimises the shares from all starts for these
    configurations, and solves again at the best two ends; later rounds go on from the best alone, until
    a round gains less than a ten-thousandth, four rounds at most. At most six placements are solved.
    """
    starts = starting_shares(system, loads)
    best = solve_at(starts[0])
    for number in range(_ROUNDS):
        objective = SharesObjective.of(system, best.rows, best.shares, best.link_wait)
        begins = [best.shares, *starts[1:]] if number == 0 else [best.shares]
        ends = sorted((descend_shares(objective, loads, s) for s in begins), key=lambda e: e[0])
        before = best.value_s
        for shares in _distinct([s for _, s in ends], best.shares)[: _SOLVED if number == 0 else 1]:
            found = solve_at(shares)
            if found.value_s < best.value_s:
                best = found
        if best.value_s > before * (1 - _TOLERANCE):
            break
    return best


def _distinct(ends: list[Floats], present: Floats) -> list[Floats]:
    found: list[Floats] = [present]
    for s in ends:
        if not any(np.abs(s - other).max() < 1e-3 for other in found):
            found.append(s)
    return found[1:]
