"""Percentiles with intervals, and the rules by which they are withheld.

A percentile is taken of each replication by itself, and its interval is Student's t over the
replications. A bootstrap over replications resamples the same few values and is too narrow (with 5
replications by the factor √(4/5) · 1.96/2.78), and an interval between order statistics reaches
95 % from 6 replications on only, so that neither serves the usual 5. One run is cut into sections.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.simulation.statistics.intervals import Interval, mean_interval, percentile, student, without_nan

Array = NDArray[np.float64]
BEYOND = 10  # jobs expected beyond a percentile that is shown, in each replication
BEYOND_INTERVAL = 100  # and beyond one that has an interval: they come in bursts, and bursts must be several
SECTIONS = 10


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile, averaged over replications.

    ``withheld`` says why there is no value, ``interval_withheld`` why there is no interval; both
    are empty where there is one.
    """

    percent: float
    interval: Interval
    withheld: str = ""
    interval_withheld: str = ""

    @property
    def mean(self) -> float:
        """The value; ``nan`` where it is withheld."""
        return self.interval.mean

    @property
    def half_width(self) -> float:
        """Of its interval; ``nan`` where there is none."""
        return self.interval.half_width


def no_percentile(percent: float, why: str) -> Percentile:
    """A percentile that is not shown."""
    return Percentile(percent, Interval(math.nan, math.nan, 0), why, why)


def jobs_needed(percent: float, beyond: int = BEYOND) -> int:
    """Jobs so that as many as ``beyond`` are expected beyond the percentile, on its rarer side.

    >>> [jobs_needed(p) for p in (50, 95, 99)]
    [20, 200, 1000]
    """
    return math.ceil(beyond / min(percent, 100 - percent) * 100 - 1e-9)


def percentile_interval(runs: Sequence[Array], percent: float, level: float = 0.95) -> Percentile:
    """A percentile of per-job values, one array per replication, with its interval.

    The value is the mean of the replications' percentiles, the interval Student's t over them. A
    value needs 10 jobs expected beyond it in each replication (p50 20 jobs, p95 200, p99 1,000), an
    interval 100: jobs far out come in bursts, and the percentile of a sample with few bursts is
    biased and skewed.

    One run is cut into 10 sections, with 100 jobs expected beyond in each. Formula:
    q̂ ± t(9) · √(Σ (q̂ᵢ − q̂)²/9/10), q̂ of the whole run and q̂ᵢ of its sections.

    >>> x = np.random.default_rng(1).exponential(size=(4, 10_000))
    >>> bool(percentile_interval(x, 99).interval.covers(np.log(100)))
    True
    >>> percentile_interval(x[:, :999], 99).withheld
    'p99 needs 1,000 completed jobs per replication; there are 999'

    Source: per replication, Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.4.2;
    sections, Asmussen and Glynn, Stochastic Simulation 2007, section III.5. The numbers 10 and 100
    are ours, by experiment where the truth is known.
    """
    found = [percentile(r, percent) for r in runs]
    why = too_few_jobs([len(without_nan(r)) for r in runs], percent)
    if len(runs) == 1 and not why.interval_withheld:
        return Percentile(percent, _sectioned(without_nan(runs[0]), found[0], percent, level))
    return percentile_of(found, why, level)


def percentile_of(found: Sequence[float], why: Percentile, level: float = 0.95) -> Percentile:
    """Percentiles of replications, averaged; withheld as ``why`` of :func:`too_few_jobs` says."""
    if why.withheld:
        return why
    interval = mean_interval(found, level)
    if why.interval_withheld:
        interval = Interval(interval.mean, math.nan, interval.n, level)
    return Percentile(why.percent, interval, "", why.interval_withheld)


def too_few_jobs(completed: Sequence[int], percent: float) -> Percentile:
    """What must be withheld of a percentile when replications completed so many jobs."""
    fewest, needed = min(completed), jobs_needed(percent)
    per = "per replication" if len(completed) > 1 else "in the one run"
    there = f"there are {fewest:,}"
    if fewest < needed:
        return no_percentile(percent, f"p{percent:g} needs {needed:,} completed jobs {per}; {there}")
    needed = jobs_needed(percent, BEYOND_INTERVAL) * (1 if len(completed) > 1 else SECTIONS)
    if fewest < needed:
        why = f"the interval of p{percent:g} needs {needed:,} completed jobs {per}; {there}"
        return Percentile(percent, Interval(math.nan, math.nan, 0), "", why)
    return Percentile(percent, Interval(math.nan, math.nan, 0))


def _sectioned(values: Array, whole: float, percent: float, level: float) -> Interval:
    size = len(values) // SECTIONS
    parts = values[len(values) - size * SECTIONS :].reshape(SECTIONS, size)
    spread = np.percentile(parts, percent, axis=1) - whole
    half = student(SECTIONS - 1, level) * math.sqrt(float(spread @ spread) / (SECTIONS - 1) / SECTIONS)
    return Interval(whole, half, SECTIONS, level)
