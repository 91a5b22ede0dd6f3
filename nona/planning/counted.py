"""What the sequential test needs of runs whose jobs are known one by one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.planning.verdict import LEVELS, Counts


def counted(runs: Sequence[ArrayLike], share: float) -> Counts:
    """The counts of a target that asks for ``share``, from the jobs of every run.

    Parameters
    ----------
    runs
        For each replication its jobs' times over their bounds; ``inf`` or ``nan`` for unfinished ones. Jobs
        of several models may stand together: each time is divided by its own bound.

    >>> found = counted([[0.5, 0.9, 1.2, float("nan")], [0.4, 0.6, 0.7, 0.8]], 0.5)
    >>> found.hits, found.late[0]
    ((2, 4), (3, 1))
    """
    ratios = [_finished(run) for run in runs]
    whole = np.concatenate(ratios)
    levels = [_level(whole, min(1.0, factor * (1 - share))) for factor in LEVELS]
    return Counts(
        tuple(len(r) for r in ratios),
        tuple(int(np.count_nonzero(r <= 1)) for r in ratios),
        tuple(tuple(int(np.count_nonzero(r > level)) for r in ratios) for level in levels),
    )


def _finished(run: ArrayLike) -> NDArray[np.float64]:
    ratios: NDArray[np.float64] = np.asarray(run, dtype=float)
    return np.where(np.isnan(ratios), np.inf, ratios)


def _level(ratios: NDArray[np.float64], beyond: float) -> float:
    """The bound itself, or the smaller factor on it that a share ``beyond`` of the jobs exceeds."""
    return min(1.0, float(np.quantile(ratios, 1 - beyond, method="lower"))) if len(ratios) else 1.0
