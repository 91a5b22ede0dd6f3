"""From a scenario to a training system: nodes, jobs, rates, prices, and notes on what was assumed."""

from __future__ import annotations

from nona.allocation.policies.problem import EntityShare
from nona.errors import ScenarioError
from nona.scenario.schema import Scenario
from nona.scenario.training import TrainingSpec
from nona.sources.lookup import Sources
from nona.study.training.cluster import training_cluster, training_devices
from nona.study.training.extension_notes import extension_notes
from nona.study.training.inference import enter_inference
from nona.study.training.jobs import given_jobs
from nona.study.training.modelled import ModelledRates
from nona.study.training.rates import RateBook, base_table
from nona.training.model.cluster import TrainingCluster
from nona.training.model.job import Job
from nona.training.model.system import TrainingSystem
from nona.training.regions.system import with_regions
from nona.training.workload.step_time import STACK
from nona.training.workload.table import GAVEL, MODELLED

OWN_RATES = "Throughputs are those that the jobs give."
_NO_SOURCES = Sources()


def prepare_training(
    scenario: Scenario, sources: Sources = _NO_SOURCES, replication: int = 0
) -> TrainingSystem:
    """Read or draw the jobs of a scenario and find their rates on its cluster.

    Another ``replication`` draws other jobs from the generator; jobs that are given stay the same.

    Raises
    ------
    NonaError
        When the scenario has no training part, a file cannot be read, or jobs can run nowhere.

    Examples
    --------
    >>> from nona.scenario.file import parse_scenario
    >>> jobs = "[{name: a, model: A3C, steps: 100}]"
    >>> text = f"{{cluster: {{servers: [{{gpu: v100, gpus: 4}}]}}, training: {{jobs: {jobs}}}}}"
    >>> system = prepare_training(parse_scenario(text))
    >>> system.cluster.gpus, round(system.throughputs.rate("v100", system.jobs[0].model, 1), 2)
    ({'v100': 4}, 7.18)
    """
    spec = training_part(scenario)
    sources.check(scenario)
    cluster = training_cluster(scenario, spec)
    modelled = ModelledRates(scenario, sources, training_devices(scenario), cluster)
    table = base_table(spec, sources, modelled)
    book = RateBook(table, modelled, cluster)
    jobs: list[Job] = []
    listed = given_jobs(scenario, spec, sources, table, cluster.gpus, replication)
    own = all(given.rates for given in listed if given.job.kind == "training")
    notes = [OWN_RATES if own else _source_note(scenario, spec), *_price_notes(cluster)]
    for given in listed:
        if given.job.kind != "inference":
            jobs.append(book.enter(given))
        elif (served := enter_inference(given, book)) is not None:
            jobs += served.jobs
            notes.append(served.note)
    book.check()
    notes += extension_notes(spec, jobs)
    system = TrainingSystem(
        cluster=cluster,
        jobs=tuple(jobs),
        throughputs=book.throughputs,
        entities=_entities(spec, jobs),
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
    )
    return with_regions(system)


def training_part(scenario: Scenario) -> TrainingSpec:
    """The training part of a scenario, whose jobs keep the GPUs that they ask for.

    Raises
    ------
    ScenarioError
        When it has none, or its jobs are elastic.
    """
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


def _entities(spec: TrainingSpec, jobs: list[Job]) -> tuple[EntityShare, ...]:
    """The teams that the scenario lists, then those that only jobs name, with weight 1."""
    listed = [EntityShare(name, e.weight, e.policy) for name, e in spec.entities.items()]
    named = dict.fromkeys(job.entity for job in jobs if job.entity and job.entity not in spec.entities)
    return (*listed, *(EntityShare(name) for name in named))


def _source_note(scenario: Scenario, spec: TrainingSpec) -> str:
    if spec.throughputs == GAVEL:
        return "Throughputs were measured on K80, P100 and V100 (Gavel, OSDI 2020)."
    if spec.throughputs == MODELLED:
        precision = scenario.cost.precision
        width = "each model's own precision" if precision == "model" else precision
        return f"Throughputs are modelled by the cost layer ({STACK}, {width}) and calibrated on nothing."
    return f"Throughputs are as given in {spec.throughputs}."


def _price_notes(cluster: TrainingCluster) -> list[str]:
    free = [gpu for gpu in cluster.types if not cluster.prices.get(gpu)]
    return [f"GPUs without a price cost nothing here: {', '.join(free)}."] if free else []
