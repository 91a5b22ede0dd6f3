"""Tiresias: jobs that had much of the cluster wait for those that had little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle
from nona.training.attained_service import STARVATION, AttainedQueues, GittinsRank, limits_of
from nona.training.elastic import policy
from nona.training.elastic.system import ElasticSystem

RANKS = ("none", "gittins")


class Tiresias(policy.ElasticPlanner):
    """At each tick jobs sink and rise; queue by queue, those run whose GPUs are left."""

    def __init__(self, system: ElasticSystem, queues: AttainedQueues) -> None:
        self._system, self._queues = system, queues

    def plan(self, question: policy.TickQuestion) -> policy.GpuCounts:
        """Place jobs by queue, and preempt those that do not fit."""
        jobs = {active.number: active for active in question.jobs}
        present = {n: (active.job.gpus, active.job.arrival_s) for n, active in jobs.items()}
        running = {n for n, active in jobs.items() if active.given}
        self._queues.follow(present, self._system.tick_s, running)
        wanted = policy.first_fit(self._system.cluster, (jobs[n] for n in self._queues.order()))
        attained = {n: self._queues.attained(n) for n in jobs}
        queue = {n: self._queues.queue_of(n) + 1.0 for n in jobs}
        return policy.GpuCounts(
            policy.place(self._system.cluster, question.jobs, wanted), attained, {"queue": queue}
        )


def _build(system: ElasticSystem, options: Mapping[str, Any], _: np.random.Generator) -> Tiresias:
    ranks = (
        GittinsRank.from_sizes(_sizes(system), options["step_gpu_s"])
        if options["rank"] == "gittins"
        else None
    )
    limits = limits_of("Policy 'tiresias'", options["limits_gpu_s"])
    return Tiresias(system, AttainedQueues(limits, options["starvation"], ranks))


def _sizes(system: ElasticSystem) -> list[float]:
    return [job.gpus * policy.alone_s(system.cluster, job) for job in system.jobs]


POLICY = policy.ElasticPolicy(
    name="tiresias",
    title="Tiresias",
    summary="Least attained service in queues, with the GPUs and batch sizes that users ask for.",
    source="Gu et al., Tiresias, NSDI 2019; by default as in Pollux's public simulator (OSDI 2021)",
    adaptation="Two queues, no ranks and no rule against starvation, as that simulator has it; all can be "
    "set. Gittins ranks know the sizes of all jobs alone on what they ask for.",
    build=_build,
    settings={
        "limits_gpu_s": PolicyOption(
            "57600",
            "GPU-seconds after which a job moves to the next queue; several with commas",
            kind=object,
        ),
        "starvation": STARVATION,
        "rank": PolicyOption(
            "none",
            "order inside queues: none (as they joined) or gittins (likely to end soon first)",
            words=RANKS,
        ),
        "step_gpu_s": PolicyOption(
            57600.0, "GPU-seconds that the Gittins rank looks ahead (assumed)", least=1.0
        ),
    },
    network_view="N0",
    style=ChartStyle("#8f7ae0", "dashdot", "triangle-down"),
    value="GPU-seconds attained",
)
