"""Confidence intervals and percentiles, from runs to numbers that may be shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from nona.errors import SimulationError

P99_JOBS = 1000  # fewer jobs leave less than ten beyond the 99th percentile
BATCHES = 20


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with the half-width of its confidence interval (``nan``: too few values for one).

    ``n`` values went in; ``level`` is the probability that the interval covers the true mean.
    """

    mean: float
    half_width: float
    n: int
    level: float = 0.95

    @property
    def low(self) -> float:
        """Lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Upper end."""
        return self.mean + self.half_width

    def covers(self, value: float) -> bool:
        """Whether ``value`` lies within; ``False`` where there is no interval."""
        return self.low <= value <= self.high


NO_INTERVAL = Interval(math.nan, math.nan, 0)


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Student's t interval for the mean of independent values, one per replication.

    Formula: x̄ ± t(n−1, (1+level)/2) · s/√n. Values that are ``nan`` (a replication in which a
    class had no jobs) are left out.

    Raises
    ------
    SimulationError
        When the level is not between 0 and 1.

    Examples
    --------
    >>> i = mean_interval([1.0, 2.0, 3.0])
    >>> round(i.mean, 3), round(i.half_width, 3), i.n
    (2.0, 2.484, 3)

    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 4.5.
    """
    if not 0 < level < 1:
        raise SimulationError(f"Interval: level={level} must lie between 0 and 1; take 0.95.")
    x = np.asarray(values, dtype=float).ravel()
    x = x[~np.isnan(x)]
    n = len(x)
    if n == 0:
        return Interval(math.nan, math.nan, 0, level)
    half = math.nan
    if n > 1:
        half = float(stdtrit(n - 1, (1 + level) / 2) * x.std(ddof=1) / math.sqrt(n))
    return Interval(float(x.mean()), half, n, level)


def batch_means_interval(values: ArrayLike, batches: int = BATCHES, level: float = 0.95) -> Interval:
    """Interval for the mean of one run's correlated values, from the means of consecutive batches.

    The run is cut into equal batches, the few values that do not fill one left out at the start;
    Student's t on the batch means. It holds if a batch is much longer than the correlation; with
    fewer than two values per batch, fewer batches are taken. ``n`` is the number of batches.

    >>> batch_means_interval([1.0, 1.0, 3.0, 3.0], batches=2).mean
    2.0

    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.5.3.
    """
    x = np.asarray(values, dtype=float).ravel()
    x = x[~np.isnan(x)]
    count = min(batches, len(x) // 2)
    if count < 2:
        return Interval(float(x.mean()) if len(x) else math.nan, math.nan, min(len(x), 1), level)
    means = x[len(x) % count :].reshape(count, -1).mean(axis=1)
    return mean_interval(means, level)


def percentile(values: ArrayLike, percent: float) -> float:
    """The ``percent``-th percentile with linear interpolation between order statistics.

    Formula: with x₀ ≤ … ≤ x₍ₙ₋₁₎ and h = (n−1)·percent/100, x₍⌊h⌋₎ + (h−⌊h⌋)(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎).
    ``nan`` values are left out; without values the answer is ``nan``.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([], 99)
    (2.5, nan)

    Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician
    1996, definition 7.
    """
    x = np.asarray(values, dtype=float).ravel()
    x = x[~np.isnan(x)]
    return float(np.percentile(x, percent)) if len(x) else math.nan


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Interval:
    """Interval for the mean of a − b, replication by replication.

    With common random numbers the two share their noise, and the interval of the difference is
    narrower than the two intervals side by side.

    Raises
    ------
    SimulationError
        When the two differ in length.

    >>> a, b = [2.0, 3.0, 4.1], [1.0, 2.0, 3.0]
    >>> paired_difference(a, b).half_width < mean_interval(a).half_width / 10
    True
    """
    x: NDArray[np.float64] = np.asarray(a, dtype=float)
    y: NDArray[np.float64] = np.asarray(b, dtype=float)
    if x.shape != y.shape:
        raise SimulationError(
            f"Paired difference: {x.size} and {y.size} replications must match; run both alike."
        )
    return mean_interval(x - y, level)


def over_replications(values: Sequence[NDArray[np.float64]], level: float = 0.95) -> Interval:
    """Interval for the mean of per-job values: over replications, or batch means if there is one."""
    if len(values) == 1:
        return batch_means_interval(values[0], level=level)
    return mean_interval([_mean(v) for v in values], level)


def _mean(values: NDArray[np.float64]) -> float:
    kept = values[~np.isnan(values)]
    return float(kept.mean()) if len(kept) else math.nan
