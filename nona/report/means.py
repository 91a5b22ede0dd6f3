"""Means with their intervals: from statistics into results, and from results into text."""

from __future__ import annotations

import math
from collections.abc import Callable

from nona.results.document import Interval as Bounds
from nona.results.estimate import UNKNOWN, Estimate
from nona.simulation.statistics.intervals import Interval

Show = Callable[[float], str]


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


def mean_text(value: Estimate, show: Show) -> str:
    """``mean ± half-width``, each shown by ``show``; a dash where there is no mean.

    >>> mean_text(Estimate(mean=0.25, ci95=(0.2, 0.3)), "{:.2f}".format)
    '0.25 ± 0.05'
    """
    if value.mean is None:
        return "–"
    half = value.half_width
    if half is None:
        return show(value.mean)
    return f"{show(value.mean)} ± {show(half if half > 1e-9 * abs(value.mean) else 0.0)}"  # below: rounding
