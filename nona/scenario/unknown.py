"""Names in a scenario that stand for nothing, and what to write instead.

They are looked for in what the file holds, so that they are listed together with what breaks the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from nona.cluster.hardware.cluster import MOST_EXECUTORS, ServerGroup
from nona.cluster.hardware.device import Device, devices, user_devices
from nona.core.errors import NonaError, suggestion
from nona.core.family import families
from nona.core.registry import Strategy, load
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.lookup import Sources, is_config
from nona.scenario.plan import offer_entry
from nona.scenario.sample_files import sample_names
from nona.scenario.training import GAVEL, MODELLED, TABLES, batch_of
from nona.scenario.values import named_entry

MOST, MOST_JOBS = 500, 10_000  # entries of a list that are looked at


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object, most: int = MOST) -> list[Any]:
    """Return the first entries of a list; none of what is no list."""
    return list(value)[:most] if isinstance(value, list | tuple) else []


def unknown_names(data: Mapping[str, Any]) -> list[str]:
    """One line for each device, layout, scheduler, policy, option or sample that is not known.

    >>> unknown_names({"schedulers": ["nona", "nonna"]})[0][:42]
    "schedulers[1]: Scheduler 'nonna' is not kn"
    """
    of_families = [
        line
        for family in families()
        if family.unknown and any(data.get(key) for key in family.keys)
        for line in load(family.unknown)(data)
    ]
    return [*_cluster(mapping(data.get("cluster"))), *_samples(data), *_offers(data), *of_families]


def unknown_strategies(
    place: str,
    named: object,
    find: Callable[[str], Strategy],
    others: Collection[str] = (),
    most: int = MOST,
) -> Iterator[str]:
    """Yield one line for each strategy of a list that ``find`` does not know, or whose options are wrong.

    Parameters
    ----------
    place
        Where the list stands in the scenario.
    named
        The list: names, or mappings from a name to its options.
    find
        Returns a strategy by its name, and raises ``NonaError`` for another name.
    others
        Names in the list that are of another kind.
    most
        Entries that are looked at.
    """
    for i, entry in enumerate(entries(named, most)):
        chosen = mapping(named_entry(entry))
        name = chosen.get("name")
        try:
            if isinstance(name, str) and name not in others:
                find(name).chosen(mapping(chosen.get("options")))
        except NonaError as error:
            yield f"{place}[{i}]: {error}"


def known_gpus(data: Mapping[str, Any]) -> Collection[str]:
    """Return the devices of the catalogue and the scenario's own."""
    return {*devices(), *map(str, mapping(mapping(data.get("cluster")).get("devices")))}


def costed_model(job: Mapping[str, Any], table: object, models: Mapping[str, Any]) -> str:
    """Return the model that the cost layer must time, if it is neither a sample nor inside the scenario.

    Parameters
    ----------
    job
        An entry of ``training.jobs``.
    table
        ``training.throughputs``.
    models
        The models inside the scenario.
    """
    name, kind = job.get("model"), job.get("kind", "training")
    if not isinstance(name, str) or job.get("throughputs") or kind == "interactive":
        return ""
    model = batch_of(name)[0]
    there = model in models or model in sample_names()
    return "" if there or (kind != "inference" and table != MODELLED) else model


def _training_files(training: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and name of each file that the training part names."""
    if isinstance(trace := training.get("trace"), str):
        yield "training.trace", trace
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and PurePath(table).suffix:
        yield "training.throughputs", table
    for i, entry in enumerate(entries(training.get("jobs"), MOST_JOBS)):
        model = costed_model(mapping(entry), table, models)
        if model and PurePath(model).suffix:
            yield f"training.jobs[{i}].model", model


def missing_files(data: Mapping[str, Any], sources: Sources) -> list[str]:
    """One line for each file that a scenario names and that ``sources`` does not have."""
    return [line for file in _files(data) for line in sources.missing(file.place, file.name)]


@dataclass(frozen=True, slots=True)
class _Named:
    place: str
    name: str


def _cluster(cluster: Mapping[str, Any]) -> Iterator[str]:
    own: dict[str, Device] = {}
    for name, attributes in mapping(cluster.get("devices")).items():
        try:
            own |= user_devices({str(name): mapping(attributes)})
        except NonaError as error:
            yield f"cluster.devices: {error}"
            own[str(name)] = next(iter(devices().values()))  # what names it is not wrong as well
    by_name = {**devices(), **own}
    executors = 0
    for i, group in enumerate(entries(cluster.get("servers"))):
        gpu = mapping(group).get("gpu", ServerGroupSpec().gpu)
        place = f"cluster.servers[{i}]"
        if isinstance(gpu, str) and gpu not in by_name:
            known = suggestion(gpu, by_name)
            yield f"{place}.gpu: {gpu[:60]!r} is not a known device; {known}, or define it."
            continue
        try:
            g = ServerGroupSpec.model_validate(group)
            gpus = ServerGroup(1, g.gpu, g.gpus, g.vcpus, g.mig, g.mps).classes(by_name[g.gpu])
            executors += g.count * sum(map(len, gpus))
        except ValidationError:  # the schema says so itself
            continue
        except NonaError as error:
            yield f"{place}: {error}"
    if executors > MOST_EXECUTORS:
        yield (
            f"cluster.servers: {executors:,} executors are more than {MOST_EXECUTORS:,}; give fewer servers "
            "or slices."
        )


def _offers(data: Mapping[str, Any]) -> Iterator[str]:
    choices = known_gpus(data)
    for i, offer in enumerate(entries(mapping(data.get("plan")).get("offers"))):
        gpu = mapping(offer_entry(offer)).get("gpu")
        if isinstance(gpu, str) and gpu not in choices:
            yield f"plan.offers[{i}]: {gpu[:60]!r} is not a known device; {suggestion(gpu, choices)}."


def _samples(data: Mapping[str, Any]) -> Iterator[str]:
    for model in _models(data):
        if PurePath(model.name).suffix == "":
            yield (
                f"{model.place}: {model.name[:60]!r} is no sample and has no file extension; "
                f"{suggestion(model.name, sample_names())}, or name a file."
            )


def _models(data: Mapping[str, Any]) -> Iterator[_Named]:
    inside = mapping(data.get("models"))
    for i, row in enumerate(entries(data.get("workload"))):
        name = mapping(row).get("model")
        if isinstance(name, str) and name not in inside and name not in sample_names():
            yield _Named(f"workload[{i}].model", name)


def _files(data: Mapping[str, Any]) -> Iterator[_Named]:
    yield from (model for model in _models(data) if PurePath(model.name).suffix)
    for i, row in enumerate(entries(data.get("workload"))):
        trace = mapping(mapping(row).get("arrivals")).get("trace")
        if isinstance(trace, str):
            yield _Named(f"workload[{i}].arrivals.trace", trace)
        llm = mapping(mapping(row).get("llm"))
        if isinstance(model := llm.get("model"), str) and is_config(model):
            yield _Named(f"workload[{i}].llm.model", model)
        for place, file in (
            ("trace", llm.get("trace")),
            ("arrivals.trace", mapping(llm.get("arrivals")).get("trace")),
        ):
            if isinstance(file, str):
                yield _Named(f"workload[{i}].llm.{place}", file)
    measured = mapping(data.get("cost")).get("measured")
    if isinstance(measured, str):
        yield _Named("cost.measured", measured)
    for name, function in mapping(mapping(data.get("serverless")).get("functions")).items():
        times = mapping(function).get("profile")
        if isinstance(times, str):
            yield _Named(f"serverless.functions.{name}.profile", times)
    profile = mapping(data.get("plan")).get("profile")
    if isinstance(profile, str):
        yield _Named("plan.profile", profile)
    for place, name in _training_files(mapping(data.get("training")), mapping(data.get("models"))):
        yield _Named(place, name)
