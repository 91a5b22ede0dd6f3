"""What was measured of instances that stand: how many, and the parts of their cost with and without work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.records.intervals_held import overlap_s
from nona.serverless.records.leases import leases, stood
from nona.serverless.records.run import ServerlessRecords
from nona.simulation.statistics.intervals import Interval, mean_interval


@dataclass(frozen=True, slots=True)
class StandingMeasures:
    """Of the instances of a run, in its window.

    ``instances``: how many stood on average; ``started``: how many were started; ``busy``: share of
    their cost for the time in which they had a batch.
    """

    instances: float
    started: int
    busy: float


@dataclass(frozen=True, slots=True)
class StandingSummary:
    """``instances``: mean number that stood; ``starts``: of a run; ``busy``: share of their cost with work.

    What is not busy is idle: starting, or without a batch.
    """

    instances: Interval
    starts: Interval
    busy: Interval


def standing_measures(system: ServerlessSystem, records: ServerlessRecords) -> StandingMeasures | None:
    """Of the instances of a run; ``None`` where none stand."""
    cost, of, sums = stood(system, records), records.instances, records.sums
    if cost is None or of is None:
        return None
    held, length_s = leases(records), sums.end_s - sums.start_s
    return StandingMeasures(
        instances=_ratio(float(overlap_s(held.from_s, held.to_s, sums.start_s, sums.end_s).sum()), length_s),
        started=int(((of.started_s >= sums.start_s) & (of.started_s <= sums.end_s)).sum()),
        busy=_ratio(float(cost.busy.sum()), float(cost.cost.sum())),
    )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def summarise_standing(runs: Sequence[StandingMeasures]) -> StandingSummary | None:
    """The means of the replications of a policy; ``None`` where no instances stand."""
    if not runs:
        return None
    return StandingSummary(
        instances=mean_interval([r.instances for r in runs]),
        starts=mean_interval([float(r.started) for r in runs]),
        busy=mean_interval([r.busy for r in runs]),
    )
