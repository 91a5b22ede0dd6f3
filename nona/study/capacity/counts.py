"""The share of SLOs that one scheduler misses: predicted where theory can, else simulated.

``nona``, ``local`` and ``spread`` draw their servers without looking at queues, and have a prediction: jobs
walked among random waits (:func:`nona.placement.response.predict_response`). The others are simulated, with
more and more replications until the interval of the share lies on one side of the target.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nona.errors import PlacementError
from nona.placement.capacity.stability import executor_utilization
from nona.placement.fixed.local_and_spread import local_placement, spread_placement
from nona.placement.result.placement import Placement
from nona.placement.sampled.judge import Judge, rows
from nona.report.means import rate_of
from nona.results.capacity import ServerCount
from nona.simulation.statistics.intervals import Interval
from nona.study.cache import StudyCache
from nona.study.capacity.fewest import judged
from nona.study.preparation import Study
from nona.study.simulating.early import answers
from nona.study.simulating.run import place
from nona.system import System

SAMPLES = 4096
FIRST, MOST_REPLICATIONS = 3, 8
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
    servers, hits = study.system.servers, None
    if least_utilization(study.system) >= 1:
        return ServerCount(servers=servers, miss=None, error=0.0)
    (entry,) = study.scenario.schedulers
    most = max(MOST_REPLICATIONS, study.scenario.simulation.replications)
    for answer in answers(study, cache=cache, check=check, replications=most):
        summary = answer.summaries.get(entry.name)
        if summary is None or summary.hit_rate is None or summary.state == "overloaded":
            return ServerCount(servers=servers, miss=None, error=0.0)
        hits = summary.hit_rate
        if answer.replications < FIRST:
            continue
        if judged(hits, target_hit, summary.arrived, summary.state) != "open":
            break
    return _count(servers, hits)


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
