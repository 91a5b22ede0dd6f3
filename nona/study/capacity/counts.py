"""The share of SLOs that one scheduler misses: predicted where theory can, else simulated.

``nona``, ``local`` and ``spread`` draw their servers without looking at queues, and have a prediction: jobs
walked among random waits (:func:`nona.placement.response.predict_response`). The others are simulated, with
more and more replications until the sequential test of :mod:`nona.planning.verdict` has a verdict on the mix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from nona.errors import PlacementError
from nona.placement.capacity.stability import executor_utilization
from nona.placement.fixed.local_and_spread import local_placement, spread_placement
from nona.placement.result.placement import Placement
from nona.placement.sampled.judge import Judge, rows
from nona.planning.counted import counted
from nona.planning.settle import settle
from nona.planning.verdict import verdict
from nona.report.means import rate_of
from nona.results.capacity import ServerCount
from nona.results.verdict import Verdict
from nona.simulation.records.run import Records
from nona.simulation.records.tally import ROUNDING
from nona.simulation.statistics.intervals import Interval
from nona.study.cache import StudyCache
from nona.study.preparation import Study
from nona.study.simulating.early import Answer, answers
from nona.study.simulating.run import place
from nona.system import System

SAMPLES = 4096
MOST_REPLICATIONS = 8
ALPHA = 0.05  # of each verdict
PREDICTED = ("nona", "local", "spread")
Check = Callable[[], None]


def predicted_count(study: Study, scheduler: str, cache: StudyCache, check: Check) -> ServerCount:
    """The share of missed SLOs by prediction, for a scheduler of ``PREDICTED``."""
    servers = study.system.servers
    try:
        placement = _placement(study, scheduler, cache, check)
    except PlacementError:  # the executors or the link are overloaded
        return ServerCount(servers=servers, miss=None, error=0.0)
    if not math.isfinite(placement.prediction.jct_s):
        return ServerCount(servers=servers, miss=None, error=0.0)
    judge = Judge(study.system, "slo", placement.class_shares)
    values = judge.values(rows(placement.queries), SAMPLES, study.scenario.seed)
    return ServerCount(servers=servers, miss=values.value, error=values.error)


def _placement(study: Study, scheduler: str, cache: StudyCache, check: Check) -> Placement:
    if scheduler == "local":
        return local_placement(study.system)
    if scheduler == "spread":
        return spread_placement(study.system)
    return place(study, cache=cache, check=check, quick=True)


def simulated_count(study: Study, target_hit: float, cache: StudyCache, check: Check) -> ServerCount:
    """The share of missed SLOs by simulation of the one scheduler of the study's scenario.

    ``error`` is a quarter of the width of the interval at 95 %. A cluster that is too small for any scheduler
    is not simulated: it has no steady state.
    """
    servers = study.system.servers
    if least_utilization(study.system) >= 1:
        return ServerCount(servers=servers, miss=None, error=0.0)
    (entry,) = study.scenario.schedulers
    most = max(MOST_REPLICATIONS, study.scenario.simulation.replications)
    stream = answers(study, cache=cache, check=check, replications=most)

    def more(count: int) -> Answer:
        answer = next(stream)
        while answer.replications < count and _steady(answer, entry.name) is not None:
            answer = next(stream)
        return answer

    def judge(answer: Answer, look: int, looks: int) -> Verdict:
        if _steady(answer, entry.name) is None:
            return "misses"
        slo_s = [q.slo_s for q in study.system.queries]
        counts = counted(mix_ratios(answer.records[entry.name], slo_s), target_hit)
        return verdict([counts], [target_hit], ALPHA, look, looks)

    found = settle(more, judge, most)
    return _count(servers, _steady(found.result, entry.name))


def _steady(answer: Answer, scheduler: str) -> Interval | None:
    """The share of kept SLOs, or ``None`` without a steady state."""
    summary = answer.summaries.get(scheduler)
    return None if summary is None or summary.state == "overloaded" else summary.hit_rate


def mix_ratios(runs: Sequence[Records], slo_s: Sequence[float | None]) -> list[NDArray[np.float64]]:
    """Of every run, the times of the jobs that have an SLO over it; ``nan`` for unfinished ones."""
    limit = np.array([math.nan if s is None else s * (1 + ROUNDING) for s in slo_s])
    found = []
    for run in runs:
        asked = ~np.isnan(limit[run.query])
        found.append((run.completion_time_s / limit[run.query])[asked])
    return found


def _count(servers: int, hits: Interval | None) -> ServerCount:
    if hits is None:
        return ServerCount(servers=servers, miss=None, error=0.0)
    error = hits.half_width / 2 if math.isfinite(hits.half_width) else 0.0
    return ServerCount(servers=servers, miss=1 - hits.mean, error=error, simulated_hit_rate=rate_of(hits))


def least_utilization(system: System) -> float:
    """The least utilisation of the executors under any scheduler; from 1 on there is no steady state.

    Formula: ρ₀ + Σ_j λ_j · Σ_v min over classes of p(v) / E, with ρ₀ the background's, E executors.
    """
    background, _ = executor_utilization(system)
    used = np.unique(system.executor_class)
    work = sum(q.rate * float(q.tasks.compute_s[used].min(axis=0).sum()) for q in system.queries)
    return background + work / len(system.executor_class)
