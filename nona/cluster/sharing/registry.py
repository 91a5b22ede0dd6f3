"""The ways of sharing a GPU by name."""

from __future__ import annotations

from typing import Any

from nona.cluster.sharing import slices, soft
from nona.cluster.sharing.pool import Gpu, Invoker, Settings, SharingMode
from nona.core.errors import SimulationError
from nona.core.registry import Registry

SHARING_MODES: Registry[SharingMode] = Registry(
    "Way of sharing",
    (slices.COUNTED, slices.GEOMETRY, slices.FIXED, soft.MPS, soft.TIME_SLICING),
    SimulationError,
)


def make_gpu(invoker: Invoker, settings: Settings) -> Gpu[Any]:
    """Return the rules for a GPU of an invoker.

    Raises ``SimulationError`` when its GPUs cannot be shared that way.

    >>> from nona.scenario.serverless import SharingSpec
    >>> make_gpu(Invoker(), SharingSpec(mode="mps")).couples
    True
    """
    return SHARING_MODES.find(settings.mode).make(invoker, settings)
