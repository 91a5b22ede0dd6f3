"""Means with their intervals: from statistics into results, and from results into text."""

from __future__ import annotations

import math
from collections.abc import Callable

from nona.report.text import interval_text
from nona.results.document import Interval as Bounds
from nona.results.mean import Mean
from nona.simulation.statistics.intervals import Interval

Show = Callable[[float], str]


def bounds(interval: Interval) -> Bounds:
    """Lower and upper bound, or ``None`` without an interval.

    >>> bounds(Interval(1.0, 0.5, 3))
    (0.5, 1.5)
    """
    return (interval.low, interval.high) if math.isfinite(interval.half_width) else None


def mean_of(interval: Interval | None) -> Mean:
    """A mean as results carry it; without an interval, one without values.

    >>> mean_of(Interval(1.0, float("nan"), 1)), mean_of(None)
    (Mean(mean=1.0, ci95=None), Mean(mean=None, ci95=None))
    """
    if interval is None:
        return Mean(mean=None, ci95=None)
    return Mean(mean=interval.mean, ci95=bounds(interval))


def mean_text(value: Mean, show: Show) -> str:
    """``mean ± half-width``, each shown by ``show``; a dash where there is no mean.

    >>> mean_text(Mean(mean=0.25, ci95=(0.2, 0.3)), "{:.2f}".format)
    '0.25 ± 0.05'
    """
    return interval_text({"mean": value.mean, "ci95": value.ci95}, show)
