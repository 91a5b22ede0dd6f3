"""The uncertainty of a time: the spread of the logarithm of true time / stated time, by provenance.

A time of provenance p is read as lognormal with median the stated time and σ = ``SIGMA[p]``.
Errors of the operators of one model share their cause (the same constants), so the interval of a
sum is taken with the same σ: it does not shrink with the number of operators.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from types import MappingProxyType

from nona.cost.costed import CostedGraph, Provenance
from nona.errors import CostError

SIGMA: Mapping[Provenance, float] = MappingProxyType(
    {
        "given": 0.0,  # what the file states is taken at its word
        "measured": 0.05,  # assumed: medians of repeated runs, another day or clock
        "calibrated": 0.12,  # MAPE of 8 to 12 % of models fitted to operator profiles (calibration.csv)
        "modelled": 0.35,  # whole models against published latencies (docs/validation.md)
    }
)


def interval(time_s: float, provenance: Provenance, level: float = 0.9) -> tuple[float, float]:
    """The central interval that holds the true time with probability ``level``, seconds.

    Formula: time · exp(∓ z·σ), z the normal quantile of (1 + level) / 2.

    Raises
    ------
    CostError
        When ``level`` is not between 0 and 1.

    >>> low, high = interval(1.0, "modelled")
    >>> round(low, 2), round(high, 2), interval(1.0, "given")
    (0.56, 1.78, (1.0, 1.0))
    """
    if not 0 < level < 1:
        raise CostError(f"Interval level {level!r}: it must be between 0 and 1; give for example 0.9.")
    factor = math.exp(NormalDist().inv_cdf((1 + level) / 2) * SIGMA[provenance])
    return time_s / factor, time_s * factor


def total_interval(costed: CostedGraph, level: float = 0.9) -> tuple[float, float]:
    """The interval of a model's total time: the sum of its operators' bounds."""
    bounds = [interval(c.compute_s, c.provenance, level) for c in costed.costs]
    return sum(b[0] for b in bounds), sum(b[1] for b in bounds)
