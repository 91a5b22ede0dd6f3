"""Arrival processes over a stretch of time, and where in a burst each arrival comes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.ordering import by_count_then
from nona.system import Arrivals

Floats = NDArray[np.float64]
_BLUR = 0.02  # of the rank, so that two resources need not show the same burst
_CROWD = 32.0  # things within the blur, so that two draws are seldom the same


def instants(arrivals: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    """Instants in 0…``length_s`` at which jobs of a class arrive, in order.

    >>> instants(Arrivals("deterministic"), 2.0, 4.0, np.random.default_rng(0)).size
    8
    """
    if rate <= 0 or length_s <= 0:
        return np.zeros(0)
    process, scv = arrivals.process, arrivals.cv**2
    if process == "mmpp":
        return _modulated(arrivals, rate, length_s, rng)
    if process == "trace" and arrivals.times_s:
        return _trace(arrivals, rate, length_s, rng)
    if process == "gamma" and scv >= 1e-12:
        return _gamma(scv, rate, length_s, rng)
    if process in ("gamma", "deterministic"):
        even = (np.arange(int(rate * length_s) + 1) + float(rng.random())) / rate
        return np.asarray(even[even < length_s], dtype=np.float64)
    return np.sort(rng.random(rng.poisson(rate * length_s)) * length_s)


def burst_rank(time_s: Floats, window_s: float) -> Floats:
    """For each arrival its rank in 0…1 by how many came within ``window_s`` before it, then by how lately.

    >>> burst_rank(np.array([0.0, 9.0, 9.1, 9.2]), 1.0).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    number = np.arange(len(time_s))
    before = number - np.searchsorted(time_s, time_s - window_s)
    gap = np.diff(time_s, prepend=-np.inf)
    order = by_count_then(before, -gap)
    rank = np.empty(len(time_s))
    rank[order] = (number + 0.5) / max(len(time_s), 1)
    return rank


def _gamma(scv: float, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    found, now = [], -float(rng.random()) * float(rng.gamma(1 / scv, scv / rate))
    while now < length_s:
        times = now + np.cumsum(rng.gamma(1 / scv, scv / rate, int(rate * length_s * 1.1) + 16))
        found.append(times)
        now = float(times[-1])
    every: Floats = np.concatenate(found)
    return every[(every >= 0) & (every < length_s)]


def _modulated(a: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    """Alternating states with exponential sojourns, stretched so that bursts have their share of the time."""
    f = a.burst_fraction
    cycles = max(1, round(length_s * f / a.burst_mean_s))
    burst = rng.exponential(1.0, cycles)
    calm = rng.exponential(1.0, cycles)
    burst *= length_s * f / burst.sum()
    calm *= length_s * (1 - f) / calm.sum()
    rates = (rate * (1 - f * a.burst_factor) / (1 - f), rate * a.burst_factor)
    edges = np.concatenate([[0.0], np.cumsum(np.stack([calm, burst], axis=1).ravel())])
    sojourn = np.diff(edges)
    counts = rng.poisson(sojourn * np.tile(rates, cycles))
    begin = np.repeat(edges[:-1], counts)
    times: Floats = begin + rng.random(len(begin)) * np.repeat(sojourn, counts)
    return np.sort(times)


def _trace(a: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    times = np.asarray(a.times_s, dtype=float)
    if a.period_s:
        period = len(times) / rate if a.scale_to_rate else a.period_s
        return _cycles(times * (period / a.period_s), period, length_s, rng)
    span = float(times[-1] - times[0])
    period = len(times) / rate
    if not a.scale_to_rate and span > 0:
        period = span * len(times) / (len(times) - 1)
    offsets = times - times[0]
    if span > 0:
        offsets *= period * (len(times) - 1) / len(times) / span
    return _cycles(offsets, period, length_s, rng)


def _cycles(offsets: Floats, period: float, length_s: float, rng: np.random.Generator) -> Floats:
    """The offsets over and over, from a drawn place in them."""
    cycles = int(np.ceil(length_s / period)) + 1
    every: Floats = (offsets + period * (np.arange(cycles)[:, None] - rng.random())).ravel()
    return every[(every >= 0) & (every < length_s)]


def near(rank: Floats, number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Places among ``number`` things that stand in order of rank, one near each of ``rank`` (0…1)."""
    blur = min(max(_BLUR, _CROWD / max(number, 1)), 1.0)
    blurred = np.mod(rank + blur * rng.standard_normal(len(rank)), 2.0)
    blurred = np.minimum(blurred, 2.0 - blurred)
    return np.clip((blurred * number).astype(np.int64), 0, max(number - 1, 0))
