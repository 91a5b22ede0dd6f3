"""Where the warm-up ends: MSER-5, on pilot runs that all schedulers share.

All schedulers must be measured on the same jobs, so there is one cut for all: the latest of
theirs. It is found on pilot runs of their own random streams, so that the runs that are measured
know nothing of how it was chosen. The pilot is averaged over its replications, job by job, which
leaves the start-up in and takes noise out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nona.simulation.records.run import Records

Array = NDArray[np.float64]
BATCH = 5
LEFT = 5  # batches that are never cut: the statistic of the last few is small by chance
PILOT_RUNS = 5
PILOT_FIRST = 1_000_000  # number of the first pilot replication, far from those that are measured


@dataclass(frozen=True, eq=False)
class Truncation:
    """Where MSER-5 cuts one series.

    Attributes
    ----------
    jobs
        Jobs to leave out at the start.
    too_short
        The least statistic lies in the second half: no steady state was seen, the run is too short
        to tell where the warm-up ends.
    means : (k,)
        Means of consecutive batches of five.
    statistic : (k − 5,)
        MSER statistic when the first d batches are left out, for d = 0, 1, …
    batch
        Jobs per batch: five, or as many recorded ones.
    """

    jobs: int
    too_short: bool
    means: Array
    statistic: Array
    batch: int = BATCH


@dataclass(frozen=True, eq=False)
class Warmup:
    """The common warm-up.

    ``jobs`` are left out at the start of every run; ``cuts`` has the truncation of each scheduler
    that has a steady state; ``too_short`` names those whose pilot was too short to tell. ``rule`` is
    ``mser``, ``auto`` or ``fixed``; only the first looks at pilot runs.
    """

    rule: str
    jobs: int
    cuts: Mapping[str, Truncation]
    too_short: tuple[str, ...]


def mser_statistic(means: Array) -> Array:
    """MSER statistic of each truncation (d batches left out, for d = 0, 1, …).

    Formula: z(d) = Σ_{i ≥ d} (yᵢ − ȳ_d)² / (k−d)², ȳ_d the mean of the k−d batch means that are
    left; z is the squared half-width of their mean, up to a constant, as if they were independent.

    >>> mser_statistic(np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])).tolist()[1]
    0.0

    Source: White, An effective truncation heuristic for bias reduction in simulation output,
    Simulation 69, 1997.
    """
    y = means - means[-1]  # so that rounding is relative to the changes, not to the level
    left = np.arange(len(y), 0, -1)
    total, squares = np.cumsum(y[::-1])[::-1], np.cumsum(y[::-1] ** 2)[::-1]
    spread = squares - total**2 / left
    spread[spread < 1e-12 * squares] = 0.0  # rounding
    return np.asarray((spread / left.astype(float) ** 2)[: max(1, len(y) - LEFT)])


def mser(values: ArrayLike) -> Truncation:
    """Cut a series at the least MSER statistic of its means of five.

    >>> cut = mser(np.concatenate([np.linspace(5, 1, 50), np.tile([0.9, 1.1, 1.0, 0.8, 1.2], 90)]))
    >>> cut.jobs, cut.too_short
    (50, False)
    >>> mser(np.linspace(0, 1, 500)).too_short
    True

    Source: White, Cobb and Spratt, A comparison of five steady-state truncation heuristics for
    simulation, Winter Simulation Conference 2000 (means of five; second half: too short).
    """
    x = np.asarray(values, dtype=float).ravel()
    k = len(x) // BATCH
    if k < 2 * LEFT:
        return Truncation(0, True, x[: k * BATCH].reshape(k, BATCH).mean(axis=1), np.zeros(0))
    means = x[: k * BATCH].reshape(k, BATCH).mean(axis=1)
    statistic = mser_statistic(means)
    cut = int(np.argmin(statistic))
    return Truncation(cut * BATCH, cut > k / 2, means, statistic)


def common_warmup(pilot: Mapping[str, Sequence[Records]], otherwise: int) -> Warmup:
    """The latest cut of all schedulers, from pilot runs that were measured from their first job on.

    Overloaded schedulers have no steady state to wait for and no cut. If one has none, or its pilot
    was too short to tell, the warm-up is at least ``otherwise`` jobs.
    """
    cuts = {}
    for name, runs in pilot.items():
        if all(r.state != "overloaded" for r in runs):
            found = mser(np.mean([r.completion_time_s for r in runs], axis=0))
            cuts[name] = replace(found, jobs=found.jobs * runs[0].every, batch=BATCH * runs[0].every)
    too_short = tuple(n for n, c in cuts.items() if c.too_short)
    jobs = max((c.jobs for c in cuts.values() if not c.too_short), default=0)
    return Warmup(
        "mser", max(jobs, otherwise) if too_short or len(cuts) < len(pilot) else jobs, cuts, too_short
    )


def run_name(replication: int) -> str:
    """The name of a run in progress reports.

    >>> run_name(0), run_name(PILOT_FIRST + 1)
    ('replication 1', 'warm-up pilot 2')
    """
    if replication >= PILOT_FIRST:
        return f"warm-up pilot {replication - PILOT_FIRST + 1}"
    return f"replication {replication + 1}"
