"""Wall time per second of work by simulation, and the interval that is best in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Floats
from nona.random_streams import RandomStreams
from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.training.checkpoints.intervals import check_failures, young_s

FACTORS = np.geomspace(0.2, 5.0, 41)
"""The intervals tried, as multiples of Young's; around the best one the search is finer."""
FINER = np.geomspace(0.94, 1.06, 13)


@dataclass(frozen=True, slots=True)
class Trial:
    """How an interval did: wall seconds per second of work."""

    interval_s: float
    wall: Interval


def failure_gaps(streams: RandomStreams, failures: int, replications: int) -> Floats:
    """(replications, failures) times between failures as multiples of their mean, for all intervals alike."""
    return streams.generator("checkpoint-search").exponential(size=(replications, failures))


def simulated_wall(
    interval_s: float, checkpoint_s: float, mtbf_s: float, restart_s: float, gaps: Floats
) -> Floats:
    """(replications,) wall seconds per second of work.

    From one failure to the next a job restarts, and then completes whole segments of work and checkpoint;
    what it did of the next one is lost: saved work τ · ⌊(gap − r)₊ / (τ + C)⌋.

    >>> simulated_wall(100.0, 10.0, 1000.0, 50.0, np.array([[0.5, 0.04, 1.0]])).tolist()
    [1.2833333333333334]
    """
    check_failures(checkpoint_s, mtbf_s, restart_s)
    free = np.maximum(gaps * mtbf_s - restart_s, 0.0)
    saved = interval_s * np.floor(free / (interval_s + checkpoint_s)).sum(axis=1)
    spent = mtbf_s * gaps.sum(axis=1)
    wall: Floats = np.divide(spent, saved, out=np.full(len(gaps), np.inf), where=saved > 0)
    return wall


def best_interval(checkpoint_s: float, mtbf_s: float, restart_s: float, gaps: Floats) -> Trial:
    """The interval of the least mean wall time over the same failures (common random numbers).

    A grid around Young's interval, then a finer one around its best point.

    >>> gaps = failure_gaps(RandomStreams(1), failures=2000, replications=4)
    >>> found = best_interval(50, 10_000, 60, gaps)
    >>> 700 < found.interval_s < 1400, 1.1 < found.wall.mean < 1.13
    (True, True)
    """
    start = max(young_s(checkpoint_s, mtbf_s), 1e-3 * mtbf_s)
    walls: dict[float, Floats] = {}
    for factors in (FACTORS, FINER):
        tried = [float(start * f) for f in factors]
        walls |= {t: simulated_wall(t, checkpoint_s, mtbf_s, restart_s, gaps) for t in tried}
        start = min(walls, key=lambda t: (float(walls[t].mean()), t))
    return Trial(start, mean_interval(walls[start]))
