"""Means with their intervals: from statistics into results, from results into text."""

from __future__ import annotations

import math
from collections.abc import Callable

from nona.results.document import UNKNOWN, Estimate
from nona.results.document import Interval as Bounds
from nona.simulation.intervals import Interval

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


def mean_text(value: Estimate, show: Show) -> str:
    """``mean ± half-width``, each shown by ``show``; a dash where there is no mean.

    An interval of which a part was cut off, for no share lies beyond 1, is written by its ends where these
    digits tell them apart.

    >>> mean_text(Estimate(mean=0.25, ci95=(0.2, 0.3)), "{:.2f}".format)
    '0.25 ± 0.05'
    >>> mean_text(Estimate(mean=0.99, ci95=(0.97, 1.0)), "{:.2f}".format)
    '0.99 (0.97 to 1.00)'
    >>> mean_text(Estimate(mean=0.9999, ci95=(0.9998, 1.0)), "{:.1%}".format)
    '100.0% ± 0.0%'
    """
    if value.mean is None:
        return "–"
    half = value.half_width
    if half is None or value.ci95 is None:
        return show(value.mean)
    low, high = value.ci95
    cut = abs(high + low - 2 * value.mean) > 1e-6 * max(abs(value.mean), half) and (low == 0 or high == 1)
    if cut and show(low) != show(high):
        return f"{show(value.mean)} ({show(low)} to {show(high)})"
    half = 0.0 if cut else half
    return f"{show(value.mean)} ± {show(half if half > 1e-9 * abs(value.mean) else 0.0)}"  # below: rounding
