"""Independent queues in Ciw, on the same arrivals, placements and services as the engines'.

Ciw has no jobs that fork and join, so it is compared on this system alone. It needs the extra ``bench``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.c_loop import CLoop

INSTALLED = find_spec("ciw") is not None


def run_ciw(loop: CLoop, jobs: int) -> NDArray[np.float64]:
    """Completion instants of the first ``jobs`` jobs of one task each, seconds."""
    import ciw  # optional

    class Given(ciw.dists.Distribution):  # type: ignore[misc]
        """Arrivals at given instants, or given services."""

        def __init__(self, values: Sequence[float], instants: bool) -> None:
            self.values, self.instants, self.now = iter(values), instants, 0.0

        def sample(self, t: Any = None, ind: Any = None) -> float:
            value = next(self.values, math.inf)
            if not self.instants or value == math.inf:
                return value
            gap = value - self.now  # exact, but for the few gaps that more than double the time
            self.now += gap
            return gap

    drawn = loop.draw(jobs)
    arrival_s, first, services, uniforms = drawn[0][:jobs], drawn[2][:jobs], drawn[3], drawn[4]
    seconds = float(loop.system.queries[0].tasks.compute_s[0, 0]) * services[first]
    place = (uniforms[:jobs, 0] * loop.system.executors).astype(np.int64)
    mine = [np.flatnonzero(place == e) for e in range(loop.system.executors)]
    network = ciw.create_network(
        arrival_distributions=[Given(arrival_s[m].tolist(), True) for m in mine],
        service_distributions=[Given(seconds[m].tolist(), False) for m in mine],
        number_of_servers=[1] * len(mine),
        routing=np.zeros((len(mine), len(mine))).tolist(),
    )
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(jobs, method="Finish")
    completion_s = np.full(jobs, math.nan)
    ends: list[list[tuple[float, float]]] = [[] for _ in mine]
    for record in simulation.get_all_records():
        ends[record.node - 1].append((record.arrival_date, record.exit_date))
    for m, found in zip(mine, ends, strict=True):
        completion_s[m[: len(found)]] = [end for _, end in sorted(found)]
    return completion_s
