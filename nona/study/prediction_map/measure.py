"""One point of the map: the formula, the response, and the simulation of a placement."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.placement.formula.prediction import predict
from nona.placement.response import Response, predict_response
from nona.results.studies.prediction_map import Comparison, MapPoint
from nona.schedulers.registry import get_scheduler
from nona.schedulers.sampling.tables import build_tables
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.statistics.summary import SchedulerSummary, summarize
from nona.study.prediction_map.points import Placed, splits
from nona.system import System

_FEWEST = 200  # jobs of a run


def measure(
    names: tuple[str, str, str],
    system: System,
    placed: Placed,
    *,
    tasks: int,
    replications: int,
    engine: str = "auto",
) -> MapPoint:
    """Predict and simulate a placement; ``names`` are those of the scenario, the placement and the load.

    Each of ``replications`` runs has about ``tasks`` tasks.
    """
    scenario, placement, load = names
    response = predict_response(system, placed.queries, shares=placed.shares)
    count = runs_of(system, tasks)
    runs = simulated(system, placed, count, replications, engine)
    slo_s = [q.slo_s for q in system.queries]
    summary = summarize(runs, slo_s, [q.name for q in system.queries])
    return MapPoint(
        scenario=scenario,
        placement=placement,
        load=load,
        servers=float(response.compute_utilization.max()),
        link=response.link_utilization,
        split=splits(placed.queries),
        processes=tuple(sorted({q.arrivals.process for q in system.queries})),
        jobs=count,
        state=summary.state,
        formula_s=predict(system, placed.queries, placed.shares).jct_s,
        sampling_s=response.mix.error_s,
        mean_s=_pair(response.mix.mean_s, summary.jct.mean.mean, summary.jct.mean.half_width),
        p95_s=_p95(response, summary),
        miss=_miss(system, response, summary),
    )


def runs_of(system: System, tasks: int) -> int:
    """Jobs of a run that has about ``tasks`` tasks: the same effort at every point."""
    total = system.total_rate
    each = sum(q.rate * len(q.tasks) for q in system.queries) / total if total > 0 else 1.0
    return max(round(tasks / each), _FEWEST)


def simulated(
    system: System, placed: Placed, jobs: int, replications: int, engine: str = "auto"
) -> Sequence[Records]:
    """Runs of the scheduler that samples from the placement."""
    scheduler = get_scheduler("nona")
    prepared = build_tables(system, placed.queries, shares=placed.shares)
    return [
        simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, replication=r, engine=engine))
        for r in range(replications)
    ]


def _pair(predicted: float, simulated_value: float, half: float) -> Comparison:
    return Comparison(predicted=predicted, simulated=simulated_value, ci95=half)


def _p95(response: Response, summary: SchedulerSummary) -> Comparison:
    p95 = summary.jct.p95
    return _pair(response.mix.quantile_s(0.95), p95.mean, p95.half_width)


def _miss(system: System, response: Response, summary: SchedulerSummary) -> Comparison | None:
    slo_s = [q.slo_s for q in system.queries]
    shares = response.miss(slo_s)
    weights = [q.rate if s is not None else 0.0 for q, s in zip(system.queries, slo_s, strict=True)]
    if summary.hit_rate is None or sum(weights) <= 0:
        return None
    predicted = sum(w * (s or 0.0) for w, s in zip(weights, shares, strict=True)) / sum(weights)
    hit = summary.hit_rate
    half = 0.0 if math.isnan(hit.half_width) else hit.half_width
    return _pair(predicted, 1.0 - hit.mean, half)
