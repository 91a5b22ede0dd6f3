"""Pools by the name of the way of sharing."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from nona.scenario.serverless import SharingSpec
from nona.serverless.model.system import Invoker, ServerlessSystem
from nona.serverless.sharing.counter import CounterPool
from nona.serverless.sharing.pool import Pool
from nona.serverless.sharing.slices import SlicePool
from nona.serverless.sharing.soft import MpsPool, TimeSlicingPool

MAKERS: Mapping[str, Callable[[Invoker, SharingSpec], Pool]] = {
    "mig-counter": lambda invoker, sharing: CounterPool(invoker),
    "mig-geometry": lambda invoker, sharing: SlicePool(invoker, sharing.reconfiguration),
    "mig-fixed": lambda invoker, sharing: SlicePool(invoker, fixed=True),
    "mps": MpsPool,
    "time-slicing": TimeSlicingPool,
}


def make_pool(invoker: Invoker, sharing: SharingSpec) -> Pool:
    """An empty pool of one invoker.

    Raises
    ------
    SimulationError
        When its GPUs cannot be shared that way.

    >>> make_pool(Invoker(), SharingSpec(mode="mps")).couples
    True
    """
    return MAKERS[sharing.mode](invoker, sharing)


def kinds_of_pool(system: ServerlessSystem) -> list[Pool]:
    """An empty pool for each kind of invoker."""
    return [make_pool(node, system.sharing) for node in dict.fromkeys(system.invokers)]


def holdable(system: ServerlessSystem) -> NDArray[np.bool_]:
    """(C,) Whether some invoker, when empty, takes the configuration under the scenario's way of sharing."""
    pools = kinds_of_pool(system)
    return np.array([any(pool.fits(c) for pool in pools) for c in system.space.configurations])
