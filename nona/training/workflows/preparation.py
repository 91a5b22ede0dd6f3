"""From a scenario to a training system: nodes, prices, inference jobs, notes, a trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from nona.allocation.problem import EntityShare
from nona.cluster.hardware.device import Device, find_device, user_devices
from nona.cluster.prices import prices_of
from nona.core.errors import NonaError, ScenarioError
from nona.core.units import format_number, format_time
from nona.models.cost.options import AS_IN_FILE
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario
from nona.scenario.training import GAVEL, MODELLED, TrainingSpec
from nona.training.generated_jobs import MOST_LOAD, SLO_SHARE, choose_replicas, generate, replica_capacity
from nona.training.job_files import TraceJob, is_trace, read_trace, reference_rate, write_trace
from nona.training.moves import checkpoint_bytes
from nona.training.regions import with_regions
from nona.training.system import NodeGroup, Throughputs, TrainingCluster, TrainingJob, TrainingSystem
from nona.training.throughput_table import STACK
from nona.training.workflows import rates


def _training_cluster(scenario: Scenario, spec: TrainingSpec) -> TrainingCluster:
    """Return a node for every server, with its GPUs, its region and the prices of its types."""
    servers = scenario.cluster.servers
    problems = [line for i, group in enumerate(servers) for line in _divided(i, group)]
    region = {}
    for name, numbers in (spec.regions.groups if spec.regions else {}).items():
        region.update(dict.fromkeys(numbers, name))
    problems += [
        f"training.regions.groups.{name}: there is no server group {number}; use 0 to {len(servers) - 1}."
        for number, name in region.items()
        if number >= len(servers)
    ]
    if region and (left := [i for i in range(len(servers)) if i not in region]):
        problems.append(f"training.regions.groups: server group {left[0]} is in no region; add it to one.")
    if problems:
        raise ScenarioError(problems)
    groups = tuple(NodeGroup(g.gpu, g.count, g.gpus, region.get(i, "")) for i, g in enumerate(servers))
    return TrainingCluster(groups, prices_of(dict.fromkeys(g.gpu for g in groups), spec.prices))


def _training_devices(scenario: Scenario) -> dict[str, Device]:
    own = user_devices(scenario.cluster.devices)
    return {g.gpu: find_device(g.gpu, own) for g in scenario.cluster.servers}


def _divided(number: int, group: ServerGroupSpec) -> list[str]:
    keys = [key for key in ("mig", "mps") if getattr(group, key) is not None]
    return [
        f"cluster.servers[{number}].{key}: {getattr(group, key)!r} divides a GPU, but training jobs take "
        "whole ones; remove it (training.space_sharing lets two jobs share a GPU)."
        for key in keys
    ]


def _extension_notes(spec: TrainingSpec, jobs: Sequence[TrainingJob]) -> list[str]:
    notes = []
    if spec.moves is not None or spec.regions is not None:
        training = [j for j in jobs if j.kind == "training"]
        by_model = sum(j.checkpoint_bytes <= 0 < checkpoint_bytes(j) for j in training)
        unknown = sum(checkpoint_bytes(j) <= 0 for j in training)
        if by_model:
            notes.append(
                f"Checkpoint sizes of {by_model} jobs are those of their models (weights and optimiser "
                "state, 4 bytes each; recollected or assumed)."
            )
        if unknown:
            notes.append(f"{unknown} jobs have no checkpoint size: their moves cost the warm-up only.")
    if spec.failures is not None:
        notes.append("Nodes fail after exponential times and are back at once; jobs restart where they were.")
    if spec.estimates is not None:
        notes.append("Claimed rates are the true ones times log-normal factors, an assumption.")
    if spec.regions is not None:
        notes.append("The planner of moves assumes that the jobs of a region share it equally.")
    return notes


@dataclass(frozen=True, slots=True)
class InferenceJobs:
    """The jobs that an inference job becomes, one per type of GPU, and what to say about them."""

    jobs: tuple[TrainingJob, ...]
    note: str


def _enter_inference(given: rates.GivenJob, book: rates.RateBook) -> InferenceJobs | None:
    """Return the job's replicas on the cheapest GPUs that serve its rate.

    ``None`` with a problem where none do.

    A job becomes one job per type of GPU in use, each with its replicas and its part of the queries. Servers
    have GPUs of one type, so that replicas of two types never share one. μ of a replica is what the job gives
    in ``throughputs``, or what the cost layer says of its model.
    """
    job, servers = given.job, {g: len(nodes) for g, nodes in book.cluster.nodes.items()}
    try:
        speed = _queries_per_s(given, book)
    except NonaError as error:
        book.problems.append(f"{given.place}: {error}")
        return None
    capacity = {gpu: replica_capacity(mu, job.latency_slo_s) for gpu, mu in speed.items()}
    chosen = choose_replicas(job.rate, job.workers, capacity, servers, book.cluster.prices)
    if chosen is None:
        book.problems.append(f"{given.place}: {_refusal(job, speed, capacity, servers)}")
        return None
    total = sum(capacity[gpu] * count for gpu, count in chosen.items())
    jobs = []
    for gpu, count in chosen.items():
        name = job.name if len(chosen) == 1 else f"{job.name} on {gpu}"
        part = job.rate * capacity[gpu] * count / total
        job_on_gpu = replace(job, name=name, workers=count, rate=part)
        jobs.append(book.hold(job_on_gpu, gpu))
    return InferenceJobs(tuple(jobs), _note(job, chosen, speed))


def _queries_per_s(given: rates.GivenJob, book: rates.RateBook) -> dict[str, float]:
    """μ, queries per second of a replica, by GPU."""
    types = book.cluster.types
    if given.rates:
        return {gpu: given.rates.get(gpu, 0.0) for gpu in types}
    return {gpu: book.modelled.queries_per_s(gpu, given.job.model) for gpu in types}


def _refusal(
    job: TrainingJob, speed: Mapping[str, float], capacity: Mapping[str, float], servers: Mapping[str, int]
) -> str:
    if job.rate <= 0:
        return "rate must be above 0; give the queries per second."
    if job.workers > sum(servers[gpu] for gpu, mu in speed.items() if mu > 0):
        return (
            f"workers={job.workers} replicas need as many servers that can serve it; add servers or lower it."
        )
    fastest = max(speed, key=lambda gpu: speed[gpu])
    if max(capacity.values()) <= 0:
        return (
            f"latency_slo={job.latency_slo_s:g} s cannot be kept: a query takes "
            f"{format_number(1 / max(speed[fastest], 1e-12))} s on {fastest} without any wait; raise it."
        )
    return (
        f"{job.workers} replicas cannot serve {job.rate:g} queries/s: one on {fastest} may get "
        f"{format_number(capacity[fastest])} queries/s; raise workers, lower rate, or add faster GPUs."
    )


def _note(job: TrainingJob, chosen: Mapping[str, int], speed: Mapping[str, float]) -> str:
    replicas = ", ".join(
        f"{count} × {gpu} ({format_number(speed[gpu])} queries/s each)" for gpu, count in chosen.items()
    )
    left = sum(speed[gpu] * count for gpu, count in chosen.items()) - max(speed[gpu] for gpu in chosen)
    without = "still" if left >= job.rate else "not"
    limit = "" if job.latency_slo_s is None else format_time(job.latency_slo_s)
    slo = limit and f", {100 * SLO_SHARE:.0f} % of queries within {limit}"
    return (
        f"{job.name}: {job.rate:g} queries/s on {replicas}, at most {100 * MOST_LOAD:.0f} % busy{slo}; "
        f"without one server it could {without} serve them all."
    )


OWN_RATES = "The jobs state their throughputs."
_NO_SOURCES = Sources()


def prepare_training(
    scenario: Scenario, sources: Sources = _NO_SOURCES, replication: int = 0
) -> TrainingSystem:
    """Read or draw the jobs of a scenario and find their rates on its cluster.

    Another ``replication`` draws other jobs from the generator; jobs that are given stay the same.

    Raises ``NonaError`` when the scenario has no training part, a file cannot be read, or jobs can run
    nowhere.

    >>> from nona.scenario.file import parse_scenario
    >>> jobs = "[{name: a, model: A3C, steps: 100}]"
    >>> text = f"{{cluster: {{servers: [{{gpu: v100, gpus: 4}}]}}, training: {{jobs: {jobs}}}}}"
    >>> system = prepare_training(parse_scenario(text))
    >>> system.cluster.gpus, round(system.throughputs.rate("v100", system.jobs[0].model, 1), 2)
    ({'v100': 4}, 7.18)
    """
    spec = training_part(scenario)
    sources.check(scenario)
    cluster = _training_cluster(scenario, spec)
    modelled = rates.ModelledRates(scenario, sources, _training_devices(scenario), cluster)
    table = rates.base_table(spec, sources, modelled)
    every, carried_from = rates.with_all_types(table, modelled)
    book = rates.RateBook(every, modelled, cluster)
    jobs: list[TrainingJob] = []
    listed = rates.given_jobs(
        scenario, spec, sources, rates.drawn_from(table, modelled), cluster.gpus, replication
    )
    own = all(given.rates for given in listed if given.job.kind == "training")
    notes = [OWN_RATES if own else _source_note(scenario, spec), *_price_notes(cluster)]
    if not own:
        notes += _carried_notes(every, carried_from, cluster)
    for given in listed:
        if given.job.kind != "inference":
            jobs.append(book.enter(given))
        elif (served := _enter_inference(given, book)) is not None:
            jobs += served.jobs
            notes.append(served.note)
    book.check()
    notes += _extension_notes(spec, jobs)
    system = TrainingSystem(
        cluster=cluster,
        jobs=tuple(jobs),
        throughputs=book.throughputs,
        entities=tuple(EntityShare(name, e.weight, e.policy) for name, e in spec.entities.items()),
        round_s=spec.round,
        reallocation_s=spec.reallocation,
        measured=spec.generate.measured if spec.generate else None,
        seed=scenario.seed,
        space_sharing=spec.space_sharing,
        estimator=spec.estimator,
        estimates=spec.estimates,
        moves=spec.moves,
        failures=spec.failures,
        regions=spec.regions,
        notes=tuple(notes),
        modelled=() if own else tuple(carried_from),
    )
    return with_regions(system)


def training_part(scenario: Scenario) -> TrainingSpec:
    """Return the training part of a scenario, whose jobs keep the GPUs that they ask for."""
    if scenario.training is None:
        raise ScenarioError(
            ["training: is missing; add for example the key 'training: {generate: {jobs: 60}}'."]
        )
    if scenario.training.elastic is not None:
        raise ScenarioError(
            [
                "training.elastic: these jobs have policies and a simulation of their own; use "
                "`nona training elastic` with this scenario, or page Training."
            ]
        )
    return scenario.training


def _source_note(scenario: Scenario, spec: TrainingSpec) -> str:
    if spec.throughputs == GAVEL:
        return "Throughputs were measured on K80, P100 and V100 (Gavel, OSDI 2020)."
    if spec.throughputs == MODELLED:
        precision = scenario.cost.precision
        width = "each model's own precision" if precision in AS_IN_FILE else precision
        return f"Throughputs are modelled by the cost layer ({STACK}, {width}), not calibrated."
    return f"Throughputs are as given in {spec.throughputs}."


def _carried_notes(
    table: Throughputs, carried_from: Mapping[str, str], cluster: TrainingCluster
) -> list[str]:
    """Name the types whose rates are modelled, and those without rates."""
    notes = [
        f"Rates on {gpu} are modelled: rates on {source} times the cost layer's ratio of both GPUs; "
        "training.throughputs takes a table of measured ones."
        for gpu, source in carried_from.items()
    ]
    empty = [gpu for gpu in cluster.types if gpu not in table.provenance]
    if empty:
        notes.append(
            f"No rate is known on {', '.join(empty)}: no job of the table runs there; give them in the table."
        )
    return notes


def _price_notes(cluster: TrainingCluster) -> list[str]:
    free = [gpu for gpu in cluster.types if not cluster.prices.get(gpu)]
    return [f"GPUs without a price cost nothing here: {', '.join(free)}."] if free else []


def has_trace(spec: TrainingSpec) -> bool:
    """Return whether a trace can have some job of the scenario: a training job without rates of its own."""
    listed = any(job.kind == "training" and not job.throughputs for job in spec.jobs)
    return spec.trace is not None or spec.generate is not None or listed


def job_trace(scenario: Scenario, sources: Sources = _NO_SOURCES) -> str:
    r"""Return the text of a trace with the training jobs of the first replication, by arrival.

    What a line cannot say is left out: names, teams, regions, checkpoint sizes, notebooks, inference, jobs
    with rates of their own, and jobs with a deadline that no rate of the table measures.

    >>> from nona.scenario.file import parse_scenario
    >>> jobs = "[{name: a, model: A3C, steps: 100, arrival: 5 s}]"
    >>> job_trace(parse_scenario(f"{{cluster: {{servers: [{{gpu: v100}}]}}, training: {{jobs: {jobs}}}}}"))
    'A3C\t-\t-\t-\t0\t100\t1\t1\t-1\t5\n'
    """
    spec = training_part(scenario)
    if spec.trace is not None and is_trace(spec.trace):
        return write_trace(read_trace(sources.read(spec.trace), PurePath(spec.trace).name))
    cluster = _training_cluster(scenario, spec)
    modelled = rates.ModelledRates(scenario, sources, _training_devices(scenario), cluster)
    table = rates.drawn_from(rates.base_table(spec, sources, modelled), modelled)
    if spec.generate is not None:
        return write_trace(generate(spec.generate, table, scenario.seed, 0, cluster.gpus))
    given = rates.given_jobs(scenario, spec, sources, table, cluster.gpus, 0)
    lines = [line for each in given if (line := _trace_job(each, table)) is not None]
    return write_trace(sorted(lines, key=lambda line: line.arrival_s))


def _trace_job(given: rates.GivenJob, table: Throughputs) -> TraceJob | None:
    """Return the job's line; none where a trace cannot hold it. SLO: deadline · rate on a V100 / steps."""
    job = given.job
    rate = reference_rate(table, job.model, job.workers)
    if job.kind != "training" or given.rates or (job.slo_s is not None and rate <= 0):
        return None
    factor = None if job.slo_s is None else job.slo_s * rate / job.steps
    return TraceJob(job.model, job.steps, job.workers, job.weight, factor, job.arrival_s)
