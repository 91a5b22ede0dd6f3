"""A cluster in several regions: GPUs of each region are types of their own."""

from __future__ import annotations

from dataclasses import replace

from nona.errors import SimulationError
from nona.training.model.cluster import NodeGroup, TrainingCluster
from nona.training.model.system import TrainingSystem
from nona.training.model.throughputs import Throughputs

AT = "@"


def regional_type(gpu: str, region: str) -> str:
    """The name of a type of GPU in a region.

    >>> regional_type("v100", "east")
    'v100@east'
    """
    return f"{gpu}{AT}{region}"


def region_of(kind: str) -> str:
    """The region of a type: ``region_of("v100@east")`` is ``"east"``; "" without regions."""
    return kind.partition(AT)[2]


def with_regions(system: TrainingSystem) -> TrainingSystem:
    """The system with GPUs named by type and region, their rates and prices those of the type.

    Without ``regions`` it is returned as it is.

    Raises
    ------
    SimulationError
        For a server group that does not exist or is in no region, or a job in an unknown region.
    """
    spec = system.regions
    if spec is None:
        return system
    region = {number: name for name, numbers in spec.groups.items() for number in numbers}
    groups = system.cluster.groups
    for number in range(len(groups)):
        if number not in region:
            raise SimulationError(f"Regions: server group {number} is in no region; list it in one.")
    if extra := sorted(set(region) - set(range(len(groups)))):
        raise SimulationError(
            f"Regions: there is no server group {extra[0]}; use numbers from 0 to {len(groups) - 1}."
        )
    for job in system.jobs:
        if job.region and job.region not in spec.groups:
            known = ", ".join(map(repr, spec.groups))
            raise SimulationError(f"Job {job.name!r}: region {job.region!r} is not known; use {known}.")
    placed = tuple(
        NodeGroup(regional_type(g.gpu, region[n]), g.count, g.gpus, region[n]) for n, g in enumerate(groups)
    )
    kinds = {(g.gpu, region[n]) for n, g in enumerate(groups)}
    prices = {
        regional_type(gpu, z): system.cluster.prices[gpu]
        for gpu, z in sorted(kinds)
        if gpu in system.cluster.prices
    }
    table = _regional_table(system.throughputs, sorted(kinds))
    return replace(system, cluster=TrainingCluster(placed, prices), throughputs=table)


def _regional_table(table: Throughputs, kinds: list[tuple[str, str]]) -> Throughputs:
    """The rates of each type, once per region that has it."""
    regions: dict[str, list[str]] = {}
    for gpu, z in kinds:
        regions.setdefault(gpu, []).append(regional_type(gpu, z))
    return replace(
        table,
        alone={k._replace(gpu=t): v for k, v in table.alone.items() for t in regions.get(k.gpu, ())},
        pairs={k._replace(gpu=t): v for k, v in table.pairs.items() for t in regions.get(k.gpu, ())},
        spread={k._replace(gpu=t): v for k, v in table.spread.items() for t in regions.get(k.gpu, ())},
        provenance={t: p for gpu, p in table.provenance.items() for t in regions.get(gpu, ())},
    )
