"""FIFO: in order of arrival, never preempted."""

from __future__ import annotations

from dataclasses import dataclass

from nona.registry import Look
from nona.training.elastic.policy import Answer, ElasticPolicy, Planner, Question, first_fit, place
from nona.training.elastic.system import ElasticSystem


@dataclass(frozen=True)
class Fifo(Planner):
    """The first that does not fit makes all behind it wait."""

    system: ElasticSystem

    def plan(self, question: Question) -> Answer:
        """Place the jobs that fit, by arrival."""
        wanted = first_fit(self.system.cluster, question.jobs, blocking=True)
        return Answer(place(self.system.cluster, question.jobs, wanted), {})


POLICY = ElasticPolicy(
    name="fifo",
    title="FIFO",
    summary="In order of arrival, with the GPUs and batch sizes that users ask for; the first blocks.",
    source="textbook",
    adaptation="",
    build=lambda system, _, __: Fifo(system),
    network_view="N0",
    look=Look("#8390a6", "longdashdot", "square"),
)
