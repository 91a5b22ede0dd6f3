"""Tiresias: jobs that had much of the cluster wait for those that had little."""

from __future__ import annotations

import numpy as np

from nona.look import Look
from nona.options import Options, check_known, number
from nona.training.elastic.model.given import size_of
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.base import Active, Agent, Answer, ElasticPolicy, FixedBatch, Question
from nona.training.elastic.policies.placing import first_fit, place


class Tiresias:
    """Two queues: new jobs in the first; who attained ``limit_gpu_s`` GPU-seconds is in the second for good.

    At each tick jobs are scanned in the order of the queues, and run if what they ask for is left.
    """

    def __init__(self, system: ElasticSystem, limit_gpu_s: float) -> None:
        self._system, self._limit = system, limit_gpu_s
        self._queues: tuple[list[int], list[int]] = ([], [])
        self._executed_s: dict[int, float] = {}

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return FixedBatch(job)

    def plan(self, question: Question) -> Answer:
        """Scan both queues; what does not fit is preempted."""
        jobs = {active.number: active for active in question.jobs}
        self._update(jobs)
        order = (jobs[n] for queue in self._queues for n in queue)
        wanted = first_fit(self._system.cluster, order)
        attained = {n: self._executed_s[n] * jobs[n].job.gpus for n in jobs}
        return Answer(place(self._system.cluster, question.jobs, wanted), attained)

    def _update(self, jobs: dict[int, Active]) -> None:
        """Who came joins the first queue; who ran attained one tick more."""
        first, second = self._queues
        for queue in self._queues:
            queue[:] = [n for n in queue if n in jobs]
        first += [n for n in jobs if n not in self._executed_s]
        for n, active in jobs.items():
            before = self._executed_s.setdefault(n, 0.0)
            if size_of(active.given):
                self._executed_s[n] = before + self._system.tick_s
        for n in [n for n in first if self._executed_s[n] * jobs[n].job.gpus >= self._limit]:
            first.remove(n)
            second.append(n)


def _prepare(system: ElasticSystem, options: Options, _: np.random.Generator) -> Tiresias:
    owner = "Policy 'tiresias'"
    check_known(owner, options, POLICY.defaults)
    return Tiresias(system, number(owner, {**POLICY.defaults, **options}, "limit_gpu_s"))


POLICY = ElasticPolicy(
    name="tiresias",
    title="Tiresias",
    summary="Least attained service in two queues, with the GPUs and batch sizes that users ask for.",
    source="Gu et al., Tiresias, NSDI 2019; the rule as in Pollux's public simulator (OSDI 2021)",
    adaptation="Two queues and no rule against starvation, as that simulator has it.",
    prepare=_prepare,
    defaults={"limit_gpu_s": 57600.0},
    option_help={"limit_gpu_s": "GPU-seconds after which a job is in the second queue"},
    network_view="N0",
    tuned_by_user=True,
    look=Look("#8f7ae0", "dashdot", "triangle-down"),
    value="GPU-seconds attained",
)
