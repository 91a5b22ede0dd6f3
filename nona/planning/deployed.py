"""The scenario on other servers: concurrent tasks and instances of stages follow the kind of server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nona.cluster.hardware.device import find_device, user_devices
from nona.core.errors import ScenarioError
from nona.planning.offers import slicings
from nona.scenario.cluster import ServerGroupSpec
from nona.scenario.rows import InstancesSpec, PlacesSpec, StageSpec
from nona.scenario.schema import Scenario


def on_servers(scenario: Scenario, groups: Sequence[ServerGroupSpec]) -> Scenario:
    """Return the scenario on other servers for its tasks.

    Servers as the scenario has them run as many tasks at once, and have as many instances of each stage, as
    there. Others run as many as those with their GPU, or as the first; of a stage they have the instances
    that it has on every GPU.

    Parameters
    ----------
    scenario : Scenario
        Its servers with an engine stay, after the others.
    groups : sequence of ServerGroupSpec
        In place of those that run tasks.

    Returns
    -------
    Scenario
        With these servers.

    Raises
    ------
    ScenarioError
        Where a stage has no instances on any of them, or the cluster's own servers of a kind differ in them.
    """
    if problems := list(stage_problems(scenario, groups)):
        raise ScenarioError(problems)
    servers = tuple(
        group.model_copy(update={"instances": None if group.mps else _concurrent(scenario, group)})
        for group in groups
    )
    cluster = scenario.cluster.model_copy(update={"servers": servers + scenario.cluster.engine_groups})
    workload = tuple(
        row.model_copy(
            update={
                "stages": {
                    name: stage.model_copy(update={"instances": _instances(scenario, stage, groups)})
                    for name, stage in row.stages.items()
                }
            }
        )
        for row in scenario.workload
    )
    return scenario.model_copy(update={"cluster": cluster, "workload": workload})


def stage_problems(scenario: Scenario, groups: Sequence[ServerGroupSpec]) -> Iterator[str]:
    """Yield a line for each stage whose instances do not say where they are on these servers.

    And one for each kind of server of which the cluster has groups that run unlike numbers of tasks at once.
    """
    for group in groups:
        if len({scenario.cluster.servers[number].instances for number in _like(scenario, group)}) > 1:
            yield (
                f"plan: groups of {group.gpu} have unlike concurrent tasks; give all of that kind the same "
                "on page Scenario."
            )
    for label, row in zip(scenario.labels, scenario.workload, strict=True):
        for name, stage in row.stages.items():
            if stage.instances and not _instances(scenario, stage, groups):
                kinds = ", ".join(dict.fromkeys(g.gpu for g in groups)) or "none"
                yield (
                    f"plan: stage {name} of {label} has instances on chosen GPUs, and none on servers of "
                    f"{kinds}; plan servers that the cluster has, or clear its instances on page Scenario."
                )
            for group in groups:
                of = {_in_group(stage, number) for number in _like(scenario, group)}
                if len(of) > 1:
                    yield (
                        f"plan: servers of {group.gpu} have unlike instances of stage {name} of {label}; "
                        "give all groups of that kind the same on page Scenario."
                    )


def _concurrent(scenario: Scenario, group: ServerGroupSpec) -> InstancesSpec | None:
    own = scenario.cluster.task_groups
    like = [scenario.cluster.servers[number] for number in _like(scenario, group)]
    first = next(iter(like or [g for g in own if g.gpu == group.gpu] or own), None)
    return None if first is None else first.instances


def _instances(
    scenario: Scenario, stage: StageSpec, groups: Sequence[ServerGroupSpec]
) -> tuple[PlacesSpec, ...]:
    everywhere = _everywhere(scenario, stage)
    found = []
    for number, group in enumerate(groups):
        like = _like(scenario, group)
        if like:
            found += [
                PlacesSpec(group=number, count=count, gpus=gpus) for count, gpus in _in_group(stage, like[0])
            ]
        elif everywhere:
            found.append(PlacesSpec(group=number, count=everywhere))
    return tuple(found)


def _everywhere(scenario: Scenario, stage: StageSpec) -> int:
    """Return the instances of a stage on every GPU that runs tasks; 0 where they differ."""
    counts = {
        stage.instances_on(number, gpu)
        for number, group in enumerate(scenario.cluster.servers)
        if group.engine is None
        for gpu in range(group.gpus)
    }
    return counts.pop() if len(counts) == 1 else 0


def _in_group(stage: StageSpec, number: int) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the counts of a stage's instances on which GPUs of a group's servers."""
    return tuple((places.count, places.gpus) for places in stage.instances if places.group == number)


def _like(scenario: Scenario, group: ServerGroupSpec) -> list[int]:
    """Return the numbers of the scenario's groups that run tasks on the same GPUs, divided the same."""
    kind, groups = _kind(scenario, group), scenario.cluster.servers
    return [n for n, g in enumerate(groups) if g.engine is None and _kind(scenario, g) == kind]


def _kind(scenario: Scenario, group: ServerGroupSpec) -> tuple[object, ...]:
    board = find_device(group.gpu, user_devices(scenario.cluster.devices)).mig
    slices = slicings(board, group.mig, group.gpus) if board and group.mig else group.mig
    return group.gpu, group.gpus, group.mps, slices
