"""Names in a scenario that stand for nothing, and what to write instead.

They are looked for in what the file holds, so that they are listed together with what breaks the schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from nona.errors import NonaError, instead
from nona.hardware.cluster import MOST_EXECUTORS, ServerGroup
from nona.hardware.device import Device, devices, user_devices
from nona.language.models import language_models
from nona.registry import Strategy
from nona.scenario.language import ROUTERS
from nona.scenario.plan import offer_entry
from nona.scenario.schema import ServerGroupSpec
from nona.scenario.values import named_entry
from nona.schedulers.registry import get_scheduler
from nona.sources.lookup import Sources, is_config
from nona.sources.samples import sample_names
from nona.training.throughput_table import GAVEL, MODELLED, TABLES, batch_of, shipped_throughputs

MOST = 10_000


def _unknown_in_training(
    training: Mapping[str, Any], gpus: Collection[str], models: Mapping[str, Any]
) -> Iterator[str]:
    """One line for each policy, GPU, table, team and model that is not known.

    ``gpus`` are the catalogue's and the scenario's own; ``models`` those inside the scenario.

    >>> list(_unknown_in_training({"throughputs": "gavle"}, (), {}))
    ["training.throughputs: 'gavle' is no table and has no file extension; use gavel, or name a CSV file."]
    """
    from nona.allocation.registry import get_policy

    for i, entry in enumerate(_training_entries(training.get("policies"))):
        named = _mapping(named_entry(entry))
        name = named.get("name")
        try:
            if isinstance(name, str):
                get_policy(name).chosen(_mapping(named.get("options")))
        except NonaError as error:
            yield f"training.policies[{i}]: {error}"
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and not PurePath(table).suffix:
        yield (
            f"training.throughputs: {table[:60]!r} is no table and has no file extension; "
            f"{instead(table, TABLES)}, or name a CSV file."
        )
    yield from _gpus("training.prices", training.get("prices"), gpus)
    for i, entry in enumerate(_training_entries(training.get("jobs"))):
        yield from _job(f"training.jobs[{i}]", _mapping(entry), training, gpus, models)


def _training_files(training: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Place and name of each file that the training part names."""
    if isinstance(trace := training.get("trace"), str):
        yield "training.trace", trace
    table = training.get("throughputs", GAVEL)
    if isinstance(table, str) and table not in TABLES and PurePath(table).suffix:
        yield "training.throughputs", table
    for i, entry in enumerate(_training_entries(training.get("jobs"))):
        model = _costed(_mapping(entry), table, models)
        if model and PurePath(model).suffix:
            yield f"training.jobs[{i}].model", model


def _job(
    place: str,
    job: Mapping[str, Any],
    training: Mapping[str, Any],
    gpus: Collection[str],
    models: Mapping[str, Any],
) -> Iterator[str]:
    yield from _gpus(f"{place}.throughputs", job.get("throughputs"), gpus)
    entities, entity = _mapping(training.get("entities")), job.get("entity")
    if entities and isinstance(entity, str) and entity not in ("", *entities):
        yield f"{place}.entity: {entity[:60]!r} is not among the entities; {instead(entity, entities)}."
    table, model = training.get("throughputs", GAVEL), job.get("model")
    if (costed := _costed(job, table, models)) and not PurePath(costed).suffix:
        yield (
            f"{place}.model: {costed[:60]!r} is no sample and has no file extension; "
            f"{instead(costed, sample_names())}, or name a file."
        )
    measured = table == GAVEL and job.get("kind", "training") == "training" and not job.get("throughputs")
    if measured and isinstance(model, str):
        in_table = sorted({key.model for key in shipped_throughputs().alone})
        if model not in in_table:
            yield f"{place}.model: {model[:60]!r} is not in the table gavel; {instead(model, in_table)}."


def _costed(job: Mapping[str, Any], table: object, models: Mapping[str, Any]) -> str:
    """The model that the cost layer must time, if it is neither a sample nor inside the scenario."""
    name, kind = job.get("model"), job.get("kind", "training")
    if not isinstance(name, str) or job.get("throughputs") or kind == "interactive":
        return ""
    model = batch_of(name)[0]
    there = model in models or model in sample_names()
    return "" if there or (kind != "inference" and table != MODELLED) else model


def _gpus(place: str, values: object, gpus: Collection[str]) -> Iterator[str]:
    for name in list(_mapping(values))[:100]:
        if isinstance(name, str) and name not in gpus:
            yield f"{place}: {name[:60]!r} is not a known device; {instead(name, gpus)}."


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _training_entries(value: object) -> list[Any]:
    return list(value)[:MOST] if isinstance(value, list | tuple) else []


def unknown_names(data: Mapping[str, Any]) -> list[str]:
    """One line for each device, layout, scheduler, policy, option or sample that is not known.

    >>> unknown_names({"schedulers": ["nona", "nonna"]})[0][:42]
    "schedulers[1]: Scheduler 'nonna' is not kn"
    """
    gpus = {*devices(), *map(str, _mapping(_mapping(data.get("cluster")).get("devices")))}
    training = _unknown_in_training(_mapping(data.get("training")), gpus, _mapping(data.get("models")))
    cluster = _mapping(data.get("cluster"))
    return [
        *_cluster(cluster),
        *_samples(data),
        *_named(data),
        *_networks(data),
        *_language(data),
        *_offers(data, gpus),
        *training,
    ]


def _language(data: Mapping[str, Any]) -> Iterator[str]:
    rows = (
        (f"workload[{i}].llm", _mapping(row).get("llm"))
        for i, row in enumerate(_entries(data.get("workload")))
    )
    more = (
        (f"language[{i}].llm", _mapping(row).get("llm"))
        for i, row in enumerate(_entries(data.get("language")))
    )
    groups = _entries(_mapping(data.get("cluster")).get("servers"))
    engines = ((f"cluster.servers[{i}].engine", _mapping(g).get("engine")) for i, g in enumerate(groups))
    for place, part in (*rows, *more, *engines):
        name = _mapping(part).get("model")
        if isinstance(name, str) and not is_config(name) and name not in language_models():
            yield (
                f"{place}.model: {name[:60]!r} is not a known language model; "
                f"{instead(name, language_models())}, or name a config.json."
            )


def missing_files(data: Mapping[str, Any], sources: Sources) -> list[str]:
    """One line for each file that a scenario names and that ``sources`` does not have."""
    return [line for file in _files(data) for line in sources.missing(file.place, file.name)]


@dataclass(frozen=True, slots=True)
class _Named:
    place: str
    name: str


def _entries(value: object) -> list[Any]:
    return list(value)[:500] if isinstance(value, list | tuple) else []


def _cluster(cluster: Mapping[str, Any]) -> Iterator[str]:
    own: dict[str, Device] = {}
    for name, attributes in _mapping(cluster.get("devices")).items():
        try:
            own |= user_devices({str(name): _mapping(attributes)})
        except NonaError as error:
            yield f"cluster.devices: {error}"
            own[str(name)] = next(iter(devices().values()))  # what names it is not wrong as well
    by_name = {**devices(), **own}
    executors = 0
    for i, group in enumerate(_entries(cluster.get("servers"))):
        gpu = _mapping(group).get("gpu", ServerGroupSpec().gpu)
        place = f"cluster.servers[{i}]"
        if isinstance(gpu, str) and gpu not in by_name:
            yield f"{place}.gpu: {gpu[:60]!r} is not a known device; {instead(gpu, by_name)}, or define it."
            continue
        try:
            g = ServerGroupSpec.model_validate(group)
            classes = ServerGroup(1, g.gpu, g.gpus, g.vcpus, g.mig, g.mps).classes(by_name[g.gpu])
            executors += g.count * g.gpus * len(classes)
        except ValidationError:  # the schema says so itself
            continue
        except NonaError as error:
            yield f"{place}: {error}"
    if executors > MOST_EXECUTORS:
        yield (
            f"cluster.servers: {executors:,} executors are more than {MOST_EXECUTORS:,}; give fewer servers "
            "or slices."
        )


def _offers(data: Mapping[str, Any], choices: Collection[str]) -> Iterator[str]:
    for i, offer in enumerate(_entries(_mapping(data.get("plan")).get("offers"))):
        gpu = _mapping(offer_entry(offer)).get("gpu")
        if isinstance(gpu, str) and gpu not in choices:
            yield f"plan.offers[{i}]: {gpu[:60]!r} is not a known device; {instead(gpu, choices)}."


def _samples(data: Mapping[str, Any]) -> Iterator[str]:
    for model in _models(data):
        if PurePath(model.name).suffix == "":
            yield (
                f"{model.place}: {model.name[:60]!r} is no sample and has no file extension; "
                f"{instead(model.name, sample_names())}, or name a file."
            )


def _named(data: Mapping[str, Any]) -> Iterator[str]:
    policies = _mapping(data.get("serverless")).get("policies")
    for place, entries, find in (
        ("serverless.policies", policies, _find_policy),
        ("schedulers", data.get("schedulers"), get_scheduler),
        ("plan.schedulers", _mapping(data.get("plan")).get("schedulers"), get_scheduler),
    ):
        for i, entry in enumerate(_entries(entries)):
            named = _mapping(named_entry(entry))
            name = named.get("name")
            try:
                if isinstance(name, str) and name not in ROUTERS:
                    find(name).chosen(_mapping(named.get("options")))
            except NonaError as error:
                yield f"{place}[{i}]: {error}"


def _find_policy(name: str) -> Strategy:
    from nona.serverless.policies.registry import get_policy

    return get_policy(name)


def _networks(data: Mapping[str, Any]) -> Iterator[str]:
    functions = _mapping(_mapping(data.get("serverless")).get("functions"))
    if not functions:
        return
    from nona.serverless.functions import network_names

    for name, function in functions.items():
        network = _mapping(function).get("network")
        if isinstance(network, str) and network not in network_names():
            yield (
                f"serverless.functions.{name}.network: {network[:60]!r} is not a measured network; "
                f"{instead(network, network_names())}."
            )


def _models(data: Mapping[str, Any]) -> Iterator[_Named]:
    inside = _mapping(data.get("models"))
    for i, row in enumerate(_entries(data.get("workload"))):
        name = _mapping(row).get("model")
        if isinstance(name, str) and name not in inside and name not in sample_names():
            yield _Named(f"workload[{i}].model", name)


def _files(data: Mapping[str, Any]) -> Iterator[_Named]:
    yield from (model for model in _models(data) if PurePath(model.name).suffix)
    for i, row in enumerate(_entries(data.get("workload"))):
        trace = _mapping(_mapping(row).get("arrivals")).get("trace")
        if isinstance(trace, str):
            yield _Named(f"workload[{i}].arrivals.trace", trace)
        llm = _mapping(_mapping(row).get("llm"))
        if isinstance(model := llm.get("model"), str) and is_config(model):
            yield _Named(f"workload[{i}].llm.model", model)
        for place, file in (
            ("trace", llm.get("trace")),
            ("arrivals.trace", _mapping(llm.get("arrivals")).get("trace")),
        ):
            if isinstance(file, str):
                yield _Named(f"workload[{i}].llm.{place}", file)
    measured = _mapping(data.get("cost")).get("measured")
    if isinstance(measured, str):
        yield _Named("cost.measured", measured)
    for name, function in _mapping(_mapping(data.get("serverless")).get("functions")).items():
        times = _mapping(function).get("profile")
        if isinstance(times, str):
            yield _Named(f"serverless.functions.{name}.profile", times)
    profile = _mapping(data.get("plan")).get("profile")
    if isinstance(profile, str):
        yield _Named("plan.profile", profile)
    for place, name in _training_files(_mapping(data.get("training")), _mapping(data.get("models"))):
        yield _Named(place, name)
