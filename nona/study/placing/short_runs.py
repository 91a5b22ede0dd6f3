"""Short runs that decide between placements: their own random numbers, a fixed amount of work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.system import System

RUNS = 5  # of a round: the fewest pairs that give a variance to rely on
QUICK_RUNS = 2  # where an answer is wanted at once
EVENTS = 40_000  # tasks and background arrivals of one run, about
_FIRST = 1_000_000  # number of the first replication: nobody else uses these random numbers
_FEWEST = 500  # jobs of a run


def short_means_s(
    system: System,
    scheduler: Scheduler,
    prepared: Prepared,
    turn: int = 0,
    check: Callable[[], None] = lambda: None,
    runs: int = RUNS,
) -> NDArray[np.float64]:
    """(runs,) Mean completion time of each run of round ``turn``, seconds; at most RUNS of them.

    Infinite where the system was overloaded. Equal rounds have common random numbers.
    """
    jobs, means = jobs_of(system), []
    for r in range(runs):
        check()
        options = RunOptions(jobs=jobs, replication=_FIRST + turn * RUNS + r)
        records = simulate_run(system, scheduler, prepared, options)
        means.append(np.inf if records.state == "overloaded" else float(records.completion_time_s.mean()))
    return np.array(means)


def jobs_of(system: System) -> int:
    """Jobs of a run of about ``EVENTS`` events: tasks, and background arrivals while a job arrives."""
    rate = system.total_rate
    if rate <= 0:
        return _FEWEST
    tasks = sum(q.rate * len(q.tasks) for q in system.queries) / rate
    background = system.background_network.rate + system.executors * system.background_compute.rate
    return max(round(EVENTS / (tasks + background / rate)), _FEWEST)
