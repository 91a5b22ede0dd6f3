"""Gandiva's time slicing: jobs take turns, each for a slice."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from nona.look import Look
from nona.options import Options, check_known, whole
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.base import Active, Agent, Answer, ElasticPolicy, FixedBatch, Question
from nona.training.elastic.policies.placing import first_fit, place


@dataclass
class Gandiva:
    """Who had the fewest slices runs next; a slice that began is finished."""

    system: ElasticSystem
    slice_ticks: int
    _ticks: dict[int, int] = field(default_factory=dict)

    def agent(self, job: ElasticJob, number: int) -> Agent:
        """Batch sizes are the users'."""
        return FixedBatch(job)

    def plan(self, question: Question) -> Answer:
        """Within slices first, then by slices had, then by arrival."""
        for active in question.jobs:
            self._ticks[active.number] = self._ticks.get(active.number, 0) + bool(active.given)
        wanted = first_fit(self.system.cluster, sorted(question.jobs, key=self._turn))
        slices = {active.number: self._ticks[active.number] / self.slice_ticks for active in question.jobs}
        return Answer(place(self.system.cluster, question.jobs, wanted), slices)

    def _turn(self, active: Active) -> tuple[bool, int]:
        had, part = divmod(self._ticks[active.number], self.slice_ticks)
        return not (active.given and part), had


def _prepare(system: ElasticSystem, options: Options, _: np.random.Generator) -> Gandiva:
    owner = "Policy 'gandiva'"
    check_known(owner, options, POLICY.defaults)
    return Gandiva(system, whole(owner, {**POLICY.defaults, **options}, "slice_ticks", 1, 10_000))


POLICY = ElasticPolicy(
    name="gandiva",
    title="Gandiva (time slicing)",
    summary="Jobs take turns of a few ticks, with the GPUs and batch sizes that users ask for.",
    source="Xiao et al., Gandiva, OSDI 2018, section 3.1 (recollected)",
    adaptation="Time slicing only: there are no profiles of two applications on one GPU, which packing "
    "needs. A switch costs the restart time. The length of a slice is assumed.",
    prepare=_prepare,
    defaults={"slice_ticks": 10},
    option_help={"slice_ticks": "ticks of a turn"},
    network_view="N0",
    tuned_by_user=True,
    look=Look("#d0588f", "longdash", "cross"),
    value="slices had",
)
