"""Optimus: every GPU goes where it shortens the remaining time most."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.look import Look
from nona.options import Options, check_known
from nona.training.elastic.applications.application import Application
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.base import Active, Agent, Answer, ElasticPolicy, FixedBatch, Question
from nona.training.elastic.policies.placing import compact, place


@dataclass
class Optimus:
    """Marginal gains with known step times and remaining iterations."""

    system: ElasticSystem
    _seconds: dict[tuple[str, int], list[float]] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return FixedBatch(job)

    def plan(self, question: Question) -> Answer:
        """One GPU each while there are some, then one at a time to the largest gain; few GPUs place first."""
        cluster, jobs = self.system.cluster, question.jobs
        given = [1 if place < cluster.size else 0 for place in range(len(jobs))]
        free = cluster.size - sum(given)
        left = [
            active.job.application.remaining_iterations(active.job.batch, active.epoch) for active in jobs
        ]
        gains = [self._gain(active, n, rem, free) for active, n, rem in zip(jobs, given, left, strict=True)]
        while free and (most := max(gains, default=0.0)) > 0:
            best = gains.index(most)
            given[best] += 1
            free -= 1
            gains[best] = self._gain(jobs[best], given[best], left[best], free)
        order = sorted(range(len(jobs)), key=given.__getitem__)
        wanted = {jobs[i].number: given[i] for i in order}
        values = {active.number: gain for active, gain in zip(jobs, gains, strict=True)}
        return Answer(place(cluster, jobs, wanted), values)

    def _gain(self, active: Active, gpus: int, left: float, free: int) -> float:
        """Seconds that one more GPU saves: (θ(r) − θ(r+1)) · remaining iterations."""
        application, batch = active.job.application, active.job.batch
        if not free or not gpus or gpus >= application.most_at(batch):
            return 0.0
        return (self._step(application, batch, gpus) - self._step(application, batch, gpus + 1)) * left

    def _step(self, application: Application, batch: int, gpus: int) -> float:
        """θ(r): seconds of a step on as few nodes as possible; known after the first question."""
        known = self._seconds.setdefault((application.name, batch), [])
        while len(known) < gpus:
            known.append(self._computed(application, batch, len(known) + 1))
        return known[gpus - 1]

    def _computed(self, application: Application, batch: int, gpus: int) -> float:
        counts = compact(self.system.cluster, gpus)
        return application.step(counts, application.batches.split(batch, gpus, always_extra=True))[0]


def _prepare(system: ElasticSystem, options: Options, _: np.random.Generator) -> Optimus:
    check_known("Policy 'optimus'", options, POLICY.defaults)
    return Optimus(system)


POLICY = ElasticPolicy(
    name="optimus",
    title="Optimus",
    summary="Every GPU goes where it saves most of the remaining time; all step times are known.",
    source="Peng et al., Optimus, EuroSys 2018; with an oracle, as in Pollux's public simulator (OSDI 2021)",
    adaptation="Nothing is fitted: true step times and remaining iterations at the user's batch size.",
    prepare=_prepare,
    defaults={},
    option_help={},
    network_view="N2",
    tuned_by_user=True,
    look=Look("#c9713a", "dash", "triangle-up"),
    value="seconds that one more GPU would save",
)
