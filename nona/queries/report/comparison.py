"""A run beside the previous one: its results with intervals of the difference.

Where both runs measured the same jobs (same workload, seed and length), replication r of one saw the
arrivals and service draws of replication r of the other: what they differ by is the change, and the
differences are paired. Otherwise the two are independent samples, and Welch's interval holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from nona.core.arrays import Floats
from nona.core.document import Estimate
from nona.core.statistics import NO_INTERVAL, mean_interval, paired_difference, welch_interval
from nona.core.tables import CHANGE, KEPT, SHARE, TIME, Column, FilledTable, NumberKind, Table, mean_text
from nona.core.units import format_number, format_time
from nona.queries.report.findings import REFERENCE, size_of
from nona.queries.results import Changes, Measure, MeasureChange, ReplicationMeans
from nona.queries.simulation.records import Records
from nona.queries.simulation.summary import MeasuredJobs
from nona.scenario.schema import Scenario

Means = Mapping[str, ReplicationMeans]
NO_MEANS: Means = MappingProxyType({})


def replication_means(
    runs: Mapping[str, Sequence[Records]], slo_s: Sequence[float | None]
) -> dict[str, ReplicationMeans]:
    """Scheduler → each measure's mean in each replication; no mean JCT of runs that overload."""
    means = {}
    for name, records in runs.items():
        of = MeasuredJobs(records, slo_s)
        jct = [
            math.nan if r.state == "overloaded" else m for r, m in zip(records, of.mean_jcts(), strict=True)
        ]
        hits = of.hit_rates() if any(s is not None for s in slo_s) else [math.nan] * len(records)
        means[name] = ReplicationMeans(
            jct_s=tuple(jct),
            slo_hit_rate=tuple(hits),
            compute=tuple(r.utilization_compute for r in records),
            network=tuple(r.utilization_network for r in records),
        )
    return means


@dataclass(frozen=True, slots=True)
class Pairing:
    """The verdict on pairing two runs by replication, and the reason if they cannot be paired."""

    paired: bool
    why: str

    def text(self, old: Means = NO_MEANS, new: Means = NO_MEANS) -> str:
        """Return one or two sentences on whether the runs are paired, and why not.

        With ``old`` and ``new`` (the runs' means, policy by policy) a sentence says which replications the
        changes cover, where one run has more of them.
        """
        if not self.paired:
            return f"Not paired ({self.why}): intervals for independent runs."
        pairs = {n: (len(old[n].jct_s), len(now.jct_s)) for n, now in new.items() if n in old}
        text = "Paired by replication: both runs saw the same jobs."
        if all(before == after for before, after in pairs.values()):
            return text
        common = sorted({min(pair) for pair in pairs.values()})
        least = "" if len(common) == 1 else f"{common[0]} to "
        first = "replication" if common == [1] else f"{least}{common[-1]} replications"
        return (
            f"{text} Changes cover the first {first}, which both have. "
            "Each mean is over its whole run, so a change is not the difference of the two means."
        )


def pairing(old: Scenario, new: Scenario, warmups: tuple[int | None, int | None] = (None, None)) -> Pairing:
    """Judge whether two scenarios measure the same jobs; ``warmups``: the numbers of jobs discarded."""
    size = {
        "number of jobs": old.simulation.jobs != new.simulation.jobs,
        "warm-up": old.simulation.warmup != new.simulation.warmup or warmups[0] != warmups[1],
    }
    return same_jobs(old, new, size)


def same_jobs(old: Scenario, new: Scenario, more: Mapping[str, bool]) -> Pairing:
    """Return whether two runs have the same jobs; ``more`` is what else differs."""
    differ = {"workload": _arriving(old) != _arriving(new), "seed": old.seed != new.seed, **more}
    changed = [word for word, other in differ.items() if other]
    return Pairing(not changed, "another " + " and another ".join(changed) if changed else "")


def _arriving(scenario: Scenario) -> tuple[object, ...]:
    """Return what arrives, without what judges it after completion and without those who decide on it."""
    queries = [row.model_copy(update={"slo": None}) for row in scenario.workload]
    calls, jobs = scenario.serverless, scenario.training
    if calls is not None:
        calls = calls.model_copy(update={"policies": ()})
    if jobs is not None:
        elastic = jobs.elastic and jobs.elastic.model_copy(update={"policies": ()})
        jobs = jobs.model_copy(update={"policies": (), "elastic": elastic})
    requests = [row.model_copy(update={"slo": None}) for row in scenario.language]
    return queries, requests, calls, jobs


def changes(old: Means, new: Means, paired: bool, level: float = 0.95) -> dict[str, Changes]:
    """Scheduler of both runs → each measure's old and new value and their change.

    A measure that one of the two does not have (an overloaded run has no mean JCT) has no change.
    Paired: the common first replications.
    """

    def change(x: Sequence[float | None], y: Sequence[float | None]) -> MeasureChange:
        return change_of(x, y, paired, level)

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


def change_of(
    old: Sequence[float | None], new: Sequence[float | None], paired: bool, level: float = 0.95
) -> MeasureChange:
    """One measure's change between two runs from its value in each replication."""
    x, y = (np.array([math.nan if v is None else v for v in values]) for values in (old, new))
    if paired:
        common = min(len(x), len(y))
        interval = paired_difference(y[:common], x[:common], level).difference
    else:
        interval = welch_interval(y.tolist(), x.tolist(), level)
    if np.isnan(x).any() or np.isnan(y).any():  # some runs were overloaded: the rest would mislead
        interval = NO_INTERVAL
    return MeasureChange(
        old=_mean(x, level),
        new=_mean(y, level),
        change=interval.estimate,
        clear=not math.isnan(interval.half_width) and not interval.covers(0.0),
    )


def _mean(values: Floats, level: float) -> Estimate:
    interval = NO_INTERVAL if np.isnan(values).any() else mean_interval(values, level)
    return interval.estimate


def points(share: float) -> str:
    """Return a difference of shares in percentage points.

    >>> points(0.0123)
    '1.23 points'
    """
    return f"{format_number(100 * share)} points"


def baseline_headline(what: str, changes: Mapping[str, Changes]) -> str:
    """State the effect of ``what`` on the scheduler that now has the lowest mean JCT, in a sentence."""
    means = {n: r.jct_s.new.mean for n, r in changes.items()}
    steady = [n for n, m in means.items() if m is not None]
    if not steady:
        return f"{what}: no scheduler has a steady state." if changes else f"{what}: no scheduler in common."
    name = min(steady, key=lambda n: (means[n], n != REFERENCE))
    row = changes[name]
    return f"{what}: {_jct(name, row.jct_s)}{_hits(row.slo_hit_rate)}."


def _jct(name: str, row: MeasureChange) -> str:
    change, old = row.change, row.old.mean
    if change.mean is None:
        return f"{name} now has a mean JCT of {mean_text(row.new, format_time)}, and had none before"
    share = f" ({CHANGE.show(change.mean / old)})" if old else ""
    if change.ci95 is None:
        return f"the mean JCT of {name} changes by {format_time(change.mean)}{share}, without an interval"
    if not row.clear:
        return f"the mean JCT of {name} does not change clearly ({mean_text(change, format_time)})"
    word = "falls" if change.mean < 0 else "rises"
    return f"the mean JCT of {name} {word} by {mean_text(size_of(change), format_time)}{share}"


def _hits(row: MeasureChange) -> str:
    mean = row.change.mean
    if mean is None or not row.clear:
        return ""
    return f", {mean_text(size_of(row.change), points)} {'more' if mean > 0 else 'fewer'} SLO hits"


HEADINGS: Mapping[Measure, tuple[str, NumberKind]] = {
    "jct_s": ("mean JCT", TIME),
    "slo_hit_rate": ("SLO hits", KEPT),
    "compute": ("executors busy", SHARE),
    "network": ("link busy", SHARE),
}


def baseline(changes: Mapping[str, Changes], measure: Measure) -> FilledTable:
    """Each scheduler's old and new value of every measure and their change; the columns of one decide."""

    def columns_of(key: Measure) -> tuple[Column[Changes], ...]:
        word, kind = HEADINGS[key]
        difference, decides = kind if key == "jct_s" else NumberKind(points), key == measure
        return (
            Column(f"{word}, baseline", lambda c: c.value(key).old, kind, interval=True, decides=decides),
            Column(f"{word}, this run", lambda c: c.value(key).new, kind, interval=True, decides=decides),
            Column(
                f"{word}, change", lambda c: c.value(key).change, difference, interval=True, decides=decides
            ),
            Column(f"{word}, clear", lambda c: "*" if c.value(key).clear else None, decides=decides),
        )

    return Table("scheduler", tuple(column for key in HEADINGS for column in columns_of(key))).fill(changes)
