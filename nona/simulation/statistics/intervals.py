"""Confidence intervals for means of independent values, and percentiles by definition."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from nona.errors import SimulationError


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

    @property
    def relative(self) -> float:
        """Half-width / |mean|; 0 where both are 0, ``nan`` where there is no interval."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf

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
    x = without_nan(values)
    n = len(x)
    if n == 0:
        return Interval(math.nan, math.nan, 0, level)
    half = math.nan
    if n > 1:
        half = student(n - 1, level) * float(x.std(ddof=1)) / math.sqrt(n)
    return Interval(float(x.mean()), half, n, level)


def student(degrees: float, level: float) -> float:
    """t(degrees, (1 + level)/2): the factor of a two-sided interval.

    >>> round(student(4, 0.95), 3)
    2.776

    Raises
    ------
    SimulationError
        When the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise SimulationError(f"Interval: level={level} must be between 0 and 1; use 0.95.")
    return float(stdtrit(degrees, (1 + level) / 2))


def values_needed(width: float, n: int, most: int = 1000) -> int | None:
    """How many values make the 95 % interval of their mean no wider than the mean; ``None`` beyond ``most``.

    Formula: the least m > n with t(m−1)/√m ≤ t(n−1)/√n / w.

    Parameters
    ----------
    width
        w, the half-width of the interval of ``n`` values over the absolute value of their mean.

    Examples
    --------
    >>> values_needed(2.0, 5), values_needed(5.6, 2), values_needed(1e3, 5)
    (13, 4, None)
    """
    counts = np.arange(n + 1, most + 1)
    halves = stdtrit(counts - 1, 0.975) / np.sqrt(counts)  # in standard deviations
    enough = counts[halves <= student(n - 1, 0.95) / math.sqrt(n) / width]
    return int(enough[0]) if len(enough) else None


def percentile(values: ArrayLike, percent: float) -> float:
    """The ``percent``-th percentile with linear interpolation between order statistics.

    Formula: with x₀ ≤ … ≤ x₍ₙ₋₁₎ and h = (n−1)·percent/100, x₍⌊h⌋₎ + (h−⌊h⌋)(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎).
    ``nan`` values are left out; without values the answer is ``nan``.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([], 99)
    (2.5, nan)

    Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician
    1996, definition 7.
    """
    x = without_nan(values)
    return float(np.percentile(x, percent)) if len(x) else math.nan


def without_nan(values: ArrayLike) -> NDArray[np.float64]:
    """The values that are numbers, in their order, as one row.

    >>> without_nan([1.0, float("nan"), 3.0]).tolist()
    [1.0, 3.0]
    """
    x: NDArray[np.float64] = np.asarray(values, dtype=float).ravel()
    kept: NDArray[np.float64] = x[~np.isnan(x)]
    return kept
