"""How long a job would take alone, on the GPUs that its user asks for."""

from __future__ import annotations

from nona.training.elastic.model.system import Cluster, ElasticJob
from nona.training.elastic.policies.placing import compact


def alone_s(cluster: Cluster, job: ElasticJob, epoch: int = 0) -> float:
    """Seconds left from an epoch on: remaining iterations times those of a step on as few nodes as possible.

    Both are as measured, so this is an oracle; iterations count by whole epochs.
    """
    return step_alone_s(cluster, job) * job.application.remaining_iterations(job.batch, epoch)


def step_alone_s(cluster: Cluster, job: ElasticJob) -> float:
    """Seconds of a step on as few nodes as possible."""
    split = job.application.batches.split(job.batch, job.gpus)
    return job.application.step(compact(cluster, job.gpus), split)[0]
