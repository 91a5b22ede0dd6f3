"""The jobs of a scenario: from its trace, its generator or its own list."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from nona.scenario.schema import Scenario
from nona.scenario.training import GenerateSpec, TrainingJobSpec, TrainingSpec
from nona.sources.lookup import Sources
from nona.training.model.job import Job
from nona.training.model.throughputs import Throughputs
from nona.training.workload.generator import Generation, generate
from nona.training.workload.job_table import read_job_table
from nona.training.workload.trace import is_trace, read_trace, trace_jobs


@dataclass(frozen=True, slots=True)
class GivenJob:
    """A job as it is given: ``rates`` by GPU if it has its own; ``place`` is where a user reads of it."""

    job: Job
    place: str
    rates: Mapping[str, float] = field(default_factory=dict)


def given_jobs(
    scenario: Scenario,
    spec: TrainingSpec,
    sources: Sources,
    table: Throughputs,
    gpus: Mapping[str, int],
    replication: int,
) -> tuple[GivenJob, ...]:
    """The jobs in order of arrival. Another ``replication`` draws others; jobs that are given stay the same.

    ``gpus`` of each type bound what is drawn.

    Raises
    ------
    NonaError
        When the trace cannot be read: all that is wrong with it.
    """
    if spec.trace is not None:
        name = PurePath(spec.trace).name
        data = sources.read(spec.trace)
        jobs = (
            trace_jobs(read_trace(data, name), table, name) if is_trace(name) else read_job_table(data, name)
        )
        return tuple(GivenJob(job, f"Trace {name!r}, job {job.name!r}") for job in jobs)
    if spec.generate is not None:
        drawn = generate(generation(spec.generate), table, scenario.seed, replication, gpus)
        return tuple(GivenJob(j, f"training.generate, job {j.name}") for j in trace_jobs(drawn, table))
    listed = [
        GivenJob(_listed(job), f"training.jobs[{i}]", job.throughputs) for i, job in enumerate(spec.jobs)
    ]
    return tuple(sorted(listed, key=lambda given: given.job.arrival_s))


def generation(spec: GenerateSpec) -> Generation:
    """What the generator is asked for."""
    return Generation(spec.jobs, spec.mean_gap, spec.multi_gpu, spec.weights, spec.slos)


def _listed(job: TrainingJobSpec) -> Job:
    return Job(
        name=job.name,
        model=job.model or job.name,
        steps=job.steps,
        workers=job.workers,
        weight=job.weight,
        slo_s=job.slo,
        arrival_s=job.arrival,
        entity=job.entity,
        kind=job.kind,
        rate=job.rate or 0.0,
        latency_slo_s=job.latency_slo,
        checkpoint_bytes=job.checkpoint,
        region=job.region,
    )
