"""The ways of sharing a GPU by name."""

from __future__ import annotations

from nona.errors import SimulationError
from nona.gpu_sharing import slices, soft
from nona.gpu_sharing.pool import Invoker, Pool, Settings, Way
from nona.registry import Registry

WAYS: Registry[Way] = Registry(
    "Way of sharing",
    (slices.COUNTED, slices.GEOMETRY, slices.FIXED, soft.MPS, soft.TIME_SLICING),
    SimulationError,
)


def make_pool(invoker: Invoker, settings: Settings) -> Pool:
    """An empty pool of one invoker.

    Raises ``SimulationError`` when its GPUs cannot be shared that way.

    >>> from nona.scenario.serverless import SharingSpec
    >>> make_pool(Invoker(), SharingSpec(mode="mps")).gpu.couples
    True
    """
    return Pool(invoker, WAYS.find(settings.mode).make(invoker, settings))
