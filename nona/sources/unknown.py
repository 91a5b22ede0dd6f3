"""Names in a scenario file that stand for nothing: devices, layouts, schedulers, policies, models, files.

They are looked for in what the file holds, so that they are listed together with what breaks the schema.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from nona.errors import NonaError
from nona.hardware.catalogue import devices, user_devices
from nona.hardware.cluster import MOST_EXECUTORS, ServerGroup
from nona.hardware.device import Device
from nona.scenario.plan import offer_entry
from nona.scenario.schema import ServerGroupSpec
from nona.scenario.values import named_entry
from nona.schedulers.registry import get_scheduler
from nona.serverless.model.catalogue import network_names
from nona.serverless.policies.registry import get_policy
from nona.sources.lookup import Sources
from nona.sources.near import instead
from nona.sources.samples import sample_names
from nona.sources.unknown_training import training_files, unknown_in_training


def unknown_names(data: Mapping[str, Any]) -> list[str]:
    """One line for each device, layout, scheduler, policy or sample that is not known.

    >>> unknown_names({"schedulers": ["nona", "nonna"]})[0][:42]
    "schedulers[1]: Scheduler 'nonna' is not kn"
    """
    known = {*devices(), *map(str, _mapping(_mapping(data.get("cluster")).get("devices")))}
    training = unknown_in_training(_mapping(data.get("training")), known, _mapping(data.get("models")))
    cluster = _mapping(data.get("cluster"))
    return [
        *_cluster(cluster),
        *_samples(data),
        *_named(data),
        *_networks(data),
        *_offers(data, known),
        *training,
    ]


def missing_files(data: Mapping[str, Any], sources: Sources) -> list[str]:
    """One line for each file that a scenario names and that ``sources`` does not have."""
    return [line for file in _files(data) for line in sources.missing(file.place, file.name)]


@dataclass(frozen=True, slots=True)
class _Named:
    place: str
    name: str


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
    known = {**devices(), **own}
    executors = 0
    for i, group in enumerate(_entries(cluster.get("servers"))):
        gpu = _mapping(group).get("gpu", ServerGroupSpec().gpu)
        place = f"cluster.servers[{i}]"
        if isinstance(gpu, str) and gpu not in known:
            yield f"{place}.gpu: {gpu[:60]!r} is not a known device; {instead(gpu, known)}, or define it."
            continue
        try:
            g = ServerGroupSpec.model_validate(group)
            classes = ServerGroup(1, g.gpu, g.gpus, g.vcpus, g.mig, g.mps).classes(known[g.gpu])
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


def _offers(data: Mapping[str, Any], known: Collection[str]) -> Iterator[str]:
    """Offers of a plan that name no device."""
    for i, offer in enumerate(_entries(_mapping(data.get("plan")).get("offers"))):
        gpu = _mapping(offer_entry(offer)).get("gpu")
        if isinstance(gpu, str) and gpu not in known:
            yield f"plan.offers[{i}]: {gpu[:60]!r} is not a known device; {instead(gpu, known)}."


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
        ("serverless.policies", policies, get_policy),
        ("schedulers", data.get("schedulers"), get_scheduler),
        ("plan.schedulers", _mapping(data.get("plan")).get("schedulers"), get_scheduler),
    ):
        for i, entry in enumerate(_entries(entries)):
            name = _mapping(named_entry(entry)).get("name")
            try:
                if isinstance(name, str):
                    find(name)
            except NonaError as error:
                yield f"{place}[{i}]: {error}"


def _networks(data: Mapping[str, Any]) -> Iterator[str]:
    for name, function in _mapping(_mapping(data.get("serverless")).get("functions")).items():
        network = _mapping(function).get("network")
        if isinstance(network, str) and network not in network_names():
            yield (
                f"serverless.functions.{name}.network: {network[:60]!r} is not a measured network; "
                f"{instead(network, network_names())}."
            )


def _models(data: Mapping[str, Any]) -> Iterator[_Named]:
    """Models of the workload that are neither samples nor inside the scenario."""
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
    for place, name in training_files(_mapping(data.get("training")), _mapping(data.get("models"))):
        yield _Named(place, name)
