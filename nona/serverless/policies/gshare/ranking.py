"""The configurations of a stage in the order of their throughput per cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.serverless.model.system import ServerlessSystem
from nona.serverless.policies.choices import profiled, usable


def ranking(
    system: ServerlessSystem, function: int, time_s: NDArray[np.float64], slo_s: float
) -> tuple[int, ...]:
    """Configurations that keep ``slo_s`` seconds, by throughput per cost, the largest first.

    Ties go to the faster, then to the lower number. b/t per dollar a second is one over the dollars a
    job, so without prices everything ties and the fastest wins. ``time_s``: (C,) seconds, as profiled.
    """
    cost = profiled(system)[1][function]
    kept = [n for n in usable(system, function) if time_s[n] <= slo_s]
    return tuple(sorted(kept, key=lambda n: (cost[n], time_s[n], n)))
