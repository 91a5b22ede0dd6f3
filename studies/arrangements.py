"""Two models on two GPUs: a GPU to each, both in halves over both, or both whole on both.

A GPU that takes several queries in a step has less to gain from the idle time of the other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from nona.arrays import Floats
from nona.results.document import UNKNOWN, Estimate
from nona.schedulers.base import Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.by_hand import bind_to, chain, query_of, system_of
from nona.simulation.run import RunOptions, simulate_run
from nona.statistics import mean_interval
from nona.system import Arrivals, Batching, System

LOADS = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)  # of a GPU whose steps are full
_DRAWS = 16  # of two queues: it is hardly ever the same one that is drawn all the time
_TOGETHER_S = 1e-6  # a delay by which the members of a step, which arrive at one instant, are seen together


@dataclass(frozen=True, eq=False)
class Pair:
    """Two models that take equally long, each with its queries.

    ``step_s`` (B,): seconds of a step with 1, …, B members.
    ``rates``: queries per second of either model.
    ``cv``: coefficient of variation of the gaps between arrivals.
    ``halves``: shares of a step before and after the cut.
    ``size_bytes``: what a query sends over the cut.
    ``link``: a system whose link, with its background, the halves use; ``None``: sending takes no time.
    """

    step_s: Floats
    rates: tuple[float, float]
    cv: float = 1.0
    halves: tuple[float, float] = (0.5, 0.5)
    size_bytes: float = 1.0
    link: System | None = None


@dataclass(frozen=True, eq=False)
class RunSize:
    """Runs of each arrangement: ``replications`` of ``jobs`` measured queries."""

    jobs: int
    replications: int
    seed: int = 0
    engine: str = "auto"


def dedicated_jct(pair: Pair, size: RunSize) -> list[float]:
    """The mean completion time of each run with a GPU for each model; none where there is no steady state."""
    return _jct(_system(pair, (1.0,), size.seed), bind_to([0], [1]), size)


def pipeline_jct(pair: Pair, size: RunSize) -> list[float]:
    """The same with both models in two halves, each half on its GPU."""
    system, link = _system(pair, pair.halves, size.seed), pair.link
    if link is not None:
        system = replace(
            system,
            capacity=link.capacity,
            latency_s=link.latency_s,
            discipline=link.discipline,
            background_network=link.background_network,
        )
    return _jct(system, bind_to([0, 1], [0, 1]), size)


def replicated_jct(pair: Pair, size: RunSize) -> list[float]:
    """The same with both models on both GPUs; a query goes to the shorter queue."""
    return _jct(_system(pair, (1.0,), size.seed), get_scheduler("jsq-d"), size)


def _system(pair: Pair, stages: tuple[float, ...], seed: int) -> System:
    """Two GPUs of a server each; ``stages`` are shares of a model's time."""
    step_s = pair.step_s[:, None, None] * np.array([stages])
    batching = Batching(step_s, "delay", _TOGETHER_S) if len(step_s) > 1 else None
    arrivals = Arrivals() if pair.cv == 1.0 else Arrivals("gamma", cv=pair.cv)
    queries = [
        query_of(chain(name, step_s[0, 0].tolist(), pair.size_bytes), rate)
        for name, rate in zip("ab", pair.rates, strict=True)
    ]
    batched = [replace(q, arrivals=arrivals, batching=batching) for q in queries]
    return system_of(batched, executors=2, capacity=1e15, seed=seed)


def mean_of(means_s: list[float]) -> Estimate:
    """The mean of the runs' means with its interval; unknown where there are none."""
    return mean_interval(means_s).estimate if means_s else UNKNOWN


def _jct(system: System, scheduler: Scheduler, size: RunSize) -> list[float]:
    prepared = scheduler.prepare(system, None, {} if scheduler.name != "jsq-d" else {"d": _DRAWS})
    means = []
    for replication in range(size.replications):
        options = RunOptions(jobs=size.jobs, replication=replication, engine=size.engine)
        records = simulate_run(system, scheduler, prepared, options)
        if records.state == "overloaded":
            return []
        means.append(float(records.completion_time_s.mean()))
    return means
