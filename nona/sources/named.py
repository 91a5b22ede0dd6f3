"""Which files a scenario names: models, traces, tables of times and rates, profiles, traffic by hour."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from nona.scenario.schema import Scenario
from nona.scenario.serverless import ServerlessSpec
from nona.scenario.training import TrainingJobSpec, TrainingSpec
from nona.scenario.training_elastic import ElasticSpec
from nona.sources.samples import sample_names
from nona.training.workload.model_names import batch_of, with_batch
from nona.training.workload.table import MODELLED, TABLES

Kind = Literal["model", "trace", "measured", "times", "throughputs", "profile", "elastic"]
KINDS: tuple[Kind, ...] = ("model", "trace", "measured", "times", "throughputs", "profile", "elastic")


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that stands at ``place`` in a scenario."""

    place: str
    name: str
    kind: Kind


def named_files(scenario: Scenario) -> Iterator[NamedFile]:
    """Every place that names a file, in the order of the scenario.

    Models that are samples, or held by the scenario itself, are no files.
    """
    for i, row in enumerate(scenario.workload):
        if is_file(scenario, row.model):
            yield NamedFile(f"workload[{i}].model", row.model, "model")
        if row.arrivals.trace:
            yield NamedFile(f"workload[{i}].arrivals.trace", row.arrivals.trace, "trace")
    if scenario.cost.measured:
        yield NamedFile("cost.measured", scenario.cost.measured, "measured")
    for name, function in (scenario.serverless.functions if scenario.serverless else {}).items():
        if function.profile is not None:
            yield NamedFile(f"serverless.functions.{name}.profile", function.profile, "times")
    if scenario.training is not None:
        yield from _training_files(scenario, scenario.training)
    if scenario.plan is not None and scenario.plan.profile:
        yield NamedFile("plan.profile", scenario.plan.profile, "profile")


def _training_files(scenario: Scenario, training: TrainingSpec) -> Iterator[NamedFile]:
    if training.trace is not None:
        yield NamedFile("training.trace", training.trace, "trace")
    for i, job in enumerate(training.jobs):
        if (model := _costed_model(training, job)) and is_file(scenario, model):
            yield NamedFile(f"training.jobs[{i}].model", model, "model")
    if training.throughputs not in TABLES:
        yield NamedFile("training.throughputs", training.throughputs, "throughputs")
    yield from _elastic_files(training.elastic)


def _elastic_files(elastic: ElasticSpec | None) -> Iterator[NamedFile]:
    """The workload and the profiles of elastic jobs."""
    if elastic is None:
        return
    if not elastic.shipped:
        yield NamedFile("training.elastic.workload", elastic.workload, "elastic")
    for key, name in elastic.profiles or ():
        yield NamedFile(f"training.elastic.profiles.{key}", name, "elastic")


def _costed_model(training: TrainingSpec, job: TrainingJobSpec) -> str:
    """The model of a job that the cost layer times, without batch size; "" where a table has its rates."""
    if job.model is None or job.throughputs or job.kind == "interactive":
        return ""
    return batch_of(job.model)[0] if job.kind == "inference" or training.throughputs == MODELLED else ""


def is_file(scenario: Scenario, model: str) -> bool:
    """Whether a model is to be read from a file."""
    return model not in scenario.models and model not in sample_names()


def file_names(scenario: Scenario, *kinds: Kind) -> list[str]:
    """The names of the files of these kinds, or of all, each once, one kind after the other."""
    found = sorted(named_files(scenario), key=lambda file: KINDS.index(file.kind))
    return list(dict.fromkeys(file.name for file in found if not kinds or file.kind in kinds))


def with_files_renamed(scenario: Scenario, renamed: Callable[[str], str]) -> Scenario:
    """The scenario with another name in every place that names a file; rows keep their labels.

    The label is what random streams are named after: with another one the arrivals would differ.
    """
    rows = []
    for row in scenario.workload:
        arrivals = row.arrivals
        if arrivals.trace:
            arrivals = arrivals.model_copy(update={"trace": renamed(arrivals.trace)})
        model = renamed(row.model) if is_file(scenario, row.model) else row.model
        same = row.model_copy(update={"model": model, "arrivals": arrivals})
        rows.append(same if same.label == row.label else same.model_copy(update={"name": row.label}))
    cost = scenario.cost
    if cost.measured:
        cost = cost.model_copy(update={"measured": renamed(cost.measured)})
    training = scenario.training and _training_renamed(scenario, scenario.training, renamed)
    plan = scenario.plan
    if plan is not None and plan.profile:
        plan = plan.model_copy(update={"profile": renamed(plan.profile)})
    serverless = scenario.serverless and _profiles_renamed(scenario.serverless, renamed)
    update = {
        "workload": tuple(rows),
        "cost": cost,
        "training": training,
        "plan": plan,
        "serverless": serverless,
    }
    return scenario.model_copy(update=update)


def _profiles_renamed(serverless: ServerlessSpec, renamed: Callable[[str], str]) -> ServerlessSpec:
    functions = {
        name: f.model_copy(update={"profile": renamed(f.profile)}) if f.profile is not None else f
        for name, f in serverless.functions.items()
    }
    return serverless.model_copy(update={"functions": functions})


def _training_renamed(
    scenario: Scenario, training: TrainingSpec, renamed: Callable[[str], str]
) -> TrainingSpec:
    jobs = []
    for job in training.jobs:
        model = _costed_model(training, job)
        if model and is_file(scenario, model):
            batch = batch_of(job.model or "")[1]
            job = job.model_copy(update={"model": with_batch(renamed(model), batch)})
        jobs.append(job)
    table = training.throughputs
    return training.model_copy(
        update={
            "trace": None if training.trace is None else renamed(training.trace),
            "jobs": tuple(jobs),
            "throughputs": table if table in TABLES else renamed(table),
            "elastic": training.elastic and _elastic_renamed(training.elastic, renamed),
        }
    )


def _elastic_renamed(elastic: ElasticSpec, renamed: Callable[[str], str]) -> ElasticSpec:
    profiles = elastic.profiles
    if profiles is not None:
        profiles = profiles.model_copy(update={key: renamed(name) for key, name in profiles})
    workload = elastic.workload if elastic.shipped else renamed(elastic.workload)
    return elastic.model_copy(update={"workload": workload, "profiles": profiles})
