"""What a collector gives: the jobs of a run, recorded one by one or added up."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.tally import Tally

Whole = NDArray[np.int64]
Real = NDArray[np.float64]
Busy = tuple[float, float]
UNKNOWN: Busy = (math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: share of its jobs completed, and the measured jobs completed since the last call.

    ``busy`` is the share of the time so far, from the empty start on, that the executors (their mean)
    and the busiest link were busy, background included; ``nan`` where that was not told.
    """

    fraction: float
    query: Whole
    arrival_s: Real
    completion_s: Real
    busy: Busy = UNKNOWN


def busy_shares(executor_busy_s: Real, link_busy_s: Real, now_s: float) -> Busy:
    """Mean share of the time up to ``now_s`` that executors were busy, and that of the busiest link.

    >>> busy_shares(np.array([1.0, 3.0]), np.array([0.5]), 4.0)
    (0.5, 0.125)
    """
    if now_s <= 0:
        return UNKNOWN
    return float(executor_busy_s.mean()) / now_s, float(link_busy_s.max()) / now_s


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, eq=False)
class Collected:
    """The outcome.

    Attributes
    ----------
    first, jobs, every
        Number of the first measured job, how many are measured; every how manyth is recorded.
    query, arrival_s, completion_s : (M,)
        The recorded jobs, in order of arrival; ``nan`` where unfinished.
    parts_s : (M, 4)
        Their parts, in the order of :data:`~nona.simulation.records.tally.PARTS`; ``nan`` where unfinished.
    tally
        Sums over all measured jobs.
    arrived, completed, filled
        Jobs of the whole run; completions counted one by one; jobs that have a completion instant.
    early
        Completions before their arrival: 0 unless something is wrong.
    inside_s
        Σ |[arrival, completion] ∩ window| over all jobs.
    window_s
        Arrival of the first and of the last measured job.
    traced, traced_arrival_s : (K,)
        Numbers and arrivals of the jobs whose intervals are recorded.
    """

    first: int
    jobs: int
    every: int
    query: Whole
    arrival_s: Real
    completion_s: Real
    parts_s: Real
    tally: Tally
    arrived: int
    completed: int
    filled: int
    early: int
    inside_s: float
    window_s: tuple[float, float]
    traced: Whole
    traced_arrival_s: Real
