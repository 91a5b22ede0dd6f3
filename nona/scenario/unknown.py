"""Names in a scenario that stand for nothing, and what to write instead.

They are looked for in what the file holds, so that they are listed together with what breaks the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any

from pydantic import ValidationError

from nona.cluster.hardware.cluster import MOST_EXECUTORS, ServerGroup
from nona.cluster.hardware.device import Device, devices, user_devices
from nona.core.errors import NonaError, suggestion
from nona.core.family import families
from nona.core.registry import Strategy, load
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.gate import MOST, entries, mapping
from nona.scenario.lookup import Sources, files_in
from nona.scenario.plan import offer_entry
from nona.scenario.sample_files import sample_names
from nona.scenario.values import named_entry


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


def missing_files(data: Mapping[str, Any], sources: Sources) -> list[str]:
    """One line for each file that a scenario names and that ``sources`` does not have."""
    return [
        line
        for file in files_in(data)
        if file.kind not in ("model", "throughputs") or PurePath(file.name).suffix
        for line in sources.missing(file.place, file.name)
    ]


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
    for file in files_in(data):
        if file.kind == "model" and file.place.startswith("workload") and not PurePath(file.name).suffix:
            yield (
                f"{file.place}: {file.name[:60]!r} is no sample and has no file extension; "
                f"{suggestion(file.name, sample_names())}, or name a file."
            )
