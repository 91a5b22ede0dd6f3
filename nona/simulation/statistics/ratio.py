"""How many times as long one scheduler takes as another that saw the same jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.errors import SimulationError
from nona.simulation.statistics.intervals import student


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with the ends of its interval (``nan``: none can be given), from ``n`` pairs."""

    value: float
    low: float
    high: float
    n: int

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 1."""
        return self.low > 1 or self.high < 1


NO_RATIO = Ratio(math.nan, math.nan, math.nan, 0)


def paired_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Ratio:
    """E[a] / E[b] from one value per replication each, paired, with Fieller's interval.

    Formula: all θ with (ā − θb̄)² ≤ t²·(s_aa − 2θs_ab + θ²s_bb)/n, t = t(n−1, (1+level)/2), s the sample
    (co)variances: the θ that a t test of "the mean of a − θb is 0" does not reject. It is an interval
    as long as b̄ is clearly not 0; else there is none. With pairs that are jointly normal its coverage
    is exact, for any n ≥ 2. Where no value is negative the ratio of the means is not either: of the interval
    the part from 0 on is returned, which covers as often. Pairs with a ``nan`` are left out.

    Raises
    ------
    SimulationError
        When the two differ in length.

    >>> r = paired_ratio([20.2, 20.4, 21.8], [10.0, 10.2, 10.9])
    >>> [round(v, 2) for v in (r.low, r.value, r.high)], r.is_clear
    ([1.98, 2.01, 2.04], True)

    Source: Fieller, Some problems in interval estimation, Journal of the Royal Statistical Society B
    16, 1954; pairing: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 10.2.1.
    """
    x: NDArray[np.float64] = np.asarray(a, dtype=float)
    y: NDArray[np.float64] = np.asarray(b, dtype=float)
    if x.shape != y.shape:
        raise SimulationError(
            f"Ratio: {x.size} and {y.size} replications must match; run both in the same way."
        )
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    n = len(x)
    if n == 0 or y.mean() == 0:
        return NO_RATIO
    value = float(x.mean() / y.mean())
    if n == 1:
        return Ratio(value, math.nan, math.nan, 1)
    low, high = _fieller(x, y, student(n - 1, level) ** 2 / n)
    if min(x.min(), y.min()) >= 0:
        low = float(np.maximum(low, 0.0))  # keeps nan
    return Ratio(value, low, high, n)


def _fieller(x: NDArray[np.float64], y: NDArray[np.float64], t2: float) -> tuple[float, float]:
    """The roots of Fieller's quadratic; ``t2`` is t²/n. With residuals it keeps its digits: x = θ̂y + e."""
    value, mean = float(x.mean() / y.mean()), float(y.mean())
    rest = x - value * y
    spread = float(np.var(y, ddof=1))
    shared = float(np.cov(rest, y)[0, 1])
    g = t2 * spread / mean**2
    if g >= 1:
        return math.nan, math.nan
    # (1 − g)δ² + 2(t2·shared/b̄²)δ − t2·Var(e)/b̄² ≤ 0 for θ = θ̂ + δ
    half = t2 * shared / mean**2
    root = math.sqrt(half**2 + (1 - g) * t2 * float(np.var(rest, ddof=1)) / mean**2)
    return value + (-half - root) / (1 - g), value + (-half + root) / (1 - g)
