"""The interval between checkpoints: Young's and Daly's formula, and the best one by simulation.

C: seconds that a checkpoint takes; M: mean seconds between failures of the nodes that a job is on, i.e. the
nodes' mean time between failures over their number; r: seconds of a restart; τ: seconds of work between two
checkpoints. Failures are exponential and may strike during checkpoints and restarts.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.random_streams import RandomStreams


def _check_failures(checkpoint_s: float, mtbf_s: float, restart_s: float = 0.0) -> None:
    """C and r must be at least 0 and M above 0."""
    if not (math.isfinite(mtbf_s) and mtbf_s > 0):
        raise SimulationError(f"Failures: mtbf={mtbf_s!r} s must be above 0; raise it.")
    for key, value in (("checkpoint", checkpoint_s), ("restart", restart_s)):
        if not (math.isfinite(value) and value >= 0):
            raise SimulationError(f"Failures: {key}={value!r} s must be at least 0; raise it.")


def young_s(checkpoint_s: float, mtbf_s: float) -> float:
    """τ = √(2 C M).

    Source: Young, "A first order approximation to the optimum checkpoint interval", CACM 1974.

    >>> young_s(50, 10_000)
    1000.0
    """
    _check_failures(checkpoint_s, mtbf_s)
    return math.sqrt(2 * checkpoint_s * mtbf_s)


def daly_s(checkpoint_s: float, mtbf_s: float) -> float:
    """τ = √(2CM) · [1 + ⅓ √(C/2M) + C/(18M)] − C for C < 2M, else M.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 2006, eq. 37.

    >>> round(daly_s(50, 10_000), 3), daly_s(50, 20)
    (966.944, 20)
    """
    _check_failures(checkpoint_s, mtbf_s)
    if checkpoint_s >= 2 * mtbf_s:
        return mtbf_s
    ratio = checkpoint_s / mtbf_s
    return young_s(checkpoint_s, mtbf_s) * (1 + math.sqrt(ratio / 2) / 3 + ratio / 18) - checkpoint_s


def wall_per_work(interval_s: float, checkpoint_s: float, mtbf_s: float, restart_s: float) -> float:
    """Mean seconds per second of work: (M/τ) e^{r/M} (e^{(τ+C)/M} − 1).

    A segment is τ of work and its checkpoint; a failure returns to its start, after a restart.

    Source: Daly 2006, eq. 20; exact for exponential failures.

    >>> round(wall_per_work(1000, 50, 10_000, 60), 4), round(wall_per_work(1000, 50, 1e12, 60), 4)
    (1.1138, 1.05)
    """
    _check_failures(checkpoint_s, mtbf_s, restart_s)
    if not interval_s > 0:
        raise SimulationError(f"Failures: interval={interval_s!r} s must be above 0; raise it.")
    exponent = (interval_s + checkpoint_s) / mtbf_s
    if exponent + restart_s / mtbf_s > 700:
        return math.inf
    return mtbf_s / interval_s * math.exp(restart_s / mtbf_s) * math.expm1(exponent)


def exact_s(checkpoint_s: float, mtbf_s: float) -> float:
    """Return the τ of the least :func:`wall_per_work`: τ = M · (1 + W₀(−e^{−1−C/M})); 0 for free checkpoints.

    W₀ is the main branch of Lambert's function. The restart only scales the wall time.

    >>> round(exact_s(50, 10_000), 2)
    966.95
    """
    _check_failures(checkpoint_s, mtbf_s)
    return float(mtbf_s * (1 + scipy.special.lambertw(-math.exp(-1 - checkpoint_s / mtbf_s)).real))


FACTORS = np.geomspace(0.2, 5.0, 41)
"""The intervals tried, as multiples of Young's; around the best one the search is finer."""
FINER = np.geomspace(0.94, 1.06, 13)


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
    _check_failures(checkpoint_s, mtbf_s, restart_s)
    free = np.maximum(gaps * mtbf_s - restart_s, 0.0)
    saved = interval_s * np.floor(free / (interval_s + checkpoint_s)).sum(axis=1)
    spent = mtbf_s * gaps.sum(axis=1)
    wall: Floats = np.divide(spent, saved, out=np.full(len(gaps), np.inf), where=saved > 0)
    return wall


def best_interval(checkpoint_s: float, mtbf_s: float, restart_s: float, gaps: Floats) -> float:
    """Return the interval of the least mean wall time over the same failures (common random numbers).

    A grid around Young's interval, then a finer one around its best point.

    >>> gaps = failure_gaps(RandomStreams(1), failures=2000, replications=4)
    >>> 700 < best_interval(50, 10_000, 60, gaps) < 1400
    True
    """
    start = max(young_s(checkpoint_s, mtbf_s), 1e-3 * mtbf_s)
    walls: dict[float, Floats] = {}
    for factors in (FACTORS, FINER):
        tried = [float(start * f) for f in factors]
        walls |= {t: simulated_wall(t, checkpoint_s, mtbf_s, restart_s, gaps) for t in tried}
        start = min(walls, key=lambda t: (float(walls[t].mean()), t))
    return start
