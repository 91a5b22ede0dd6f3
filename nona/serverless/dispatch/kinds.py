"""Which containers a run has: with a record, and within a memory, where the system asks for it."""

from __future__ import annotations

from nona.serverless.dispatch.containers import Containers
from nona.serverless.dispatch.memory import MemoryContainers
from nona.serverless.dispatch.tracked import TrackedContainers
from nona.serverless.model.system import ServerlessSystem


def containers_of(system: ServerlessSystem) -> Containers:
    """The containers of a run."""
    cold_s = [function.cold_start_s for function in system.functions]
    spec, invokers, smallest = system.containers, len(system.invokers), system.space.smallest
    if system.memory is not None:
        return MemoryContainers(spec, cold_s, invokers, smallest, system.memory)
    if system.idle_cost > 0:
        return TrackedContainers(spec, cold_s, invokers, smallest)
    return Containers(spec, cold_s, invokers)
