"""Capacity over several devices: a scenario with another device, and the cheapest answer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from nona.results.capacity import DeviceCapacity
from nona.scenario.schema import Scenario
from nona.study.sweeps.numbers import with_value


def cheapest(found: Sequence[DeviceCapacity]) -> DeviceCapacity | None:
    """The cheapest; without prices the one with the fewest servers."""
    return min(
        (c for c in found if c.servers is not None),
        key=lambda c: (math.inf if c.cost is None else c.cost, c.servers),
        default=None,
    )


def with_gpu(scenario: Scenario, group: int, gpu: str) -> Scenario:
    """The scenario with another device in a group, whole: a MIG layout is for one device only."""
    changed = with_value(scenario, f"cluster.servers[{group}].gpu", gpu)
    spec = changed.cluster.servers[group]
    if spec.mig is None:
        return changed
    groups = list(changed.cluster.servers)
    groups[group] = spec.model_copy(update={"mig": None})
    cluster = changed.cluster.model_copy(update={"servers": tuple(groups)})
    return changed.model_copy(update={"cluster": cluster})
