"""The kinds of pool that a system has, and what they can hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.gpu_sharing.pool import Pool
from nona.gpu_sharing.registry import make_pool
from nona.serverless.model.system import ServerlessSystem


def kinds_of_pool(system: ServerlessSystem) -> list[Pool]:
    """An empty pool for each kind of invoker."""
    return [make_pool(node, system.sharing) for node in dict.fromkeys(system.invokers)]


def holdable(system: ServerlessSystem) -> NDArray[np.bool_]:
    """(C,) Whether some invoker, when empty, takes the configuration under the scenario's way of sharing."""
    pools = kinds_of_pool(system)
    return np.array([any(pool.fits(c) for pool in pools) for c in system.space.configurations])
