"""A random walk over placements that accepts what is faster, and what is slower with a small chance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Places = tuple[int, ...]
MOST_PATIENCE = 1000


@dataclass(frozen=True, slots=True)
class Walk:
    """``steps`` proposals; ``alpha``: a proposal that is slower by x % of the time on one device is accepted
    with probability exp(−alpha·x)."""

    steps: int
    alpha: float

    @property
    def patience(self) -> int:
        """Steps without a better placement after which the walk goes back to the best."""
        return max(1, min(self.steps // 100, MOST_PATIENCE))


def best_placement(
    time_of: Callable[[Sequence[int]], float],
    tasks: int,
    devices: int,
    walk: Walk,
    rng: np.random.Generator,
) -> Places:
    """The fastest placement that the walk meets: a device from 0 to ``devices`` − 1 for each task.

    It starts with all tasks on device 0. A step moves a random task to a random device.

    Examples
    --------
    >>> apart = lambda places: 2.0 - (places[0] != places[1])
    >>> best = best_placement(apart, 2, 3, Walk(50, 0.05), np.random.default_rng(0))
    >>> best[0] != best[1]
    True
    """
    current = [0] * tasks
    current_s = best_s = whole_s = time_of(current)
    best, stale = tuple(current), 0
    if tasks == 1 or devices == 1:
        return best
    moved = rng.integers(0, tasks, walk.steps).tolist()
    chosen, chance = rng.integers(0, devices, walk.steps).tolist(), rng.random(walk.steps).tolist()
    for task, device, u in zip(moved, chosen, chance, strict=True):
        before, current[task] = current[task], device
        proposed_s = current_s if device == before else time_of(current)
        slower = 100 * (proposed_s - current_s) / whole_s if whole_s > 0 else 0.0
        if slower <= 0 or u < math.exp(-walk.alpha * slower):
            current_s = proposed_s
        else:
            current[task] = before
        stale += 1
        if current_s < best_s:
            best, best_s, stale = tuple(current), current_s, 0
        elif stale >= walk.patience:
            current, current_s, stale = list(best), best_s, 0
    return best
