"""The training jobs of a scenario as a trace in Gavel's format."""

from __future__ import annotations

from pathlib import PurePath

from nona.scenario.schema import Scenario
from nona.scenario.training import TrainingSpec
from nona.sources.lookup import Sources
from nona.study.training.cluster import training_cluster, training_devices
from nona.study.training.jobs import GivenJob, generation, given_jobs
from nona.study.training.modelled import ModelledRates
from nona.study.training.preparation import training_part
from nona.study.training.rates import base_table
from nona.training.model.throughputs import Throughputs
from nona.training.workload.generator import generate
from nona.training.workload.trace import TraceJob, is_trace, read_trace, reference_rate, write_trace

_NO_SOURCES = Sources()


def has_trace(spec: TrainingSpec) -> bool:
    """Whether some job of the scenario can stand in a trace: a training job without rates of its own."""
    listed = any(job.kind == "training" and not job.throughputs for job in spec.jobs)
    return spec.trace is not None or spec.generate is not None or listed


def job_trace(scenario: Scenario, sources: Sources = _NO_SOURCES) -> str:
    """The text of a trace with the training jobs of the first replication, by arrival.

    What a line cannot say is left out: names, teams, regions, checkpoint sizes, notebooks, inference, jobs
    with rates of their own, and jobs with a deadline that no rate of the table measures.

    Raises
    ------
    NonaError
        When the scenario has no training part, or its files cannot be read.

    Examples
    --------
    >>> from nona.scenario.file import parse_scenario
    >>> jobs = "[{name: a, model: A3C, steps: 100, arrival: 5 s}]"
    >>> job_trace(parse_scenario(f"{{cluster: {{servers: [{{gpu: v100}}]}}, training: {{jobs: {jobs}}}}}"))
    'A3C\\t-\\t-\\t-\\t0\\t100\\t1\\t1\\t-1\\t5\\n'
    """
    spec = training_part(scenario)
    if spec.trace is not None and is_trace(spec.trace):
        return write_trace(read_trace(sources.read(spec.trace), PurePath(spec.trace).name))
    cluster = training_cluster(scenario, spec)
    table = base_table(spec, sources, ModelledRates(scenario, sources, training_devices(scenario), cluster))
    if spec.generate is not None:
        return write_trace(generate(generation(spec.generate), table, scenario.seed, 0, cluster.gpus))
    given = given_jobs(scenario, spec, sources, table, cluster.gpus, 0)
    lines = [line for each in given if (line := _line(each, table)) is not None]
    return write_trace(sorted(lines, key=lambda line: line.arrival_s))


def _line(given: GivenJob, table: Throughputs) -> TraceJob | None:
    """The job's line; none where a trace cannot hold it. SLO: deadline · rate on a V100 / steps."""
    job = given.job
    rate = reference_rate(table, job.model, job.workers)
    if job.kind != "training" or given.rates or (job.slo_s is not None and rate <= 0):
        return None
    factor = None if job.slo_s is None else job.slo_s * rate / job.steps
    return TraceJob(job.model, job.steps, job.workers, job.weight, factor, job.arrival_s)
