"""Differences between schedulers that saw the same jobs, and what that saves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.errors import SimulationError
from nona.simulation.statistics.batch_means import (
    BATCHES,
    batch_size,
    long_run_variance,
    overlapping_batch_means,
)
from nona.simulation.statistics.intervals import NO_INTERVAL, Interval, mean_interval

Array = NDArray[np.float64]
FEWEST = 5  # pairs; with 2 the correlation is always 1 or −1, with 3 or 4 it is anything


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of a − b with its interval, and the gain from common random numbers.

    Attributes
    ----------
    difference
        a − b, pair by pair.
    variance_reduction
        (Var a + Var b) / Var(a − b): how many times as many replications two schedulers with random
        numbers of their own would need for an interval as narrow. ``inf`` when all differences
        are equal, ``nan`` when there are too few pairs to tell.
    correlation
        Between a and b.
    """

    difference: Interval
    variance_reduction: float
    correlation: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return not math.isnan(self.difference.half_width) and not self.difference.covers(0.0)


NO_DIFFERENCE = PairedDifference(NO_INTERVAL, math.nan, math.nan)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> PairedDifference:
    """Difference of two schedulers from one value per replication each, paired.

    Formula: with dᵢ = aᵢ − bᵢ, d̄ ± t(n−1, (1+level)/2) · s_d/√n. With common random numbers
    Var(a−b) = Var a + Var b − 2 Cov(a, b) is the smaller, the more the two share their noise.
    Pairs with a ``nan`` are left out.

    Raises
    ------
    SimulationError
        When the two differ in length.

    >>> d = paired_difference([2.0, 3.0, 4.1, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> round(d.difference.mean, 2), d.is_clear, d.variance_reduction > 1000
    (1.02, True, True)

    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, sections 10.2.1 and 11.2.
    """
    x: Array = np.asarray(a, dtype=float)
    y: Array = np.asarray(b, dtype=float)
    if x.shape != y.shape:
        raise SimulationError(
            f"Paired difference: {x.size} and {y.size} replications must match; run both in the same way."
        )
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    interval = mean_interval(x - y, level)
    if len(x) < FEWEST:
        return PairedDifference(interval, math.nan, math.nan)
    return _with_gain(interval, *(float(np.var(v, ddof=1)) for v in (x, y, x - y)))


def paired_jobs(a: Array, b: Array, level: float = 0.95) -> PairedDifference:
    """Difference of two schedulers from the same jobs of one run each, by overlapping batch means.

    The jobs' differences form one correlated sequence, whose mean gets the interval of one long
    run; the variances that are compared are those of the three means.
    """
    if a.shape != b.shape:
        raise SimulationError(
            f"Paired difference: {a.size} and {b.size} jobs must be the same ones; run both in the same way."
        )
    both = ~(np.isnan(a) | np.isnan(b))
    x, y = a[both], b[both]
    interval = overlapping_batch_means(x - y, level=level)
    if len(x) < 2 * BATCHES:
        return PairedDifference(interval, math.nan, math.nan)
    size = batch_size(len(x))
    return _with_gain(interval, *(long_run_variance(v, size) for v in (x, y, x - y)))


def _with_gain(interval: Interval, a: float, b: float, difference: float) -> PairedDifference:
    both = a + b
    tiny = 1e-24 * both  # below it the differences vary by rounding only
    factor = both / difference if difference > tiny else math.inf if both > 0 else math.nan
    product = math.sqrt(a * b)
    correlation = (both - difference) / 2 / product if product > 0 else math.nan
    return PairedDifference(interval, factor, min(max(correlation, -1.0), 1.0))
