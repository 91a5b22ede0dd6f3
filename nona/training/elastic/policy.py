"""The interface of a policy for elastic jobs: its question, its answer, GPUs placed on nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from nona.core.options import Options
from nona.core.registry import Strategy
from nona.training.elastic.applications import Counts, Noise, Split, StepTime
from nona.training.elastic.system import (
    CoreLink,
    ElasticCluster,
    ElasticJob,
    ElasticSystem,
    NodeShare,
    NodeShares,
    size_of,
)


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A job that came and is not complete, as a policy sees it.

    ``epoch`` from 0; ``given`` its GPUs now; ``gpu_s`` GPU-seconds that it had; ``restarts`` after its first
    start; ``age_s`` since its arrival.
    """

    number: int
    job: ElasticJob
    epoch: int
    given: NodeShares
    gpu_s: float
    restarts: int
    age_s: float


@dataclass(frozen=True, slots=True)
class ElasticTraffic:
    """The link, and by job its utilisation and the seconds that one of its messages takes alone."""

    link: CoreLink
    load: Mapping[int, float]
    service_s: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class TickQuestion:
    """Question about the GPUs of each job during the next tick; ``jobs`` are in order of arrival.

    ``traffic``: on the link during the last tick; only for policies of network view N4.
    """

    time_s: float
    jobs: tuple[ActiveJob, ...]
    traffic: ElasticTraffic | None = None


def of_jobs(jobs: Iterable[ActiveJob], values: Iterable[float]) -> dict[int, float]:
    """Values in the order of jobs, by the jobs' numbers."""
    return {active.number: float(value) for active, value in zip(jobs, values, strict=True)}


@dataclass(frozen=True, slots=True)
class GpuCounts:
    """GPUs by the job's number, in the order of giving; others get none. ``values``: why, by job.

    ``facts``: what else the policy knew of jobs: what a figure is → job → figure.
    """

    given: Mapping[int, NodeShares]
    values: Mapping[int, float]
    facts: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def facts_of(self, job: int) -> dict[str, float]:
        """Return the policy's further figures on one job, by name."""
        return {what: of[job] for what, of in self.facts.items() if job in of}


class BatchAgent(Protocol):
    """Chooses the batch size of one job, and sees its measurements."""

    def split(self, counts: Counts) -> Split:
        """Return the batch on these GPUs; asked when they change, and after each tick and epoch."""

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Take in the measured time of a step, and the gradient's noise."""


class ElasticPlanner(ABC):
    """A policy in one run; may remember what it was asked before."""

    def agent(self, job: ElasticJob, number: int) -> BatchAgent:
        """Return the agent that chooses the job's batch size; usually its user's."""
        return FixedBatch(job)

    @abstractmethod
    def plan(self, question: TickQuestion) -> GpuCounts:
        """Return the GPUs of every job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElasticPolicy(Strategy):
    """A policy's declaration.

    ``value``: what ``Answer.values`` are; "" where it gives none.
    ``drawn``: whether it draws random numbers. ``build`` makes the planner of a run under checked options;
        its generator belongs to the run.
    """

    build: Callable[[ElasticSystem, Mapping[str, Any], np.random.Generator], ElasticPlanner]
    network_view: str
    value: str = ""
    drawn: bool = False

    def prepare(self, system: ElasticSystem, options: Options, rng: np.random.Generator) -> ElasticPlanner:
        """Return the planner of a run.

        Raises :class:`~nona.core.errors.SimulationError` for a wrong option.
        """
        return self.build(system, self.chosen(options), rng)


@dataclass
class FixedBatch:
    """The batch size that the user chose, divided evenly."""

    job: ElasticJob

    def split(self, counts: Counts) -> Split:
        """Divide the user's batch among the GPUs."""
        return self.job.application.batches.split(self.job.batch, sum(counts))

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Nothing is learnt."""


def compact(cluster: ElasticCluster, gpus: int) -> Counts:
    """GPUs on as few nodes as possible, full ones first.

    >>> compact(ElasticCluster(16, 4), 6)
    (4, 2)
    """
    full, rest = divmod(gpus, cluster.gpus)
    return (cluster.gpus,) * full + ((rest,) if rest else ())


def first_fit(
    cluster: ElasticCluster, jobs: Iterable[ActiveJob], *, blocking: bool = False
) -> dict[int, int]:
    """Return the GPUs that jobs ask for, in order, as long as they are free; others get none.

    ``blocking``: stop at the first job that does not fit (no backfilling).
    """
    free, wanted = cluster.size, dict[int, int]()
    for active in jobs:
        if active.job.gpus <= free:
            wanted[active.number] = active.job.gpus
            free -= active.job.gpus
        elif blocking:
            break
    return wanted


def place(
    cluster: ElasticCluster, jobs: Iterable[ActiveJob], wanted: Mapping[int, int]
) -> dict[int, NodeShares]:
    """Jobs with an unchanged number keep their GPUs; others take the freest nodes.

    In the order of ``wanted``, a job takes as many GPUs as it needs and are free from the node with most free
    GPUs, of equals the first, until it has all.

    Source: Pollux's public simulator, Tiresias and Optimus.
    """
    free, kept = _kept(cluster, jobs, wanted)
    return {n: kept.get(n) or _taken(free, count) for n, count in wanted.items() if count}


def _kept(
    cluster: ElasticCluster, jobs: Iterable[ActiveJob], wanted: Mapping[int, int]
) -> tuple[list[int], dict[int, NodeShares]]:
    """Free GPUs of each node, and the GPUs of jobs whose number is unchanged."""
    free, had = [cluster.gpus] * cluster.nodes, {job.number: job.given for job in jobs}
    kept = {n: had[n] for n, count in wanted.items() if count and size_of(had.get(n, ())) == count}
    for given in kept.values():
        _change(free, given, -1)
    return free, kept


def _taken(free: list[int], count: int, tight: bool = False) -> NodeShares:
    """From the freest nodes; ``tight``: from the node with fewest that are enough, if there is one."""
    shares: list[NodeShare] = []
    while count:
        enough = [node for node, gpus in enumerate(free) if gpus >= count] if tight else []
        node = min(enough, key=free.__getitem__) if enough else max(range(len(free)), key=free.__getitem__)
        taken = min(free[node], count)
        free[node] -= taken
        count -= taken
        shares.append(NodeShare(node, taken))
    return tuple(shares)


def pack(
    cluster: ElasticCluster, jobs: Iterable[ActiveJob], wanted: Mapping[int, int]
) -> dict[int, NodeShares]:
    """Place each job on as few nodes as there is room for, and move jobs to fewer nodes.

    Jobs with an unchanged number keep their GPUs. The others, most GPUs first, take the node with the fewest
    free GPUs that are enough, or all of the freest one, until they have all. Then each job on more nodes than
    it needs moves if it finds fewer.
    """
    free, by_job = _kept(cluster, jobs, wanted)
    for n in sorted(
        (n for n, count in wanted.items() if count and n not in by_job), key=lambda n: -wanted[n]
    ):
        by_job[n] = _taken(free, wanted[n], tight=True)
    for n, given in by_job.items():
        if len(given) > -(-wanted[n] // cluster.gpus):
            _change(free, given, 1)
            moved = _taken(free, wanted[n], tight=True)
            if len(moved) < len(given):
                by_job[n] = moved
            else:
                _change(free, moved, 1)
                _change(free, given, -1)
    return {n: by_job[n] for n in wanted if n in by_job}


def _change(free: list[int], given: NodeShares, sign: int) -> None:
    for node, gpus in given:
        free[node] += sign * gpus


def alone_s(cluster: ElasticCluster, job: ElasticJob, epoch: int = 0) -> float:
    """Seconds left from an epoch on: remaining iterations times those of a step on as few nodes as possible.

    Both are as measured, so this is an oracle; iterations count by whole epochs.
    """
    return step_alone_s(cluster, job) * job.application.remaining_iterations(job.batch, epoch)


def step_alone_s(cluster: ElasticCluster, job: ElasticJob) -> float:
    """Seconds of a step on as few nodes as possible."""
    split = job.application.batches.split(job.batch, job.gpus)
    return job.application.step(compact(cluster, job.gpus), split)[0]
