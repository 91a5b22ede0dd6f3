"""Simulation decides between placements whose predictions differ by less than their accuracy.

The response is within about 10 % of what is simulated, so of two placements that are nearer to each other it
can name the wrong one; and where jobs come back to servers it can be far too low (``docs/joins.md``). So the
nearest rivals, and local whatever is predicted of it, are simulated with common random numbers that no later
run uses, in rounds, until the quickest is clearly quicker or the difference does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.result.placement import Placement, Rival, Sampled
from nona.placement.sampled.choose import judged
from nona.placement.sampled.judge import Values
from nona.placement.sampled.reported import mean_of
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling.tables import build_tables
from nona.simulation.statistics.paired import paired_difference
from nona.study.placing.short_runs import RUNS, short_means_s
from nona.system import System

ROUNDS = 4
RIVALS = 3
SAME = 0.005  # relative: a difference that does not matter
Floats = NDArray[np.float64]


def decide(
    system: System,
    placement: Placement,
    check: Callable[[], None] = lambda: None,
    on_share: Callable[[float], None] = lambda share: None,
) -> Placement:
    """The placement, or the rival that is faster when all of them are simulated.

    Only placements whose objective is the mean JCT, judged by sampled jobs, have rivals here. ``on_share`` is
    called after each run but the last with the share that is made of all that there may be.
    """
    sampled = placement.sampled
    if sampled is None or sampled.objective != "mean-jct" or not sampled.rivals:
        return placement
    rivals = sampled.rivals[:RIVALS]
    field = [placement.queries, *(rival.queries for rival in rivals)]
    means: dict[int, Floats] = dict.fromkeys(range(len(field)), np.zeros(0))
    scheduler = get_scheduler("nona")
    tables = [build_tables(system, queries, shares=placement.class_shares) for queries in field]
    runs = _Runs(ROUNDS * len(field) * RUNS, check, on_share)
    for turn in range(ROUNDS):
        means = {
            n: np.append(m, short_means_s(system, scheduler, tables[n], turn, runs.next))
            for n, m in means.items()
        }
        means = _still_open(means)
        if len(means) == 1:
            break
    best = min(means, key=lambda n: float(means[n].mean()))
    return placement if best == 0 else _replaced(system, placement, rivals[best - 1])


class _Runs:
    """Counts runs that begin, of ``most``."""

    def __init__(self, most: int, check: Callable[[], None], on_share: Callable[[float], None]) -> None:
        self._most, self._check, self._on_share, self._done = most, check, on_share, 0

    def next(self) -> None:
        self._check()
        if self._done:
            self._on_share(self._done / self._most)
        self._done += 1


def _still_open(means: dict[int, Floats]) -> dict[int, Floats]:
    """The fastest, and those that are neither clearly slower nor equal within the tolerance."""
    best = min(means, key=lambda n: float(means[n].mean()))
    quickest = means[best]
    kept = {best: quickest}
    for n, other in means.items():
        if n == best or not np.isfinite(other).all():
            continue
        found = paired_difference(other, quickest)
        if not found.is_clear and found.difference.mean > SAME * float(quickest.mean()):
            kept[n] = other
    return kept


def _replaced(system: System, placement: Placement, rival: Rival) -> Placement:
    values = mean_of(system, placement, rival.queries)
    made = judged(system, placement, rival.queries, values, rival.origin)
    note = f"In simulation, {rival.origin} was faster than the placement that sampled jobs preferred."
    return replace(made, notes=(note, *placement.notes), sampled=_figures(placement, rival, values))


def _figures(placement: Placement, rival: Rival, values: Values) -> Sampled | None:
    """The figures of the search, with the rival as the chosen placement."""
    found = placement.sampled
    if found is None:
        return None
    return replace(
        found,
        value=values.value,
        error=values.error,
        gain=found.formula_value - values.value,
        gain_error=math.hypot(values.error, placement.objective_error_s),  # unpaired: rather too large
        queries=tuple(float(y.mean()) for y in values.y),
        origin=rival.origin,
        rivals=tuple(other for other in found.rivals if other is not rival),
    )
