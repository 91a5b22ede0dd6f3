"""Pollux: batch sizes and GPUs chosen together, by the fairest goodputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from nona.core.arrays import Floats, Ints
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.training.elastic.applications import Counts, Noise, Split, StepTime
from nona.training.elastic.policy import (
    ActiveJob,
    BatchAgent,
    ElasticPlanner,
    ElasticPolicy,
    GpuCounts,
    TickQuestion,
    of_jobs,
)
from nona.training.elastic.system import ElasticJob, ElasticSystem, NodeShare, NodeShares

if TYPE_CHECKING:
    from nona.training.elastic.pollux_search import ElasticJobs, Matrix, SearchSize


@dataclass(slots=True)
class TunedBatch:
    """Chooses the batch size of the largest goodput; before the first measurement the smallest one.

    ``node`` GPUs of one node, ``size`` GPUs of the cluster.
    """

    job: ElasticJob
    node: int
    size: int
    largest: int = 0
    _measured: dict[tuple[int, int, int], StepTime] = field(default_factory=dict)
    _noise: Noise | None = None
    _params: Floats | None = None
    _table: Floats | None = None

    @property
    def limits(self) -> Ints:
        """Limits of batch sizes, as compiled functions take them."""
        b = self.job.application.batches
        return np.array([b.least, b.most, b.least_local, b.most_local])

    @property
    def most_gpus(self) -> int:
        """r_max: twice the most GPUs seen, as far as cluster and application allow."""
        application = self.job.application
        batches = application.batches
        own = application.most_gpus or max(1, batches.most // batches.least_local)
        return min(max(2 * self.largest, 1), self.size, own)

    def split(self, counts: Counts) -> Split:
        """Return the batch size of the largest goodput on these GPUs; an application's fixed one stays."""
        from nona.training.elastic.pollux_goodput import best_batch

        application, gpus = self.job.application, sum(counts)
        batches = application.batches
        if application.fixed_batch is not None:
            return batches.split(application.fixed_batch, gpus)
        if self._noise is None:
            return batches.split(max(batches.least, batches.least_local * gpus), gpus)
        _, local, extra = best_batch(self.params, np.array(self._noise), self.limits, len(counts) > 1, gpus)
        return Split(min(local, batches.most // (gpus * (extra + 1))), extra)

    def measured(self, counts: Counts, split: Split, time: StepTime, noise: Noise) -> None:
        """Record the time of a step and the gradient noise."""
        if noise != self._noise:
            self._noise, self._table = noise, None
        gpus = sum(counts)
        key = (len(counts), gpus, split.local)
        if key not in self._measured:
            self._measured[key] = time
            self._params = self._table = None
            self.largest = max(self.largest, gpus)

    @property
    def params(self) -> Floats:
        """The step model fitted to all that was measured."""
        from nona.training.elastic.pollux_goodput import Observations, fit

        if self._params is None:
            nodes, gpus, local = np.array(list(self._measured)).T
            step, sync = np.array(list(self._measured.values())).T
            self._params = fit(Observations(nodes, gpus, local, step - sync, step))
        return self._params

    def speedups(self, fair: int, most: int) -> Floats:
        """(2, most + 1) s by GPUs, on one node and on several: goodput over that of ``fair`` GPUs.

        Before the first measurement s = r / fair.
        """
        from nona.training.elastic.pollux_goodput import best_batch, goodputs

        if self._noise is None:
            speedups: Floats = np.tile(np.arange(most + 1) / fair, (2, 1))
            return speedups
        own = self.most_gpus
        if self._table is None:
            self._table = goodputs(self.params, np.array(self._noise), self.limits, self.node, own)
        batches = self.job.application.batches
        base = min(fair, max(1, batches.most // batches.least_local))
        equal = best_batch(self.params, np.array(self._noise), self.limits, False, base)[0]
        speedups = np.zeros((2, most + 1))
        speedups[:, : own + 1] = self._table / equal
        return speedups


DELAY_S = 30.0  # what the policy believes that a restart costs


@dataclass
class Pollux(ElasticPlanner):
    """Searches from the front of the last tick's search."""

    system: ElasticSystem
    effort: SearchSize
    rng: Generator
    _agents: dict[int, TunedBatch] = field(default_factory=dict)
    _last: dict[int, Matrix] = field(default_factory=dict)
    _count: int = 1

    def agent(self, job: ElasticJob, number: int) -> BatchAgent:
        """Return the agent that tunes a job's batch size."""
        cluster = self.system.cluster
        agent = self._agents[number] = TunedBatch(job, cluster.gpus, cluster.size)
        return agent

    def plan(self, question: TickQuestion) -> GpuCounts:
        """Return the best by the first objective of the search's last front."""
        from nona.training.elastic.pollux_search import evolve

        seen = sorted(question.jobs, key=lambda active: (active.gpu_s, active.job.arrival_s))
        jobs = self._jobs(seen)
        states, values = evolve(self._first(seen, jobs), jobs, self.effort, self.rng)
        self._last = {active.number: states[:, j] for j, active in enumerate(seen)}
        self._count = len(states)
        first = int(np.argmax(values[:, 0]))
        best = states[first]
        given = {active.number: _given(row) for active, row in zip(seen, best, strict=True)}
        speed = {
            active.number: float(jobs.speedups[j, int((best[j] > 0).sum() > 1), best[j].sum()])
            for j, active in enumerate(seen)
        }
        facts = {
            "fitness of the whole allocation": dict.fromkeys(given, float(values[first, 0])),
            "most GPUs so far allowed": of_jobs(seen, jobs.most),
            "part of its speed kept after a restart": of_jobs(seen, jobs.kept),
        }
        return GpuCounts(given, speed, facts)

    def _jobs(self, seen: list[ActiveJob]) -> ElasticJobs:
        from nona.training.elastic.pollux_search import ElasticJobs

        cluster = self.system.cluster
        base = np.zeros((len(seen), cluster.nodes), np.int8)
        for j, active in enumerate(seen):
            for share in active.given:
                base[j, share.node] = share.gpus
        fair = -(-cluster.size // len(seen))
        agents = [self._agents[active.number] for active in seen]
        kept = [
            max(active.age_s - DELAY_S * active.restarts, 0.0) / (active.age_s + DELAY_S) for active in seen
        ]
        return ElasticJobs(
            base,
            np.stack([agent.speedups(fair, cluster.size) for agent in agents]),
            np.array(kept),
            np.array([agent.most_gpus for agent in agents]),
        )

    def _first(self, seen: list[ActiveJob], jobs: ElasticJobs) -> Matrix:
        """Return the last front, without jobs that left and with nothing for those that came."""
        if not self._last:
            return jobs.base[None]
        solutions = np.zeros((self._count, *jobs.base.shape), np.int8)
        for j, active in enumerate(seen):
            if (before := self._last.get(active.number)) is not None:
                solutions[:, j] = before
        return solutions


def _given(row: Matrix) -> NodeShares:
    return tuple(NodeShare(int(node), int(row[node])) for node in np.flatnonzero(row))


def _build(system: ElasticSystem, options: Mapping[str, Any], rng: Generator) -> Pollux:
    from nona.training.elastic.pollux_search import SearchSize

    population, generations, avoid = options.values()
    return Pollux(system, SearchSize(population, generations, system.cluster.gpus, avoid), rng)


POLICY = ElasticPolicy(
    name="pollux",
    title="Pollux",
    summary="GPUs and batch sizes together: the fairest goodputs by fitted models and a genetic search.",
    source="Qiao et al., Pollux, OSDI 2021, sections 3 to 5, and its public simulator",
    adaptation="The search is our own NSGA-II with that simulator's operators; seeded.",
    build=_build,
    settings={
        "population": PolicyOption(100, "solutions of a generation", least=2, most=1000),
        "generations": PolicyOption(100, "generations of a search, one search a tick", least=2, most=1000),
        "avoid_interference": PolicyOption(True, "at most one job that is on several nodes on each node"),
    },
    network_view="N2",
    drawn=True,
    style=ChartStyle("#0f9b8e", "solid", "circle"),
    value="believed speed-up over an equal share",
)
