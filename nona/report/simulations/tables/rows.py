"""A row of a table of results: one scheduler, all its models together or one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nona.results.estimate import Estimate
from nona.results.simulation.report import (
    JobCounts,
    ModelResult,
    Parts,
    Percentile,
    Resources,
    SchedulerResult,
    Schedulers,
    State,
)

ALL = "all"
NOT_MEASURED = Resources(compute=None, network=None)  # loads of one model alone
NO_PREDICTIONS: Mapping[str, float | None] = {}


@dataclass(frozen=True, slots=True)
class ResultRow:
    """Figures of ``scheduler`` for ``model``, which is :data:`ALL` for all of them together.

    ``prediction`` is a mean JCT (seconds), ``"overloaded"``, or ``None`` where there is no formula;
    ``utilization`` and ``jobs`` are known for all models together only, ``slo_s`` for one.
    """

    scheduler: str
    model: str
    state: State
    jct: Estimate
    percentiles: Mapping[str, Percentile]
    parts: Parts
    slo_hit_rate: Estimate
    replications: int
    prediction: float | str | None = None
    slo_s: float | None = None
    utilization: Resources = NOT_MEASURED
    jobs: JobCounts | None = None


def result_rows(
    schedulers: Schedulers, predicted: Mapping[str, float | None] = NO_PREDICTIONS, models: bool = False
) -> list[ResultRow]:
    """A row for each scheduler, followed by one for each of its ``models`` if asked for."""
    rows = []
    for name, s in schedulers.items():
        rows.append(_whole(name, s, predicted))
        if models:
            rows += [_one(name, s, model, m) for model, m in s.models.items()]
    return rows


def _whole(name: str, s: SchedulerResult, predicted: Mapping[str, float | None]) -> ResultRow:
    told = predicted.get(name)
    return ResultRow(
        name,
        ALL,
        s.state,
        s.jct_s,
        s.jct_s.percentiles,
        s.parts_s,
        s.slo_hit_rate,
        s.replications,
        prediction="overloaded" if name in predicted and told is None else told,
        utilization=s.utilization,
        jobs=s.jobs,
    )


def _one(name: str, s: SchedulerResult, model: str, m: ModelResult) -> ResultRow:
    hits = Estimate(mean=m.slo_hit_rate, ci95=None)
    return ResultRow(
        name, model, s.state, m.jct, m.percentiles, m.parts_s, hits, s.replications, slo_s=m.slo_s
    )
