"""Means with their intervals: from statistics into results, from results into text."""

from __future__ import annotations

import math

from nona.results.document import UNKNOWN, Estimate
from nona.results.document import Interval as Bounds
from nona.simulation.intervals import Interval


def bounds(interval: Interval) -> Bounds:
    """Lower and upper bound, or ``None`` without an interval.

    >>> bounds(Interval(1.0, 0.5, 3))
    (0.5, 1.5)
    """
    return (interval.low, interval.high) if math.isfinite(interval.half_width) else None


def mean_of(interval: Interval | None) -> Estimate:
    """A mean as results carry it; without an interval, one without values.

    >>> mean_of(Interval(1.0, float("nan"), 1)), mean_of(None)
    (Estimate(mean=1.0, ci95=None), Estimate(mean=None, ci95=None))
    """
    return UNKNOWN if interval is None else Estimate(mean=interval.mean, ci95=bounds(interval))


def rate_of(interval: Interval | None) -> Estimate:
    """A mean share as results carry it: its interval ends at 0 and at 1, beyond which no share lies.

    >>> rate_of(Interval(0.99, 0.02, 5)).ci95
    (0.97, 1.0)
    """
    estimate = mean_of(interval)
    if estimate.ci95 is None:
        return estimate
    low, high = estimate.ci95
    return estimate.model_copy(update={"ci95": (min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0))})
