"""A sample of an arrival process: counts over time and the distribution of inter-arrival times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.random_streams import RandomStreams
from nona.simulation.workload.arrivals import arrival_chunks, effective_rate
from nona.system import Arrivals

BINS, GAP_BINS, LARGEST_GAP = 60, 32, 4.0
WINDOW_GAPS, LEAST_GAPS, MOST = 120, 3000, 20_000


@dataclass(frozen=True, eq=False)
class ArrivalSample:
    """The first arrivals of replication 0.

    Attributes
    ----------
    counts : (BINS,)
        Arrivals in each piece of the first ``window_s`` seconds.
    density : (GAP_BINS,)
        Density of gap · rate over [0, LARGEST_GAP); larger gaps are in ``beyond`` (a share).
    cv
        Coefficient of variation of the gaps in the sample; 1 for a Poisson process in the long run.
    """

    window_s: float
    counts: NDArray[np.int64]
    density: NDArray[np.float64]
    beyond: float
    cv: float


def arrival_sample(arrivals: Arrivals, rate: float, seed: int, name: str) -> ArrivalSample:
    """Sample the process of one class as the simulation's first replication does.

    Parameters
    ----------
    rate
        Mean arrivals, 1/s.
    seed, name
        The scenario's seed, and the class's name: they name the stream.

    Raises
    ------
    SimulationError
        For a process that cannot be.

    >>> sample = arrival_sample(Arrivals("deterministic"), 10.0, 7, "x")
    >>> round(sample.cv, 6), int(sample.counts.sum())
    (0.0, 120)
    """
    mean_rate = effective_rate(arrivals, rate)
    window = _window_s(arrivals, mean_rate)
    rng = RandomStreams(seed).generator("arrivals", name)
    chunks, times = arrival_chunks(arrivals, rate, rng), np.zeros(0)
    while (len(times) < LEAST_GAPS or times[-1] < window) and len(times) < MOST:
        times = np.concatenate([times, next(chunks)])
    gaps = np.diff(times) * mean_rate
    density, _ = np.histogram(gaps, bins=GAP_BINS, range=(0.0, LARGEST_GAP))
    counts, _ = np.histogram(times, bins=BINS, range=(0.0, window))
    spread = float(gaps.std() / gaps.mean()) if gaps.mean() > 0 else 0.0
    beyond = float((gaps > LARGEST_GAP).mean())
    scale = GAP_BINS / (LARGEST_GAP * max(len(gaps), 1))
    return ArrivalSample(window, counts.astype(np.int64), density * scale, beyond, spread)


def _window_s(arrivals: Arrivals, rate: float) -> float:
    """A length that shows bursts: several of their cycles, or a whole trace."""
    longest = MOST / rate
    if arrivals.process == "mmpp":
        return min(longest, max(WINDOW_GAPS / rate, 4 * arrivals.burst_mean_s / arrivals.burst_fraction))
    if arrivals.process == "trace":
        return min(longest, len(arrivals.times_s) / rate)
    return WINDOW_GAPS / rate


def regularity(cv: float) -> str:
    """A coefficient of variation in words.

    >>> regularity(0.2), regularity(1.02), regularity(3.0)
    ('more regular than Poisson', 'about Poisson', 'burstier than Poisson')
    """
    if cv < 0.8:
        return "more regular than Poisson"
    return "about Poisson" if cv < 1.25 else "burstier than Poisson"
