"""Confidence intervals: of means, percentiles, paired differences, ratios, one long run.

A percentile is taken of each replication by itself, and its interval is Student's t over the
replications. A bootstrap over replications resamples the same few values and is too narrow (with 5
replications by the factor √(4/5) · 1.96/2.78), and an interval between order statistics reaches
95 % from 6 replications on only, so that neither serves the usual 5. One run is cut into sections.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from nona.core.arrays import Floats
from nona.core.document import Estimate, Percentile, number
from nona.core.errors import SimulationError


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
        """The lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half_width

    @property
    def relative(self) -> float:
        """Half-width / |mean|; 0 where both are 0, ``nan`` where there is no interval."""
        if self.half_width == 0:
            return 0.0
        return self.half_width / abs(self.mean) if self.mean else math.inf

    def covers(self, value: float) -> bool:
        """Return whether ``value`` lies within; ``False`` where there is no interval."""
        return self.low <= value <= self.high

    @property
    def ends(self) -> tuple[float, float] | None:
        """Both ends; ``None`` where there is no interval."""
        return (self.low, self.high) if math.isfinite(self.half_width) else None

    @property
    def estimate(self) -> Estimate:
        """The mean as results carry it.

        >>> Interval(1.0, 0.5, 3).estimate, NO_INTERVAL.estimate
        (Estimate(mean=1.0, ci95=(0.5, 1.5)), Estimate(mean=None, ci95=None))
        """
        return Estimate(mean=self.mean, ci95=self.ends)

    @property
    def rate(self) -> Estimate:
        """A mean share as results carry it: its interval ends at 0 and at 1, beyond which no share lies.

        >>> Interval(0.99, 0.02, 5).rate.ci95
        (0.97, 1.0)
        """
        ends = self.ends
        cut = None if ends is None else (min(max(ends[0], 0.0), 1.0), min(max(ends[1], 0.0), 1.0))
        return Estimate(mean=self.mean, ci95=cut)


NO_INTERVAL = Interval(math.nan, math.nan, 0)


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Return Student's t interval for the mean of independent values, one per replication.

    Parameters
    ----------
    values : array_like of shape (n,)
        One value per replication. ``nan`` values (a replication in which a class had no jobs) are left out.
    level : float, default 0.95
        The confidence level, between 0 and 1.

    Returns
    -------
    Interval
        Mean, half width and number of values, in the unit of ``values``. With one value the half width is
        ``nan``; without any the mean is too.

    Raises
    ------
    SimulationError
        If ``level`` is not between 0 and 1.

    Notes
    -----
    x̄ ± t(n−1, (1+level)/2) · s/√n: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 4.5.

    Examples
    --------
    >>> i = mean_interval([1.0, 2.0, 3.0])
    >>> round(i.mean, 3), round(i.half_width, 3), i.n
    (2.0, 2.484, 3)
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
    """
    if not 0 < level < 1:
        raise SimulationError(f"Interval: level={level} must be between 0 and 1; use 0.95.")
    return float(scipy.special.stdtrit(degrees, (1 + level) / 2))


def welch_interval(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of mean(a) − mean(b) for independent samples whose variances may differ.

    Formula: ā − b̄ ± t(ν, (1+level)/2)·√(s_a²/n + s_b²/m), with
    ν = (s_a²/n + s_b²/m)² / ((s_a²/n)²/(n−1) + (s_b²/m)²/(m−1)). ``nan`` values are left out; without
    two values on either side there is no half-width.

    >>> i = welch_interval([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
    >>> round(i.mean, 3), round(i.half_width, 3)
    (2.0, 2.267)

    Source: Welch, The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 1947; Law, Simulation Modeling and Analysis, 5th ed. 2015,
    section 10.2.2.
    """
    x, y = without_nan(a), without_nan(b)
    if not len(x) or not len(y):
        return NO_INTERVAL
    mean, count = float(x.mean() - y.mean()), min(len(x), len(y))
    if count < 2:
        return Interval(mean, math.nan, count, level)
    u, v = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if u + v == 0:
        return Interval(mean, 0.0, count, level)
    degrees = (u + v) ** 2 / (u**2 / (len(x) - 1) + v**2 / (len(y) - 1))
    return Interval(mean, student(degrees, level) * math.sqrt(u + v), count, level)


def percentile(values: ArrayLike, percent: float) -> float:
    """Return the ``percent``-th percentile with linear interpolation between order statistics.

    Formula: with x₀ ≤ … ≤ x₍ₙ₋₁₎ and h = (n−1)·percent/100, x₍⌊h⌋₎ + (h−⌊h⌋)(x₍⌊h⌋₊₁₎ − x₍⌊h⌋₎).
    ``nan`` values are left out; without values the answer is ``nan``.

    >>> percentile([1.0, 2.0, 3.0, 4.0], 50), percentile([], 99)
    (2.5, nan)

    Source: Hyndman and Fan, Sample Quantiles in Statistical Packages, The American Statistician
    1996, definition 7.
    """
    x = without_nan(values)
    return float(np.percentile(x, percent)) if len(x) else math.nan


def without_nan(values: ArrayLike) -> Floats:
    """Return the values that are numbers, in their order, as one row.

    >>> without_nan([1.0, float("nan"), 3.0]).tolist()
    [1.0, 3.0]
    """
    x: Floats = np.asarray(values, dtype=float).ravel()
    kept: Floats = x[~np.isnan(x)]
    return kept


BEYOND = 10  # jobs expected beyond a percentile that is shown, in each replication
BEYOND_INTERVAL = 100  # and beyond one that has an interval: they come in bursts, and bursts must be several
SECTIONS = 10


def no_percentile(why: str) -> Percentile:
    """Return a percentile without a value, and the reason ``why``."""
    return Percentile(value_s=None, ci95=None, withheld=why, interval_withheld=why)


def jobs_needed(percent: float, beyond: int = BEYOND) -> int:
    """Jobs so that as many as ``beyond`` are expected beyond the percentile, on its rarer side.

    >>> [jobs_needed(p) for p in (50, 95, 99)]
    [20, 200, 1000]
    """
    return math.ceil(beyond / min(percent, 100 - percent) * 100 - 1e-9)


def percentile_interval(runs: Sequence[Floats], percent: float, level: float = 0.95) -> Percentile:
    """Return a percentile of per-job values, one array per replication, with its interval.

    The value is the mean of the replications' percentiles, the interval Student's t over them. A
    value needs 10 jobs expected beyond it in each replication (p50 20 jobs, p95 200, p99 1,000), an
    interval 100: jobs far out come in bursts, and the percentile of a sample with few bursts is
    biased and skewed.

    One run is cut into 10 sections, with 100 jobs expected beyond in each. Formula:
    q̂ ± t(9) · √(Σ (q̂ᵢ − q̂)²/9/10), q̂ of the whole run and q̂ᵢ of its sections.

    >>> x = np.random.default_rng(1).exponential(size=(4, 10_000))
    >>> percentile_interval(x, 99).as_mean.covers(np.log(100))
    True
    >>> percentile_interval(x[:, :999], 99).withheld
    'p99 needs 1,000 completed jobs per replication; there are 999'

    Source: per replication, Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.4.2;
    sections, Asmussen and Glynn, Stochastic Simulation 2007, section III.5. The numbers 10 and 100
    are ours, by experiment where the truth is known.
    """
    percentiles = [percentile(r, percent) for r in runs]
    why = too_few_jobs([len(without_nan(r)) for r in runs], percent)
    if len(runs) == 1 and not why.interval_withheld:
        whole = _sectioned(without_nan(runs[0]), percentiles[0], percent, level)
        return why.model_copy(update={"value_s": whole.mean, "ci95": whole.ends})
    return percentile_of(percentiles, why, level)


def percentile_of(percentiles: Sequence[float], why: Percentile, level: float = 0.95) -> Percentile:
    """Percentiles of replications, averaged; withheld as ``why`` of :func:`too_few_jobs` says."""
    if why.withheld:
        return why
    interval = mean_interval(percentiles, level)
    ends = None if why.interval_withheld else interval.ends
    return why.model_copy(update={"value_s": interval.mean, "ci95": ends})


def too_few_jobs(completed: Sequence[int], percent: float) -> Percentile:
    """Return an empty percentile, with the reason where jobs are too few for it or for its interval."""
    fewest, needed = min(completed), jobs_needed(percent)
    per = "per replication" if len(completed) > 1 else "in the one run"
    there = f"there are {fewest:,}"
    if fewest < needed:
        return no_percentile(f"p{percent:g} needs {needed:,} completed jobs {per}; {there}")
    needed = jobs_needed(percent, BEYOND_INTERVAL) * (1 if len(completed) > 1 else SECTIONS)
    if fewest < needed:
        why = f"the interval of p{percent:g} needs {needed:,} completed jobs {per}; {there}"
        return Percentile(value_s=None, ci95=None, withheld=None, interval_withheld=why)
    return Percentile(value_s=None, ci95=None, withheld=None, interval_withheld=None)


def _sectioned(values: Floats, whole: float, percent: float, level: float) -> Interval:
    size = len(values) // SECTIONS
    parts = values[len(values) - size * SECTIONS :].reshape(SECTIONS, size)
    spread = np.percentile(parts, percent, axis=1) - whole
    half = student(SECTIONS - 1, level) * math.sqrt(float(spread @ spread) / (SECTIONS - 1) / SECTIONS)
    return Interval(whole, half, SECTIONS, level)


BATCHES = 20  # a run holds this many batches side by side
FEWEST_VALUES = 4  # values; fewer say nothing about their own correlation


def batch_size(n: int) -> int:
    """Values per batch: a twentieth of the run, at least 2.

    Batches must be much longer than the correlation, which is not known; so they are made as long
    as they can be while the degrees of freedom still matter little: beyond 30 batches an interval
    gains hardly any width, below 10 it loses much. √n, the other common choice, gives many short
    batches, and intervals that are too narrow when queues are long.

    >>> batch_size(20_000), batch_size(30)
    (1000, 2)

    Source: Schmeiser, Batch size effects in the analysis of simulation output, Operations Research
    30, 1982 (10 to 30 batches).
    """
    return max(2, n // BATCHES)


def long_run_variance(values: Floats, batch: int) -> float:
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

    ``batch``: values per batch, m; by default that of :func:`batch_size`.

    >>> i = overlapping_batch_means(np.sin(np.arange(400.0)))
    >>> i.n, i.covers(0.0)
    (20, True)

    Source: Meketon and Schmeiser 1984, as above.
    """
    x = without_nan(values)
    n = len(x)
    m = batch_size(n) if batch is None else batch
    if n < FEWEST_VALUES or n < 2 * m:
        return Interval(float(x.mean()) if n else math.nan, math.nan, min(n, 1), level)
    b = n / m
    half = student(1.5 * (b - 1), level) * math.sqrt(long_run_variance(x, m) / n)
    return Interval(float(x.mean()), half, int(b), level)


def run_mean(values: Floats) -> float:
    """Mean of the values that are numbers; ``nan`` without any."""
    kept = without_nan(values)
    return float(kept.mean()) if len(kept) else math.nan


FEWEST_PAIRS = 5  # pairs; with 2 the correlation is always 1 or −1, with 3 or 4 it is anything


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean of a − b with its interval, and the gain from common random numbers.

    ``difference``: a − b, pair by pair.
    ``variance_reduction``: (Var a + Var b) / Var(a − b): how many times as many replications two schedulers
        with random numbers of their own would need for an interval as narrow. ``inf`` when all differences
        are equal, ``nan`` when there are too few pairs to tell.
    ``correlation``: between a and b.
    """

    difference: Interval
    variance_reduction: float
    correlation: float

    @property
    def is_clear(self) -> bool:
        """True where the interval excludes 0."""
        return not math.isnan(self.difference.half_width) and not self.difference.covers(0.0)


NO_DIFFERENCE = PairedDifference(NO_INTERVAL, math.nan, math.nan)


def paired_difference(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> PairedDifference:
    """Return the difference of two schedulers from one value per replication each, paired.

    Formula: with dᵢ = aᵢ − bᵢ, d̄ ± t(n−1, (1+level)/2) · s_d/√n. With common random numbers
    Var(a−b) = Var a + Var b − 2 Cov(a, b) is the smaller, the more the two share their noise.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        A value of each replication; pairs with a ``nan`` are left out.
    level : float, optional
        Confidence level, between 0 and 1.

    Returns
    -------
    PairedDifference
        Of mean(a) − mean(b), with the variance that pairing saves.

    Raises
    ------
    SimulationError
        If the two differ in length.

    Notes
    -----
    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, sections 10.2.1 and 11.2.

    Examples
    --------
    >>> d = paired_difference([2.0, 3.0, 4.1, 5.0, 6.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    >>> round(d.difference.mean, 2), d.is_clear, d.variance_reduction > 1000
    (1.02, True, True)
    """
    x: Floats = np.asarray(a, dtype=float)
    y: Floats = np.asarray(b, dtype=float)
    if x.shape != y.shape:
        raise SimulationError(
            f"Paired difference: {x.size} and {y.size} replications must match; run both in the same way."
        )
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    interval = mean_interval(x - y, level)
    if len(x) < FEWEST_PAIRS:
        return PairedDifference(interval, math.nan, math.nan)
    return _with_gain(interval, *(float(np.var(v, ddof=1)) for v in (x, y, x - y)))


def level_with(best: str, runs: Mapping[str, Sequence[float | None]]) -> tuple[str, ...]:
    """Names whose paired difference from ``best`` has an interval that includes 0: no winner among them.

    ``runs``: one value of each replication; a single one counts for all, as where nothing is drawn. Without
    an interval, as in a single replication, those that are equal. Where only estimates are known:
    :func:`not_apart`.

    >>> level_with("a", {"a": [1.0, 2.0, 3.0], "b": [1.1, 1.9, 3.1], "c": [2.0, 3.1, 4.2], "d": [2.0]})
    ('b', 'd')
    >>> level_with("a", {"a": [1.0], "b": [1.0], "c": [1.1]})
    ('b',)
    """
    most = max(map(len, runs.values()))
    values = {name: np.resize(np.array(of, dtype=float), most) for name, of in runs.items()}
    apart = {n: paired_difference(of, values[best]).difference for n, of in values.items() if n != best}
    return tuple(
        n for n, d in apart.items() if d.mean == 0 or (not math.isnan(d.half_width) and d.covers(0.0))
    )


def not_apart(best: str, estimates: Mapping[str, Estimate]) -> tuple[str, ...]:
    """Names whose estimate does not lie clearly apart from that of ``best``: no winner among them.

    Two lie apart where they differ by more than √(a² + b²), with a and b the parts of their intervals that
    face each other: as for independent runs, which errs on the side of no winner where they had the same
    jobs. Without intervals only equal ones are together.

    >>> around = {n: Estimate(mean=m, ci95=(m - 2, m + 2)) for n, m in (("a", 10), ("b", 12), ("c", 13))}
    >>> not_apart("a", around), not_apart("c", {**around, "a": Estimate(mean=13, ci95=None)})
    (('b',), ('a', 'b'))
    """

    def together(one: Estimate, other: Estimate) -> bool:
        if one.mean is None or other.mean is None:
            return False
        low, high = sorted((one, other), key=lambda e: e.mean or 0.0)
        upper = 0.0 if low.ci95 is None else low.ci95[1] - (low.mean or 0.0)
        lower = 0.0 if high.ci95 is None else (high.mean or 0.0) - high.ci95[0]
        return abs(one.mean - other.mean) <= math.hypot(upper, lower) + 1e-9 * abs(one.mean)

    return tuple(n for n, e in estimates.items() if n != best and together(e, estimates[best]))


def paired_jobs(a: Floats, b: Floats, level: float = 0.95) -> PairedDifference:
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


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of two means with the ends of its interval (``nan``: none can be given), from ``n`` pairs."""

    value: float
    low: float
    high: float
    n: int

    @property
    def is_clear(self) -> bool:
        """True where the interval excludes 1."""
        return self.low > 1 or self.high < 1

    @property
    def estimate(self) -> Estimate:
        """The ratio as results carry it."""
        low, high = number(self.low), number(self.high)
        return Estimate(mean=self.value, ci95=None if low is None or high is None else (low, high))


NO_RATIO = Ratio(math.nan, math.nan, math.nan, 0)


def paired_ratio(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Ratio:
    """Return E[a] / E[b] from one value per replication each, paired, with Fieller's interval.

    Formula: all θ with (ā − θb̄)² ≤ t²·(s_aa − 2θs_ab + θ²s_bb)/n, t = t(n−1, (1+level)/2), s the sample
    (co)variances: the θ that a t test of "the mean of a − θb is 0" does not reject. It is an interval
    as long as b̄ is clearly not 0; else there is none. With pairs that are jointly normal its coverage
    is exact, for any n ≥ 2. Where no value is negative the ratio of the means is not either: of the interval
    the part from 0 on is returned, which covers as often.

    Parameters
    ----------
    a, b : array_like of float, shape (n,)
        A value of each replication; pairs with a ``nan`` are left out.
    level : float, optional
        Confidence level, between 0 and 1.

    Returns
    -------
    Ratio
        E[a] / E[b] with its interval, if it has one.

    Raises
    ------
    SimulationError
        If the two differ in length.

    Notes
    -----
    Source: Fieller, Some problems in interval estimation, Journal of the Royal Statistical Society B
    16, 1954; pairing: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 10.2.1.

    Examples
    --------
    >>> r = paired_ratio([20.2, 20.4, 21.8], [10.0, 10.2, 10.9])
    >>> [round(v, 2) for v in (r.low, r.value, r.high)], r.is_clear
    ([1.98, 2.01, 2.04], True)
    """
    x: Floats = np.asarray(a, dtype=float)
    y: Floats = np.asarray(b, dtype=float)
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


def _fieller(x: Floats, y: Floats, t2: float) -> tuple[float, float]:
    """Return the roots of Fieller's quadratic.

    ``t2`` is t²/n. With residuals it keeps its digits: x = θ̂y + e.
    """
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
