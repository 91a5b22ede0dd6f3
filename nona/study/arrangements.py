"""Two models on two GPUs: a GPU to each, both in halves over both, or both whole on both.

A GPU that takes several queries in a step has less to gain from the idle time of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from nona.arrays import Floats
from nona.cost.batches import sent_bytes
from nona.errors import ScenarioError
from nona.results.document import UNKNOWN, Estimate
from nona.results.studies import ArrangedPoint, ArrangementName, RowArranged
from nona.scenario.schema import Scenario
from nona.schedulers.base import Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.by_hand import bind_to, chain, query_of, system_of
from nona.simulation.run import RunOptions, simulate_run
from nona.sources.lookup import Sources
from nona.statistics import mean_interval, paired_difference
from nona.study.cache import StudyCache
from nona.study.models import PreparedModel, held_bytes
from nona.study.preparation import prepare
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


def _quicker(one: list[float], other: list[float]) -> bool:
    """Return whether the means of the same runs are clearly lower; all is lower than no steady state."""
    if not one or not other:
        return bool(one)
    difference = paired_difference(one, other)
    return difference.is_clear and difference.difference.mean < 0


def nearest_half(model: PreparedModel, kind: int) -> tuple[float, float]:
    """Return the share of a model's time before its cut nearest to half of it, and the bytes over the cut.

    Cuts are those between operators in their order, on executor class number ``kind``; among cuts as near
    the one with the fewest bytes.
    """
    seconds = np.asarray(model.costed[kind].compute_s)
    before = np.cumsum(seconds)[:-1] / seconds.sum()
    sent = sent_bytes(model.costed[kind], model.contracted.graph.edges)
    cut = min(range(len(before)), key=lambda i: (round(abs(before[i] - 0.5), 9), sent[i]), default=None)
    if cut is None:
        raise ScenarioError([f"{model.graph.name!r} has one operator; choose a model that can be cut."])
    return float(before[cut]), float(sent[cut])


def arrange_row(
    scenario: Scenario,
    sources: Sources,
    cache: StudyCache | None,
    row: int,
    kind: str,
    largest: int,
    cv: float,
    size: RunSize,
) -> Iterator[RowArranged]:
    """Simulate two copies of a row's model on two GPUs of class ``kind``; yield after every rate.

    A half takes the same share of a step of every number of members. Messages cross the scenario's core link
    with its background, not network cards and racks.
    """
    batched = scenario.with_batches(largest, None)
    alone = batched.model_copy(update={"workload": (batched.workload[row],)})
    study = prepare(alone, sources, cache)
    (model,), number = study.models, study.system.class_names.index(kind)
    share, sent = nearest_half(model, number)
    step_s = model.batch_s[:largest, number].sum(axis=1)
    both = 2 * held_bytes(alone.batching_of(alone.workload[0]), model)
    fits = both <= study.cluster.classes[kind].memory_bytes
    result = RowArranged(
        label=scenario.labels[row],
        kind=kind,
        batch=largest,
        cv=cv,
        share=share,
        sent_bytes=sent,
        fits=fits,
        jobs=size.jobs,
        replications=size.replications,
        points=(),
    )
    ways: Mapping[ArrangementName, Callable[[Pair, RunSize], list[float]]]
    ways = {"dedicated": dedicated_jct, "pipeline": pipeline_jct, "replicated": replicated_jct}
    for load in LOADS:
        rate = float(load * largest / step_s[-1])
        pair = Pair(step_s, (rate, rate), cv, (share, 1.0 - share), sent, study.system)
        means = {name: way(pair, size) for name, way in ways.items()}
        point = ArrangedPoint(
            batch=largest,
            cv=cv,
            rates=pair.rates,
            dedicated=mean_of(means["dedicated"]),
            pipeline=mean_of(means["pipeline"]),
            replicated=mean_of(means["replicated"]),
            quicker=tuple((a, b) for a, b in permutations(ways, 2) if _quicker(means[a], means[b])),
        )
        result = result.model_copy(update={"points": (*result.points, point)})
        yield result
