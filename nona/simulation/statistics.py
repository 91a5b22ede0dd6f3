"""The summary of a scheduler's runs: what tables and the command line show.

The intervals that it is made of, from :mod:`nona.simulation.intervals`, can be had here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.simulation.intervals import (
    NO_INTERVAL,
    P99_JOBS,
    Interval,
    batch_means_interval,
    mean_interval,
    over_replications,
    paired_difference,
    percentile,
)
from nona.simulation.records import Check, Records, State

__all__ = [
    "Interval",
    "JctSummary",
    "ModelSummary",
    "SchedulerSummary",
    "batch_means_interval",
    "jct_difference",
    "mean_interval",
    "paired_difference",
    "percentile",
    "summarize",
]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JctSummary:
    """Job completion times in seconds, of the completed measured jobs.

    ``mean`` carries the 95 % interval over replications (batch means when there is one). The
    percentiles are those of each replication, averaged, with the interval over replications.
    ``p99_reliable`` is false when a replication has fewer than 1000 completed jobs. ``jobs``
    counts the completed measured jobs of all replications.
    """

    mean: Interval
    p50: Interval
    p95: Interval
    p99: Interval
    p99_reliable: bool
    jobs: int


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """One query class. ``hit_rate`` is ``None`` without an SLO."""

    name: str
    jct: JctSummary
    slo_s: float | None
    hit_rate: Interval | None


@dataclass(frozen=True, slots=True)
class SchedulerSummary:
    """All replications of one scheduler.

    Completion times are ``nan`` when ``state`` is ``overloaded`` (one replication suffices): there
    is no steady state for them to describe. Hit rates stand even then, as what happened in these
    runs; ``hit_rate`` covers the classes with an SLO, ``None`` if there are none. Jobs are summed
    over replications, utilisations averaged. ``checks`` holds each check once: failed if it failed
    in any replication, with the first failure's detail.
    """

    scheduler: str
    engine: str
    replications: int
    jct: JctSummary
    models: tuple[ModelSummary, ...]
    hit_rate: Interval | None
    utilization_compute: float
    utilization_network: float
    arrived: int
    completed: int
    in_flight: int
    state: State
    state_reason: str
    checks: tuple[Check, ...]
    seconds: float


def summarize(
    records: Sequence[Records], slo_s: Sequence[float | None], names: Sequence[str]
) -> SchedulerSummary:
    """Summarise the replications of one scheduler.

    Parameters
    ----------
    records
        One per replication, all of the same scheduler.
    slo_s, names
        Of each query class: its SLO (seconds, or none) and its name.

    Raises
    ------
    SimulationError
        Without records, with records of several schedulers, or with classes that have no name.
    """
    _check(records, slo_s, names)
    first = records[0]
    bad = next((r for r in records if r.state == "overloaded"), None)
    times = [np.asarray(r.completion_s - r.arrival_s) for r in records]
    classes = [r.query for r in records]
    limits = np.array([np.nan if s is None else s for s in slo_s])
    hits = [_hits(t, limits[q]) for t, q in zip(times, classes, strict=True)]
    models = tuple(
        ModelSummary(
            name,
            _jct([t[q == j] for t, q in zip(times, classes, strict=True)], bad is not None),
            slo_s[j],
            _rate([h[q == j] for h, q in zip(hits, classes, strict=True)]) if slo_s[j] is not None else None,
        )
        for j, name in enumerate(names)
    )
    return SchedulerSummary(
        scheduler=first.scheduler,
        engine=first.engine,
        replications=len(records),
        jct=_jct(times, bad is not None),
        models=models,
        hit_rate=_rate(hits) if any(s is not None for s in slo_s) else None,
        utilization_compute=mean_interval([r.utilization_compute for r in records]).mean,
        utilization_network=mean_interval([r.utilization_network for r in records]).mean,
        arrived=sum(r.arrived for r in records),
        completed=sum(r.completed for r in records),
        in_flight=sum(r.in_flight for r in records),
        state=bad.state if bad else "stable",
        state_reason=bad.state_reason if bad else "",
        checks=_merged_checks(records),
        seconds=sum(r.seconds for r in records),
    )


def jct_difference(a: Sequence[Records], b: Sequence[Records], level: float = 0.95) -> Interval:
    """Interval for the mean JCT of scheduler ``a`` less that of ``b``, paired by replication.

    Raises
    ------
    SimulationError
        When the two do not consist of the same replications.
    """
    if [r.replication for r in a] != [r.replication for r in b]:
        raise SimulationError("Paired difference: the replications must match; run both alike.")
    means = [[mean_interval(r.completion_s - r.arrival_s).mean for r in runs] for runs in (a, b)]
    return paired_difference(means[0], means[1], level)


def _check(records: Sequence[Records], slo_s: Sequence[float | None], names: Sequence[str]) -> None:
    schedulers = {r.scheduler for r in records}
    if len(schedulers) != 1:
        raise SimulationError(
            f"Summary: records of {len(schedulers)} schedulers ({', '.join(sorted(schedulers))}) must be "
            "of one; summarise each by itself."
        )
    classes = 1 + max((int(r.query.max()) for r in records if len(r.query)), default=-1)
    if len(slo_s) != len(names) or classes > len(names):
        raise SimulationError(
            f"Summary: {len(names)} names and {len(slo_s)} SLOs must match {classes} query classes; "
            "give one of each."
        )


def _hits(times: Array, limit: Array) -> Array:
    """1 for a job within its SLO, 0 for one that is late or unfinished, ``nan`` without an SLO."""
    late = np.where(np.isnan(times), np.inf, times)
    return np.where(np.isnan(limit), np.nan, (late <= limit).astype(float))


def _rate(hits: Sequence[Array]) -> Interval:
    return over_replications(hits)


def _jct(times: Sequence[Array], overloaded: bool) -> JctSummary:
    finished = [int(np.count_nonzero(~np.isnan(t))) for t in times]
    reliable = min(finished) >= P99_JOBS
    if overloaded:
        return JctSummary(NO_INTERVAL, NO_INTERVAL, NO_INTERVAL, NO_INTERVAL, False, sum(finished))
    p50, p95, p99 = (mean_interval([percentile(t, p) for t in times]) for p in (50, 95, 99))
    return JctSummary(over_replications(times), p50, p95, p99, reliable, sum(finished))


def _merged_checks(records: Sequence[Records]) -> tuple[Check, ...]:
    merged: dict[str, Check] = {}
    for r in records:
        for c in r.checks:
            if c.name not in merged or (merged[c.name].ok and not c.ok):
                detail = c.detail if c.ok else f"replication {r.replication}: {c.detail}"
                merged[c.name] = Check(c.name, c.ok, detail)
    return tuple(merged.values())
