"""Finish-time fairness of elastic jobs: JCT over the JCT on an equal share of the cluster."""

from __future__ import annotations

import numpy as np

from nona.errors import SimulationError
from nona.training.elastic.model.system import ElasticJob, ElasticSystem
from nona.training.elastic.policies.placing import compact
from nona.training.elastic.records.run import ElasticRecords


def fairness(system: ElasticSystem, records: ElasticRecords) -> list[float | None]:
    """ρ of each job; ``None`` where profiles do not say how fast it is on its share.

    ρ = JCT / T_share. The share is ⌊GPUs / mean number of jobs that were there with it⌋, at least 1, at most
    what the job's batch can use; T_share: one restart, then all epochs on these GPUs alone, on as few nodes
    as possible, with the user's batch size.

    Source: Mahajan et al., Themis, NSDI 2020, section 3 (recollected); the share as whole GPUs is ours.
    """
    there = (records.running + records.waiting).astype(float)
    known: dict[tuple[str, int, int], float | None] = {}
    found: list[float | None] = []
    for n, job in enumerate(system.jobs):
        arrival_s, completion_s = records.arrival_s[n], records.completion_s[n]
        within = (records.tick_s >= arrival_s) & (records.tick_s < completion_s)
        others = float(there[within].mean()) if within.any() else 1.0
        share = int(system.cluster.size / max(others, 1.0))
        gpus = max(1, min(share, job.application.most_at(job.batch)))
        key = (job.application.name, job.batch, gpus)
        if key not in known:
            known[key] = _alone_s(system, job, gpus)
        alone_s = known[key]
        found.append(None if alone_s is None else float(completion_s - arrival_s) / alone_s)
    return found


def _alone_s(system: ElasticSystem, job: ElasticJob, gpus: int) -> float | None:
    """Seconds of all epochs on so many GPUs, a restart included."""
    application, counts = job.application, compact(system.cluster, gpus)
    split = application.batches.split(job.batch, gpus)
    steps = np.diff(application.ends, prepend=0.0)
    try:
        rates = [application.rate(counts, split, epoch) for epoch in range(application.epochs)]
    except SimulationError:
        return None
    return system.restart_s + float((steps / np.array(rates)).sum())
