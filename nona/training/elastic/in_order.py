"""One job after the other: in order of arrival (FIFO), or the shortest remaining time first (SJF)."""

from __future__ import annotations

from dataclasses import dataclass

from nona.core.registry import ChartStyle
from nona.training.elastic import policy
from nona.training.elastic.system import ElasticSystem


@dataclass(frozen=True)
class Fifo(policy.ElasticPlanner):
    """The first that does not fit makes all behind it wait."""

    system: ElasticSystem

    def plan(self, question: policy.TickQuestion) -> policy.GpuCounts:
        """Place the jobs that fit, by arrival."""
        wanted = policy.first_fit(self.system.cluster, question.jobs, blocking=True)
        return policy.GpuCounts(policy.place(self.system.cluster, question.jobs, wanted), {})


@dataclass(frozen=True)
class Sjf(policy.ElasticPlanner):
    """Known remaining times on the GPUs asked for; longer jobs are preempted."""

    system: ElasticSystem

    def plan(self, question: policy.TickQuestion) -> policy.GpuCounts:
        """Place the jobs that fit, shortest first; equal ones by arrival."""
        left = {
            active.number: policy.alone_s(self.system.cluster, active.job, active.epoch)
            for active in question.jobs
        }
        order = sorted(question.jobs, key=lambda active: left[active.number])
        wanted = policy.first_fit(self.system.cluster, order)
        return policy.GpuCounts(policy.place(self.system.cluster, question.jobs, wanted), left)


FIFO = policy.ElasticPolicy(
    name="fifo",
    title="FIFO",
    summary="In order of arrival, with the GPUs and batch sizes that users ask for; the first blocks.",
    source="textbook",
    adaptation="",
    build=lambda system, _, __: Fifo(system),
    network_view="N0",
    style=ChartStyle("#8390a6", "longdashdot", "square"),
)

SJF = policy.ElasticPolicy(
    name="sjf",
    title="SJF",
    summary="Shortest remaining time first, preemptive, with the GPUs and batch sizes that users ask for.",
    source="textbook (shortest remaining processing time, in seconds)",
    adaptation="Remaining times are known: true step times and remaining iterations, by whole epochs.",
    build=lambda system, _, __: Sjf(system),
    network_view="N0",
    style=ChartStyle("#3f8fd6", "solid", "diamond"),
    value="seconds left",
)
