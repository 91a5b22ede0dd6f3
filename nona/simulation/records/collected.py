"""What a collector gives: the jobs of a run, recorded one by one or added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.simulation.records.tally import Tally

Whole = NDArray[np.int64]
Real = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Busy:
    """Shares of the time so far, from the empty start on, that each executor and each link was busy.

    Background included; both are empty where that was not told.
    """

    executors: Real
    links: Real

    @property
    def known(self) -> bool:
        """Whether anything was told."""
        return len(self.executors) > 0


UNKNOWN = Busy(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: share of its jobs completed, measured jobs completed since the last call, loads."""

    fraction: float
    query: Whole
    arrival_s: Real
    completion_s: Real
    busy: Busy = UNKNOWN


def busy_shares(executor_busy_s: Real, link_busy_s: Real, now_s: float) -> Busy:
    """Shares of the time up to ``now_s`` that executors and links were busy.

    >>> busy_shares(np.array([1.0, 3.0]), np.array([0.5]), 4.0).executors.tolist()
    [0.25, 0.75]
    """
    return UNKNOWN if now_s <= 0 else Busy(executor_busy_s / now_s, link_busy_s / now_s)


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
    parts_s : (M, 5)
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
