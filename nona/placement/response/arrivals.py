"""Points of an arrival process thinned to one resource, over a stretch of time.

Every process has its class's mean rate λ. A resource sees each of the class's jobs with probability
q, independently. Thinned renewal processes are renewal again: between two points lie a geometric
number of gaps, so gamma gaps of shape a become gamma of shape a·G. A Markov-modulated Poisson process
keeps its states and has q times the rates. So thinning makes gaps Poisson, but not slow bursts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.system import Arrivals

Floats = NDArray[np.float64]


def thinned(arrivals: Arrivals, rate: float, q: float, length_s: float, rng: np.random.Generator) -> Floats:
    """Instants in 0…``length_s`` at which jobs of a class come to a resource.

    >>> thinned(Arrivals("deterministic"), 2.0, 1.0, 2.0, np.random.default_rng(0)).round(6)[1:] - 0.5 > 0
    array([ True,  True,  True])
    """
    if rate <= 0 or q <= 0 or length_s <= 0:
        return np.zeros(0)
    process = arrivals.process
    if process == "mmpp":
        return _modulated(arrivals, rate * q, length_s, rng)
    if process == "trace" and arrivals.times_s:
        return _trace(arrivals, rate, q, length_s, rng)
    if process == "gamma" and arrivals.cv**2 >= 1e-12:
        scv = arrivals.cv**2
        return _renewal(lambda n: rng.gamma(rng.geometric(q, n) / scv, scv / rate), rate * q, length_s, rng)
    if process in ("gamma", "deterministic"):
        return _renewal(lambda n: rng.geometric(q, n) / rate, rate * q, length_s, rng)
    return np.sort(rng.random(rng.poisson(rate * q * length_s)) * length_s)


def _renewal(gaps: object, mean_rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    draw = gaps if callable(gaps) else None
    found: list[Floats] = []
    now = -float(rng.random()) * float(draw(1)[0]) if draw else 0.0
    count = int(mean_rate * length_s * 1.1) + 16
    while draw and now < length_s:
        times = now + np.cumsum(draw(count))
        found.append(times)
        now = float(times[-1])
    every = np.concatenate(found) if found else np.zeros(0)
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


def _trace(a: Arrivals, rate: float, q: float, length_s: float, rng: np.random.Generator) -> Floats:
    times = np.asarray(a.times_s, dtype=float)
    span = float(times[-1] - times[0])
    period = len(times) / rate
    if not a.scale_to_rate and span > 0:
        period = span * len(times) / (len(times) - 1)
    offsets = times - times[0]
    if span > 0:
        offsets *= period * (len(times) - 1) / len(times) / span
    cycles = int(np.ceil(length_s / period)) + 1
    kept = rng.binomial(len(times) * cycles, q)
    place = np.sort(rng.choice(len(times) * cycles, kept, replace=False))
    every: Floats = offsets[place % len(times)] + (place // len(times)) * period - rng.random() * period
    return every[(every >= 0) & (every < length_s)]
