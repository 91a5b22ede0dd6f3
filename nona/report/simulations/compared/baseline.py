"""A run compared with the previous one: the same scheduler, old and new, with intervals of the difference.

Where both runs measured the same jobs (same workload, seed and length), replication r of one saw the
arrivals and service draws of replication r of the other: what they differ by is the change, and the
differences are paired. Otherwise the two are independent samples, and Welch's interval holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nona.report.plain import interval_bounds, number
from nona.simulation.records.run import Records
from nona.simulation.statistics.intervals import NO_INTERVAL, Interval, mean_interval, student, without_nan
from nona.simulation.statistics.measured import Measured
from nona.simulation.statistics.paired import paired_difference

MEASURES = ("jct_s", "slo_hit_rate", "compute", "network")
Means = Mapping[str, Mapping[str, Sequence[float | None]]]
# Parts of a scenario, besides the workload, that decide which jobs arrive and which are measured.
_SHARED = {"seed": "seed", "simulation.jobs": "number of jobs", "simulation.warmup": "warm-up"}
_OWN = ("slo",)  # of a query: what decides about its jobs after they are done


def replication_means(
    runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]
) -> dict[str, dict[str, list[float | None]]]:
    """Scheduler → measure → its mean in each replication; ``None`` if it has none.

    Measures: mean JCT (s; none in an overloaded run), SLO hit rate, utilisation of the executors
    (``compute``) and of the busiest link (``network``).
    """
    found = {}
    for name, records in runs.items():
        of = Measured(records, slo_s)
        jct = [
            math.nan if r.state == "overloaded" else m for r, m in zip(records, of.mean_jcts(), strict=True)
        ]
        hits = of.hit_rates() if any(s is not None for s in slo_s) else [math.nan] * len(records)
        columns = (
            jct,
            hits,
            [r.utilization_compute for r in records],
            [r.utilization_network for r in records],
        )
        found[name] = {m: [number(v) for v in c] for m, c in zip(MEASURES, columns, strict=True)}
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


def pairing(
    old: Mapping[str, Any], new: Mapping[str, Any], warmups: tuple[int | None, int | None]
) -> Pairing:
    """Whether two scenarios, as plain data, measure the same jobs; ``warmups``: the jobs discarded.

    >>> same = {"seed": 1, "workload": [], "simulation": {"jobs": 10, "warmup": "auto"}}
    >>> pairing(same, {**same, "seed": 2}, (2, 2)).text
    "Not paired (another seed): Welch's interval for independent runs."
    """
    changed = [word for path, word in _SHARED.items() if _at(old, path) != _at(new, path)]
    if _arriving(old) != _arriving(new):
        changed.insert(0, "workload")
    if warmups[0] != warmups[1] and "warm-up" not in changed:
        changed.append("warm-up")
    return Pairing(not changed, "another " + " and another ".join(changed) if changed else "")


def _arriving(scenario: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in _OWN} for row in scenario["workload"]]


def _at(data: Any, path: str) -> Any:
    for step in path.split("."):
        data = data[step]
    return data


def changes(old: Means, new: Means, paired: bool, level: float = 0.95) -> dict[str, dict[str, Any]]:
    """Scheduler of both runs → measure → ``old``, ``new`` and their ``change``, each with its interval.

    ``clear`` says whether the interval of the change excludes 0. A measure that one of the two does
    not have (an overloaded run has no mean JCT) has no change. Paired: the common first replications.
    """
    return {
        name: {m: _change(old[name][m], new[name][m], paired, level) for m in MEASURES}
        for name in new
        if name in old
    }


def _change(
    old: Sequence[float | None], new: Sequence[float | None], paired: bool, level: float
) -> dict[str, Any]:
    x, y = (np.array([math.nan if v is None else v for v in values]) for values in (old, new))
    if paired:
        common = min(len(x), len(y))
        found = paired_difference(y[:common], x[:common], level).difference
    else:
        found = welch_interval(y.tolist(), x.tolist(), level)
    if np.isnan(x).any() or np.isnan(y).any():  # some runs were overloaded: the rest would mislead
        found = NO_INTERVAL
    return {
        "old": _told(x, level),
        "new": _told(y, level),
        "change": {"mean": number(found.mean), "ci95": interval_bounds(found)},
        "clear": not math.isnan(found.half_width) and not found.covers(0.0),
    }


def _told(values: Any, level: float) -> dict[str, Any]:
    found = NO_INTERVAL if np.isnan(values).any() else mean_interval(values, level)
    return {"mean": number(found.mean), "ci95": interval_bounds(found)}
