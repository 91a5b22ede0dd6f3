"""Completion times as a sample: mean, quantiles, share beyond an SLO, and how sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import PlacementError

Floats = NDArray[np.float64]
REPLICATES = 4


@dataclass(frozen=True, eq=False)
class ResponseTimes:
    """Completion times of walked jobs, of one query class or of the mix.

    ``times_s`` (N,) may hold ``inf``: these jobs wait for an overloaded link. ``weights`` (N,) add up to
    1. Job i belongs to replicate ``group[i]`` of the paths, by which the error is estimated.

    >>> some = ResponseTimes(np.array([1.0, 2.0, 4.0, 5.0]), np.full(4, 0.25), np.array([0, 0, 1, 1]))
    >>> some.mean_s, some.quantile_s(0.5), some.miss(3.0)
    (3.0, 2.0, 0.5)
    """

    times_s: Floats
    weights: Floats
    group: NDArray[np.int64]

    @property
    def mean_s(self) -> float:
        """Mean completion time in seconds."""
        counted = self.weights > 0
        return float(self.weights[counted] @ self.times_s[counted])

    @property
    def error_s(self) -> float:
        """Standard error of the mean by sampling, from the replicates; 0 where all jobs are alike."""
        if not math.isfinite(self.mean_s):
            return math.nan
        means = [
            float(self.weights[g] @ self.times_s[g] / self.weights[g].sum())
            for g in (self.group == r for r in np.unique(self.group))
        ]
        return float(np.std(means, ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.nan

    def quantile_s(self, level: float) -> float:
        """The least time within which a share ``level`` of the jobs is complete.

        Raises ``PlacementError`` for a level outside 0…1.
        """
        if not 0 <= level <= 1:
            raise PlacementError(f"Response: quantile level={level:g} must lie between 0 and 1; give 0.95.")
        order = np.argsort(self.times_s, kind="stable")
        total = np.cumsum(self.weights[order])
        at = int(np.searchsorted(total, level * total[-1] * (1 - 1e-12)))
        return float(self.times_s[order[min(at, len(order) - 1)]])

    def miss(self, slo_s: float) -> float:
        """Probability of taking longer than ``slo_s``, with room for the rounding of sums."""
        return float(self.weights[self.times_s > slo_s * (1 + 1e-9)].sum())


@dataclass(frozen=True, eq=False)
class Response:
    """Predicted completion times of every query class and of the mix.

    ``compute_utilization`` (K,) is that of an executor of each class, ``link_utilization`` that of the
    most loaded kind of link.
    """

    queries: tuple[ResponseTimes, ...]
    mix: ResponseTimes
    compute_utilization: Floats
    link_utilization: float

    def miss(self, slo_s: Sequence[float | None]) -> tuple[float | None, ...]:
        """For each class the probability of missing its SLO; ``None`` where it has none."""
        return tuple(None if slo is None else q.miss(slo) for q, slo in zip(self.queries, slo_s, strict=True))


def mixed(times: Sequence[Floats], weights: Sequence[float]) -> ResponseTimes:
    """All classes together, class j weighing ``weights[j]``."""
    return ResponseTimes(
        np.concatenate(times),
        np.concatenate([np.full(len(t), w / len(t)) for t, w in zip(times, weights, strict=True)]),
        np.concatenate([np.arange(len(t)) * REPLICATES // len(t) for t in times]),
    )
