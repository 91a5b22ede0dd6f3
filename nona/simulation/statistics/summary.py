"""The summary of a scheduler's runs, and its difference from another's: what tables and texts show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.errors import SimulationError
from nona.simulation.records.run import Check, Decisions, Records, State
from nona.simulation.records.tally import PARTS
from nona.simulation.statistics.intervals import NO_INTERVAL, Interval, mean_interval
from nona.simulation.statistics.measured import Measured, link_utilizations
from nona.simulation.statistics.paired import NO_DIFFERENCE, PairedDifference, paired_difference, paired_jobs
from nona.simulation.statistics.percentiles import Percentile, no_percentile

__all__ = [
    "Interval",
    "JctSummary",
    "ModelSummary",
    "SchedulerSummary",
    "hit_rate_difference",
    "jct_difference",
    "summarize",
]

SEVERITY: tuple[State, ...] = ("stable", "backlogged", "overloaded")


@dataclass(frozen=True, slots=True)
class JctSummary:
    """Job completion times in seconds, of the completed measured jobs.

    ``mean`` carries the 95 % interval over replications (overlapping batch means when there is one).
    The percentiles are those of each replication, averaged; where there are too few jobs for a
    percentile or for its interval it is withheld, and says why. ``jobs`` counts the completed
    measured jobs of all replications. ``parts_s`` are the mean parts, in the order of
    :data:`~nona.simulation.records.tally.PARTS`; they add up to the mean.
    """

    mean: Interval
    p50: Percentile
    p95: Percentile
    p99: Percentile
    jobs: int
    parts_s: tuple[float, ...]

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        """The three, in order."""
        return (self.p50, self.p95, self.p99)


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

    ``state`` is the worst of the replications. Completion times are ``nan`` when it is
    ``overloaded``: there is no steady state for them to describe. Hit rates stand even then, as what
    happened in these runs; ``hit_rate`` covers the classes with an SLO, ``None`` if there are none.
    Jobs are summed over replications, utilisations averaged. ``links`` are the names and utilisations
    of all links, the busiest first; empty where there is but one. ``decisions`` is ``python`` if they
    ran as Python in any replication. ``offered`` is the mean load offered to the executors and to the
    most loaded link; ``little_s`` the mean JCT by Little's law, from the number of jobs in the system.
    ``checks`` holds each check once: failed if it failed in any replication, with the first failure's
    detail.
    """

    scheduler: str
    engine: str
    decisions: Decisions
    replications: int
    jct: JctSummary
    models: tuple[ModelSummary, ...]
    hit_rate: Interval | None
    utilization_compute: float
    utilization_network: float
    links: tuple[tuple[str, float], ...]
    arrived: int
    completed: int
    in_flight: int
    state: State
    state_reason: str
    checks: tuple[Check, ...]
    seconds: float
    offered: tuple[float, float]
    little_s: float


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
    worst = max(records, key=lambda r: SEVERITY.index(r.state))
    all_jobs = Measured(records, slo_s)
    classes = [Measured(records, slo_s, j) for j in range(len(names))]
    return SchedulerSummary(
        scheduler=first.scheduler,
        engine=first.engine,
        decisions="python" if any(r.decisions == "python" for r in records) else "machine code",
        replications=len(records),
        jct=_jct(all_jobs, worst),
        models=tuple(
            ModelSummary(name, _jct(one, worst), slo, None if slo is None else one.hit_rate())
            for name, slo, one in zip(names, slo_s, classes, strict=True)
        ),
        hit_rate=all_jobs.hit_rate() if any(s is not None for s in slo_s) else None,
        utilization_compute=mean_interval([r.utilization_compute for r in records]).mean,
        utilization_network=mean_interval([r.utilization_network for r in records]).mean,
        links=link_utilizations(records),
        arrived=sum(r.arrived for r in records),
        completed=sum(r.completed for r in records),
        in_flight=sum(r.in_flight for r in records),
        state=worst.state,
        state_reason=worst.state_reason,
        checks=_merged_checks(records),
        seconds=sum(r.seconds for r in records),
        offered=(_mean([r.offered[0] for r in records]), _mean([r.offered[1] for r in records])),
        little_s=little_s(records),
    )


def little_s(records: Sequence[Records]) -> float:
    """Mean JCT by Little's law, W = N̄ / λ, over the runs; ``nan`` where a window has no length.

    N̄ is the mean number of jobs in the system over the window, counted without looking at completion
    times; λ the rate at which jobs arrived in it.

    Source: Little, A Proof for the Queuing Formula L = λW, Operations Research 1961.
    """
    return _mean([r.mean_open * (r.window_s[1] - r.window_s[0]) / max(r.jobs - 1, 1) for r in records])


def _mean(values: Sequence[float]) -> float:
    return mean_interval(values).mean


def jct_difference(a: Sequence[Records], b: Sequence[Records], level: float = 0.95) -> PairedDifference:
    """Mean JCT of scheduler ``a`` less that of ``b``: paired by replication, or by job if there is one.

    There is none when one of the two is overloaded: it has no mean.

    Raises
    ------
    SimulationError
        When the two do not consist of the same replications.
    """
    if any(r.state == "overloaded" for r in (*a, *b)):
        return NO_DIFFERENCE
    _check_pairs(a, b)
    x, y = Measured(a, ()), Measured(b, ())
    if len(a) == 1:
        return paired_jobs(x.jobs_jct()[0], y.jobs_jct()[0], level)
    return paired_difference(x.mean_jcts(), y.mean_jcts(), level)


def hit_rate_difference(
    a: Sequence[Records], b: Sequence[Records], slo_s: Sequence[float | None], level: float = 0.95
) -> PairedDifference:
    """SLO hit rate of scheduler ``a`` less that of ``b``, paired as the JCT; ``slo_s`` of each class.

    There is none when an overloaded one was stopped early.

    Raises
    ------
    SimulationError
        When the two do not consist of the same replications.
    """
    if any(r.state == "overloaded" for r in (*a, *b)) and not _are_pairs(a, b):
        return NO_DIFFERENCE  # an overloaded one was stopped early
    _check_pairs(a, b)
    x, y = Measured(a, slo_s), Measured(b, slo_s)
    if len(a) == 1:
        return paired_jobs(x.jobs_hits()[0], y.jobs_hits()[0], level)
    return paired_difference(x.hit_rates(), y.hit_rates(), level)


def _are_pairs(a: Sequence[Records], b: Sequence[Records]) -> bool:
    return [(r.replication, r.jobs, r.every) for r in a] == [(r.replication, r.jobs, r.every) for r in b]


def _check_pairs(a: Sequence[Records], b: Sequence[Records]) -> None:
    if not _are_pairs(a, b):
        raise SimulationError("Paired difference: the replications must match; run both in the same way.")


def _check(records: Sequence[Records], slo_s: Sequence[float | None], names: Sequence[str]) -> None:
    schedulers = {r.scheduler for r in records}
    if len(schedulers) != 1:
        raise SimulationError(
            f"Summary: records of {len(schedulers)} schedulers ({', '.join(sorted(schedulers))}) must be "
            "of one; summarise each separately."
        )
    classes = max(len(r.tally.arrived) for r in records)
    if len(slo_s) != len(names) or classes > len(names):
        raise SimulationError(
            f"Summary: {len(names)} names and {len(slo_s)} SLOs must match {classes} query classes; "
            "give one of each."
        )


def _jct(measured: Measured, worst: Records) -> JctSummary:
    jobs = sum(measured.completed())
    if worst.state == "overloaded":
        p50, p95, p99 = (no_percentile(p, "overloaded: there is no steady state") for p in (50, 95, 99))
        return JctSummary(NO_INTERVAL, p50, p95, p99, jobs, (math.nan,) * len(PARTS))
    p50, p95, p99 = (measured.percentile(p) for p in (50, 95, 99))
    return JctSummary(measured.mean_jct(), p50, p95, p99, jobs, measured.mean_parts_s())


def _merged_checks(records: Sequence[Records]) -> tuple[Check, ...]:
    merged: dict[str, Check] = {}
    for r in records:
        for c in r.checks:
            if c.name not in merged or (merged[c.name].ok and not c.ok):
                detail = c.detail if c.ok else f"replication {r.replication}: {c.detail}"
                merged[c.name] = Check(c.name, c.ok, detail)
    return tuple(merged.values())
