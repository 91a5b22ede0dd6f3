"""The memory of a scenario's nodes, and of a container of each function."""

from __future__ import annotations

from collections.abc import Sequence

from nona.hardware.catalogue import find_device, user_devices
from nona.scenario.schema import Scenario, ServerGroupSpec
from nona.scenario.serverless import MemorySpec, ServerlessSpec
from nona.serverless.model.function import Function
from nona.serverless.model.memory import NodeMemory


def node_memory(scenario: Scenario, functions: Sequence[Function]) -> NodeMemory | None:
    """The limits that ``serverless.memory`` sets; ``None`` without one.

    Raises
    ------
    SimulationError
        When no node holds a container of some function.
    """
    spec = (scenario.serverless or ServerlessSpec()).memory
    if spec.limit == "none":
        return None
    return NodeMemory(
        tuple(
            node
            for group in scenario.cluster.servers
            for node in [_node_bytes(spec, group, scenario)] * group.count
        ),
        tuple(round(container_bytes(f, spec)) for f in functions),
        tuple(f.name for f in functions),
    )


def container_bytes(function: Function, spec: MemorySpec) -> float:
    """Bytes of a container: as stated, else weights and ``overhead``, else ``spec.container``.

    >>> from nona.serverless.model.catalogue import shipped_function
    >>> [container_bytes(shipped_function(n), MemorySpec()) / 1e9 for n in ("vgg16", "deblur")]
    [1.053430176, 2.0]
    """
    if function.memory_bytes is not None:
        return function.memory_bytes
    if function.weight_bytes is not None:
        return function.weight_bytes + spec.overhead
    return spec.container


def _node_bytes(spec: MemorySpec, group: ServerGroupSpec, scenario: Scenario) -> int:
    if spec.limit == "node":
        return round(spec.node)
    device = find_device(group.gpu, user_devices(scenario.cluster.devices))
    return round(group.gpus * device.memory_bytes)
