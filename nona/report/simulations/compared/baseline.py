"""A run compared with the previous one: the same scheduler, old and new, with intervals of the difference.

Where both runs measured the same jobs (same workload, seed and length), replication r of one saw the
arrivals and service draws of replication r of the other: what they differ by is the change, and the
differences are paired. Otherwise the two are independent samples, and Welch's interval holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.report.means import mean_of
from nona.results.estimate import Estimate
from nona.results.simulation.compared import Change, Changes, ReplicationMeans
from nona.scenario.schema import Scenario
from nona.scenario.workload import WorkloadRow
from nona.simulation.records.run import Records
from nona.simulation.statistics.intervals import NO_INTERVAL, Interval, mean_interval, student, without_nan
from nona.simulation.statistics.measured import Measured
from nona.simulation.statistics.paired import paired_difference

Means = Mapping[str, ReplicationMeans]


def replication_means(
    runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]
) -> dict[str, ReplicationMeans]:
    """Scheduler → each measure's mean in each replication; an overloaded run has no mean JCT."""
    found = {}
    for name, records in runs.items():
        of = Measured(records, slo_s)
        jct = [
            math.nan if r.state == "overloaded" else m for r, m in zip(records, of.mean_jcts(), strict=True)
        ]
        hits = of.hit_rates() if any(s is not None for s in slo_s) else [math.nan] * len(records)
        found[name] = ReplicationMeans(
            jct_s=tuple(jct),
            slo_hit_rate=tuple(hits),
            compute=tuple(r.utilization_compute for r in records),
            network=tuple(r.utilization_network for r in records),
        )
    return found


def welch_interval(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Interval:
    """Interval of mean(a) − mean(b) for independent samples whose variances may differ.

    Formula: ā − b̄ ± t(ν, (1+level)/2)·√(s_a²/n + s_b²/m), with
    ν = (s_a²/n + s_b²/m)² / ((s_a²/n)²/(n−1) + (s_b²/m)²/(m−1)). ``nan`` values are left out; without
    two values on either side there is no half-width.

    >>> i = welch_interval([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
    >>> round(i.mean, 3), round(i.half_width, 3)
    (2.0, 2.267)

    Source: Welch, The generalization of "Student's" problem when several different population
    variances are involved, Biometrika 1947; Law, Simulation Modeling and Analysis, 5th ed. 2015,
    section 10.2.2.
    """
    x, y = without_nan(a), without_nan(b)
    if not len(x) or not len(y):
        return NO_INTERVAL
    mean, count = float(x.mean() - y.mean()), min(len(x), len(y))
    if count < 2:
        return Interval(mean, math.nan, count, level)
    u, v = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if u + v == 0:
        return Interval(mean, 0.0, count, level)
    degrees = (u + v) ** 2 / (u**2 / (len(x) - 1) + v**2 / (len(y) - 1))
    return Interval(mean, student(degrees, level) * math.sqrt(u + v), count, level)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Whether two runs can be paired by replication, and if not, the reason."""

    paired: bool
    why: str

    @property
    def text(self) -> str:
        """The pairing in one sentence."""
        if self.paired:
            return "Paired by replication: both runs saw the same jobs."
        return f"Not paired ({self.why}): Welch's interval for independent runs."


def pairing(old: Scenario, new: Scenario, warmups: tuple[int | None, int | None]) -> Pairing:
    """Whether two scenarios measure the same jobs; ``warmups``: the jobs discarded."""
    differ = {
        "workload": _arriving(old) != _arriving(new),
        "seed": old.seed != new.seed,
        "number of jobs": old.simulation.jobs != new.simulation.jobs,
        "warm-up": old.simulation.warmup != new.simulation.warmup or warmups[0] != warmups[1],
    }
    changed = [word for word, other in differ.items() if other]
    return Pairing(not changed, "another " + " and another ".join(changed) if changed else "")


def _arriving(scenario: Scenario) -> list[WorkloadRow]:
    """The queries without what decides about their jobs only after they are done."""
    return [row.model_copy(update={"slo": None}) for row in scenario.workload]


def changes(old: Means, new: Means, paired: bool, level: float = 0.95) -> dict[str, Changes]:
    """Scheduler of both runs → each measure's old and new value and their change.

    A measure that one of the two does not have (an overloaded run has no mean JCT) has no change.
    Paired: the common first replications.
    """

    def change(x: Sequence[float | None], y: Sequence[float | None]) -> Change:
        return _change(x, y, paired, level)

    return {
        name: Changes(
            jct_s=change(old[name].jct_s, now.jct_s),
            slo_hit_rate=change(old[name].slo_hit_rate, now.slo_hit_rate),
            compute=change(old[name].compute, now.compute),
            network=change(old[name].network, now.network),
        )
        for name, now in new.items()
        if name in old
    }


def _change(old: Sequence[float | None], new: Sequence[float | None], paired: bool, level: float) -> Change:
    x, y = (np.array([math.nan if v is None else v for v in values]) for values in (old, new))
    if paired:
        common = min(len(x), len(y))
        found = paired_difference(y[:common], x[:common], level).difference
    else:
        found = welch_interval(y.tolist(), x.tolist(), level)
    if np.isnan(x).any() or np.isnan(y).any():  # some runs were overloaded: the rest would mislead
        found = NO_INTERVAL
    return Change(
        old=_mean(x, level),
        new=_mean(y, level),
        change=mean_of(found),
        clear=not math.isnan(found.half_width) and not found.covers(0.0),
    )


def _mean(values: NDArray[np.float64], level: float) -> Estimate:
    return mean_of(NO_INTERVAL if np.isnan(values).any() else mean_interval(values, level))
