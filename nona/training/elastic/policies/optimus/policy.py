"""Optimus: every GPU goes where it shortens the remaining time most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.look import Look
from nona.options import Options, check_known, number, switch_of, whole
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.base import Active, Agent, Answer, ElasticPolicy, Question, of_jobs
from nona.training.elastic.policies.optimus.estimates import Estimates, Fitted, Known
from nona.training.elastic.policies.placing import pack, place


@dataclass
class Optimus:
    """Marginal gains by estimates, every ``every`` ticks; in between all keep what they have.

    ``most_nodes``: no more GPUs than these have, 0: any; ``compact``: jobs move to fewer nodes; ``ahead``: a
    gain is the best mean over the next GPUs, up to those of a node.
    """

    system: ElasticSystem
    estimates: Estimates
    every: int
    most_nodes: int = 0
    compact: bool = False
    ahead: bool = False
    _next_s: float = 0.0

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return self.estimates.agent(job, number)

    def plan(self, question: Question) -> Answer:
        """Divide all GPUs again, or keep what is given."""
        if question.time_s < self._next_s:
            return Answer({active.number: active.given for active in question.jobs}, {})
        self._next_s = question.time_s + self.every * self.system.tick_s
        return self._divided(question)

    def _divided(self, question: Question) -> Answer:
        """One GPU each while there are some, then one at a time to the largest gain; few GPUs place first."""
        cluster, jobs = self.system.cluster, question.jobs
        given = [1 if place < cluster.size else 0 for place in range(len(jobs))]
        free = cluster.size - sum(given)
        left = [self.estimates.left(active) for active in jobs]
        gains = [self._gain(active, n, rem, free) for active, n, rem in zip(jobs, given, left, strict=True)]
        last = [0.0] * len(jobs)
        while free and (most := max(gains, default=0.0)) > 0:
            best = gains.index(most)
            given[best], last[best] = given[best] + 1, most
            free -= 1
            gains[best] = self._gain(jobs[best], given[best], left[best], free)
        if self.ahead:
            given = [self._best(active, most) for active, most in zip(jobs, given, strict=True)]
        order = sorted(range(len(jobs)), key=given.__getitem__)
        wanted = {jobs[i].number: given[i] for i in order}
        more = [
            self._gain(active, n, rem, cluster.size - n)
            for active, n, rem in zip(jobs, given, left, strict=True)
        ]
        facts = {
            "seconds that its last GPU saves": of_jobs(jobs, last),
            "iterations left": of_jobs(jobs, left),
        }
        placed = (pack if self.compact else place)(cluster, jobs, wanted)
        return Answer(placed, of_jobs(jobs, more), facts)

    def _gain(self, active: Active, gpus: int, left: float, free: int) -> float:
        """Seconds that one more GPU saves: (θ(r) − θ(r+1)) · remaining iterations."""
        most = active.job.application.most_at(active.job.batch)
        if self.most_nodes:
            most = min(most, self.most_nodes * self.system.cluster.gpus)
        if not free or not gpus or gpus >= most:
            return 0.0
        now_s, reach = self.estimates.step_s(active, gpus), 1
        if self.ahead:  # the first GPU of a further node may cost, and those after it gain
            reach = min(self.system.cluster.gpus, free, most - gpus)
        return max((now_s - self.estimates.step_s(active, gpus + k)) * left / k for k in range(1, reach + 1))

    def _best(self, active: Active, most: int) -> int:
        """The number up to ``most`` with the fastest steps, of equals the first."""
        return min(range(1, most + 1), key=lambda gpus: self.estimates.step_s(active, gpus), default=0)


def _prepare(system: ElasticSystem, options: Options, _: np.random.Generator) -> Optimus:
    owner, chosen = "Policy 'optimus'", {**POLICY.defaults, **options}
    check_known(owner, options, POLICY.defaults)
    fitted = switch_of(owner, chosen, "fitted")
    threshold = number(owner, chosen, "threshold", 1e-9, 1.0)
    estimates = Fitted(system.cluster, threshold) if fitted else Known(system.cluster)
    every = whole(owner, chosen, "every_ticks", 1, 10_000)
    most = whole(owner, chosen, "most_nodes", 0, 1024)
    return Optimus(system, estimates, every, most, switch_of(owner, chosen, "compact"))


POLICY = ElasticPolicy(
    name="optimus",
    title="Optimus",
    summary="Every GPU goes where it saves most of the remaining time.",
    source="Peng et al., Optimus, EuroSys 2018; by default with an oracle, as in Pollux's public simulator "
    "(OSDI 2021); fitted: sections 3.1 and 3.2 (recollected)",
    adaptation="By default true step times and remaining iterations at the user's batch size. Fitted: nodes "
    "stand for parameter servers, and a job is tried on 1, 2, 4, 8 and 16 GPUs before it starts, at no cost.",
    prepare=_prepare,
    defaults={"fitted": False, "threshold": 0.001, "every_ticks": 1, "most_nodes": 0, "compact": False},
    option_help={
        "fitted": "fit step times by non-negative least squares, and remaining epochs to the errors so far",
        "threshold": "fitted: a job is done when its error falls by less than this part of its first error "
        "in an epoch (assumed)",
        "every_ticks": "ticks between two divisions of the GPUs; the paper's 10 minutes (recollected) are 10",
        "compact": "as few nodes for each job as there is room for, moving jobs to fewer",
        "most_nodes": "no more GPUs than so many nodes have: less on the network; 0: any number",
    },
    network_view="N2",
    tuned_by_user=True,
    look=Look("#c9713a", "dash", "triangle-up"),
    value="seconds that one more GPU would save",
)
