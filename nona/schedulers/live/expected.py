"""What ``nona-live`` expects to happen while a job runs: background, newcomers, bursts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nona.schedulers.live.tables import Expected
from nona.system import Arrivals, System

# Chosen by simulation; with few executors a newcomer meets a given one more often.
BUSY_LOAD = 1.2
CROWDING, FEW_CROWDING = 1.0, 9.0  # 1 + 9 / executors
FEW_MARGIN, MOST_MARGIN = 1.6, 0.3  # 1.6 / executors, at most 0.3


def expected_of(system: System, others: Sequence[int]) -> Expected:
    """Waits behind background, by Pollaczek and Khinchine: ρ·E[S²] / (2·E[S]·(1 − ρ)); the mean rest of a
    job that a newcomer meets: E[S²] / (2·E[S]); and bursts, see :func:`followers`.

    ``others``: how many executors beside the first a query of each class may take.
    """
    rate = np.array([q.rate for q in system.queries])
    work_s = np.array(
        [q.tasks.compute_s.sum(axis=1) @ system.class_weights for q in system.queries], dtype=float
    )
    compute, network = system.background_compute, system.background_network
    load = compute.rate * compute.mean
    link_load = network.rate * network.mean / system.capacity
    follow = np.array([followers(q.arrivals) for q in system.queries])
    wide = 1.0 + np.array(others)
    return Expected(
        link_load=link_load,
        link_wait_s=_wait_s(link_load, network.mean / system.capacity, network.scv),
        load=load,
        wait_s=_wait_s(load, compute.mean, compute.scv),
        query_load=float(rate @ work_s) / system.executors,
        query_wait_s=float(rate @ work_s**2 / (2 * max(rate @ work_s, 1e-300))),
        busy_load=BUSY_LOAD,
        crowding=CROWDING + FEW_CROWDING / system.executors,
        wanted_rate=float(rate @ wide),
        burst_s=follow * work_s / system.executors,
        burst_wanted=follow * wide,
        margin=min(FEW_MARGIN / system.executors, MOST_MARGIN),
        senders=float(rate @ (np.array(others) > 0)),
    )


def followers(arrivals: Arrivals) -> float:
    """Arrivals soon after one beyond what the rate says: (c² − 1) / 2 for gaps of squared variation c².

    That is the constant of the renewal function, m(t) → λt + (c² − 1) / 2 (Cox: Renewal Theory, 1962,
    section 4.2). Other processes than gamma count as if they were Poisson.

    >>> followers(Arrivals("gamma", cv=3.0)), followers(Arrivals())
    (4.0, 0.0)
    """
    return max(arrivals.cv**2 - 1, 0.0) / 2 if arrivals.process == "gamma" else 0.0


def _wait_s(load: float, mean_s: float, scv: float) -> float:
    return load * mean_s * (1 + scv) / 2 / max(1 - load, 0.05)
