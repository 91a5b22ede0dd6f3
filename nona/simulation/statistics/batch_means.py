"""One long run instead of replications: the variance of its mean from overlapping batches."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.simulation.statistics.intervals import Interval, student, without_nan

Array = NDArray[np.float64]
BATCHES = 20  # a run holds this many batches side by side
FEWEST = 4  # values; fewer say nothing about their own correlation


def batch_size(n: int) -> int:
    """Values per batch: a twentieth of the run, at least 2.

    Batches must be much longer than the correlation, which nobody knows; so they are made as long
    as they can be while the degrees of freedom still matter little: beyond 30 batches an interval
    gains hardly any width, below 10 it loses much. √n, the other common choice, gives many short
    batches, and intervals that are too narrow when queues are long.

    >>> batch_size(20_000), batch_size(30)
    (1000, 2)

    Source: Schmeiser, Batch size effects in the analysis of simulation output, Operations Research
    30, 1982 (10 to 30 batches).
    """
    return max(2, n // BATCHES)


def long_run_variance(values: Array, batch: int) -> float:
    """σ² = lim n·Var(mean), by overlapping batch means.

    Formula: n·m / ((n−m)(n−m+1)) · Σⱼ (Ȳⱼ − Ȳ)², Ȳⱼ the mean of the m values from j on, for all
    n−m+1 places j; for independent values its expectation is their variance.

    >>> long_run_variance(np.array([1.0, 3.0, 1.0, 3.0]), 2)
    0.0

    Source: Meketon and Schmeiser, Overlapping batch means: something for nothing?, Winter
    Simulation Conference 1984.
    """
    n = len(values)
    centred = values - values.mean()
    sums = np.concatenate([np.zeros(1), np.cumsum(centred)])
    means = (sums[batch:] - sums[:-batch]) / batch
    return n * batch / ((n - batch) * (n - batch + 1)) * float(means @ means)


def overlapping_batch_means(values: ArrayLike, batch: int | None = None, level: float = 0.95) -> Interval:
    """Interval for the mean of one run's correlated values.

    Formula: Ȳ ± t(1.5(b−1), (1+level)/2) · √(σ²/n), b = n/m batches side by side, σ² as in
    :func:`long_run_variance`. Overlapping batches give half as many degrees of freedom again as
    batches side by side. ``n`` of the interval is ⌊b⌋. Fewer than four values have no interval.

    Parameters
    ----------
    batch
        Values per batch, m; by default that of :func:`batch_size`.

    >>> i = overlapping_batch_means(np.sin(np.arange(400.0)))
    >>> i.n, i.covers(0.0)
    (20, True)

    Source: Meketon and Schmeiser 1984, as above.
    """
    x = without_nan(values)
    n = len(x)
    m = batch_size(n) if batch is None else batch
    if n < FEWEST or n < 2 * m:
        return Interval(float(x.mean()) if n else math.nan, math.nan, min(n, 1), level)
    b = n / m
    half = student(1.5 * (b - 1), level) * math.sqrt(long_run_variance(x, m) / n)
    return Interval(float(x.mean()), half, int(b), level)


def run_mean(values: Array) -> float:
    """Mean of the values that are numbers; ``nan`` without any."""
    kept = without_nan(values)
    return float(kept.mean()) if len(kept) else math.nan
