"""From a scenario's servers to the nodes and prices of a training cluster."""

from __future__ import annotations

from nona.errors import ScenarioError
from nona.hardware.catalogue import find_device, user_devices
from nona.hardware.device import Device
from nona.planning.prices import prices_of
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.scenario.training import TrainingSpec
from nona.training.model.cluster import NodeGroup, TrainingCluster


def training_cluster(scenario: Scenario, spec: TrainingSpec) -> TrainingCluster:
    """A node for every server, with its GPUs, its region and the prices of its types.

    Raises
    ------
    ScenarioError
        For GPUs that are sliced or shared, and regions that name server groups which are not there.
    """
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


def training_devices(scenario: Scenario) -> dict[str, Device]:
    """The devices of the scenario's servers by name."""
    own = user_devices(scenario.cluster.devices)
    return {g.gpu: find_device(g.gpu, own) for g in scenario.cluster.servers}


def _divided(number: int, group: ServerGroupSpec) -> list[str]:
    keys = [key for key in ("mig", "mps") if getattr(group, key) is not None]
    return [
        f"cluster.servers[{number}].{key}: {getattr(group, key)!r} divides a GPU, but training jobs take "
        "whole ones; remove it (training.space_sharing lets two jobs share a GPU)."
        for key in keys
    ]
