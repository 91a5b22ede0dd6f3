"""Replications until the means are precise enough.

Whether to stop is decided by the data, and an interval that happens to be narrow stops early:
that costs coverage when replications are few. So there are at least ten, the number of the next
look follows from the data alone (never from the workers), and looks are few.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from nona.errors import SimulationError
from nona.simulation.records.run import Records
from nona.simulation.statistics.intervals import mean_interval
from nona.simulation.statistics.measured import Measured

FEWEST = 10
Runs = Mapping[str, tuple[Records, ...]]
RunMore = Callable[[int, int], Runs]


@dataclass(frozen=True, slots=True)
class Precision:
    """How precise the means are.

    Attributes
    ----------
    target
        Greatest relative error γ of a mean that was asked for.
    bound
        γ/(1+γ): the half-width of an interval over its mean may be at most this.
    replications
        Runs of each scheduler.
    relative
        Scheduler → half-width / mean of its JCT; ``nan`` where there is no mean to speak of.
    not_reached
        Schedulers above the bound.
    overloaded
        Schedulers without a steady state: they have no mean, and nothing is asked of them.
    """

    target: float
    bound: float
    replications: int
    relative: Mapping[str, float]
    not_reached: tuple[str, ...]
    overloaded: tuple[str, ...]


def relative_bound(target: float) -> float:
    """γ/(1+γ): a half-width below this share of the *estimate* keeps the error below γ of the truth.

    >>> round(relative_bound(0.25), 3)
    0.2

    Source: Law, Simulation Modeling and Analysis, 5th ed. 2015, section 9.4.1.
    """
    if not 0 < target < 1:
        raise SimulationError(f"Precision: {target} must be between 0 and 1; use 0.02 for 2 %.")
    return target / (1 + target)


def precision_of(means: Mapping[str, ArrayLike], target: float, overloaded: Sequence[str]) -> Precision:
    """The precision of replication means; those of ``overloaded`` schedulers do not count.

    >>> precision_of({"a": [1.0, 1.1], "b": [1.0, 1.0]}, 0.1, ()).not_reached
    ('a',)
    """
    bound = relative_bound(target)
    found = {name: mean_interval(values) for name, values in means.items()}
    relative = {n: math.nan if n in overloaded else i.relative for n, i in found.items()}
    missed = tuple(n for n, r in relative.items() if n not in overloaded and not r <= bound)
    count = max((np.size(values) for values in means.values()), default=0)
    return Precision(target, bound, count, relative, missed, tuple(overloaded))


def next_count(found: Precision, at_most: int) -> int:
    """Replications at the next look: what the widest interval predicts, at most twice as many.

    A half-width shrinks like 1/√n, so n·(relative/bound)² should do.

    >>> next_count(precision_of({"a": [1.0, 1.1, 0.9, 1.0]}, 0.1, ()), 64)
    8
    """
    n = found.replications
    ratios = [found.relative[name] / found.bound for name in found.not_reached]
    if any(not r * r <= 2 for r in ratios):  # far off, or no mean at all
        return min(at_most, 2 * n)
    return min(at_most, max(n + 1, *(math.ceil(n * r * r) for r in ratios)))


def run_to_precision(
    run: RunMore, target: float, at_least: int = FEWEST, at_most: int = 64
) -> tuple[dict[str, tuple[Records, ...]], Precision]:
    """Run replications until every steady scheduler's mean JCT is precise enough.

    All schedulers get the same replications, so that differences between them can be paired.

    Parameters
    ----------
    run
        ``run(first, count)`` simulates ``count`` replications from number ``first`` on.
    target
        Greatest relative error γ; an interval may reach γ/(1+γ) of its mean to either side.
    at_least
        Replications before the first look; fewer than 10 are not trusted.
    at_most
        Replications after which it ends in any case; the result says what was not reached.

    Raises
    ------
    SimulationError
        For a target that is not between 0 and 1.

    Source: Law 2015, section 9.4.1, sequential procedure for the relative error; that it wants 10
    replications at least is recollected from there.
    """
    relative_bound(target)
    records: dict[str, tuple[Records, ...]] = {}
    done, wanted = 0, min(max(at_least, FEWEST), at_most)
    while True:
        for name, more in run(done, wanted - done).items():
            records[name] = records.get(name, ()) + more
        done = wanted
        overloaded = [n for n, rs in records.items() if any(r.state == "overloaded" for r in rs)]
        means = {n: Measured(rs, ()).mean_jcts() for n, rs in records.items()}
        found = precision_of(means, target, overloaded)
        if not found.not_reached or done == at_most:
            return records, found
        wanted = next_count(found, at_most)
