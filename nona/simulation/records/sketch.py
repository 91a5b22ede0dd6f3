"""A quantile sketch: percentiles of any number of values from a few hundred counters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

RELATIVE_ERROR = 0.005
_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)


@dataclass(frozen=True, eq=False)
class QuantileSketch:
    """Counts of values in buckets whose borders grow by a constant factor.

    Bucket i counts the values in (γ^(i−1), γ^i], γ = (1+α)/(1−α), α = :data:`RELATIVE_ERROR`, and
    stands for 2γ^i/(γ+1): no value in it is further away than α times itself. So every order
    statistic is known to a relative error of α, and so is every mean of two of them.

    Attributes
    ----------
    zeros
        How many values were 0.
    low
        Number of the first bucket in ``counts``.
    counts : (K,)
        Values in buckets ``low`` … ``low + K − 1``.

    Examples
    --------
    >>> sketch = QuantileSketch().added([0.0, 1.0, 2.0]).merged(QuantileSketch().added([3.0, 4.0]))
    >>> sketch.count, abs(sketch.quantile(0.5) - 2.0) <= 0.005 * 2.0
    (5, True)

    Source: Masson, Rim and Lee, DDSketch: a fast and fully-mergeable quantile sketch with
    relative-error guarantees, VLDB 2019, section 2.
    """

    zeros: int = 0
    low: int = 0
    counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def count(self) -> int:
        """Number of values."""
        return self.zeros + int(self.counts.sum())

    def added(self, values: ArrayLike) -> QuantileSketch:
        """This sketch with more values, which must be finite and at least 0."""
        x = np.asarray(values, dtype=float).ravel()
        positive = x[x > 0]
        if not len(positive):
            return QuantileSketch(self.zeros + len(x), self.low, self.counts)
        place = np.ceil(np.log(positive) / _LOG_GAMMA).astype(np.int64)
        low = int(place.min())
        return self.merged(QuantileSketch(len(x) - len(positive), low, np.bincount(place - low)))

    def merged(self, other: QuantileSketch) -> QuantileSketch:
        """The sketch of the values of both: exactly what one sketch of all would be."""
        parts = [s for s in (self, other) if len(s.counts)]
        if not parts:
            return QuantileSketch(self.zeros + other.zeros)
        low = min(s.low for s in parts)
        counts = np.zeros(max(s.low + len(s.counts) for s in parts) - low, dtype=np.int64)
        for s in parts:
            counts[s.low - low : s.low - low + len(s.counts)] += s.counts
        return QuantileSketch(self.zeros + other.zeros, low, counts)

    def quantile(self, p: float) -> float:
        """The ``p``-quantile, 0 ≤ p ≤ 1, to :data:`RELATIVE_ERROR`; ``nan`` without values.

        Linear between order statistics as in :func:`~nona.simulation.statistics.intervals.percentile`.
        """
        n = self.count
        if n == 0:
            return math.nan
        h = p * (n - 1)
        low = math.floor(h)
        return self._ordered(low) * (1 - (h - low)) + self._ordered(min(low + 1, n - 1)) * (h - low)

    def above(self, value: float) -> int:
        """How many values lie above ``value``, to :data:`RELATIVE_ERROR`: those in later buckets.

        >>> QuantileSketch().added([1.0, 2.0, 4.0]).above(2.0)
        1
        """
        if value <= 0:
            return self.count - self.zeros if value == 0 else self.count
        place = math.ceil(math.log(value) / _LOG_GAMMA) - self.low
        return int(self.counts[max(place + 1, 0) :].sum())

    def _ordered(self, rank: int) -> float:
        """Estimate of the value with ``rank`` smaller or equal ones before it."""
        if rank < self.zeros:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank - self.zeros, side="right"))
        return 2 * math.exp((self.low + bucket) * _LOG_GAMMA) / (_GAMMA + 1)
