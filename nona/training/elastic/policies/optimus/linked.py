"""Optimus that sees the link: the same marginal gains, with what the link costs now."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.look import Look
from nona.options import Options, check_known, whole
from nona.training.elastic.model.link import ring_bytes
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.base import Active, Agent, Answer, ElasticPolicy, Question, Traffic
from nona.training.elastic.policies.optimus.estimates import Known
from nona.training.elastic.policies.optimus.policy import Optimus
from nona.training.elastic.policies.placing import compact


@dataclass
class Linked:
    """Known step times, longer by what the link takes beyond synchronising as measured.

    The background is known, and how much other jobs load the link now. Without a link it is ``Known``.
    """

    known: Known
    traffic: Traffic | None = None
    _link_s: dict[tuple[int, int], float] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return self.known.agent(job, number)

    def see(self, traffic: Traffic | None) -> None:
        """The link now."""
        self.traffic = traffic
        self._link_s.clear()

    def left(self, active: Active) -> float:
        """By whole epochs."""
        return self.known.left(active)

    def step_s(self, active: Active, gpus: int) -> float:
        """θ(r) with the link as it is now."""
        key = (active.number, gpus)
        if key not in self._link_s:
            self._link_s[key] = self._more(active, gpus)
        return self.known.step_s(active, gpus) + self._link_s[key]

    def _more(self, active: Active, gpus: int) -> float:
        application, seen = active.job.application, self.traffic
        counts = compact(self.known.cluster, gpus)
        if seen is None or len(counts) < 2 or application.parameters is None:
            return 0.0
        others = {n: load for n, load in seen.load.items() if n != active.number}
        moment = sum(load * seen.service_s[n] for n, load in others.items())
        size = ring_bytes(application.parameters, len(counts))
        link_s = seen.link.all_reduce_s(size, len(counts), sum(others.values()), moment)
        _, time = application.step(counts, application.batches.split(active.job.batch, gpus))
        return max(0.0, link_s - time.sync_s)


@dataclass
class LinkedOptimus:
    """Shows the link to the estimates, then asks Optimus."""

    optimus: Optimus
    estimates: Linked

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return self.optimus.agent(job, number)

    def plan(self, question: Question) -> Answer:
        """As Optimus."""
        self.estimates.see(question.traffic)
        return self.optimus.plan(question)


def _prepare(system: ElasticSystem, options: Options, _: np.random.Generator) -> LinkedOptimus:
    owner = "Policy 'optimus-link'"
    check_known(owner, options, POLICY.defaults)
    every = whole(owner, {**POLICY.defaults, **options}, "every_ticks", 1, 10_000)
    estimates = Linked(Known(system.cluster))
    return LinkedOptimus(Optimus(system, estimates, every, compact=True, ahead=True), estimates)


POLICY = ElasticPolicy(
    name="optimus-link",
    title="Optimus, seeing the link",
    summary="Every GPU goes where it saves most of the remaining time, with what the link costs now.",
    source="Optimus (EuroSys 2018) as above; what it sees is ours",
    adaptation="Ours: the oracle's step times are longer by what an all-reduce takes on the "
    "link as it is now; gains look ahead to a full node, and jobs move to fewer nodes.",
    prepare=_prepare,
    defaults={"every_ticks": 1},
    option_help={"every_ticks": "ticks between two divisions of the GPUs"},
    network_view="N4",
    tuned_by_user=True,
    look=Look("#b8860b", "solid", "triangle-right"),
    value="seconds that one more GPU would save",
)
