"""Close calls are decided by simulation: of placements within the prediction's accuracy, which is quicker?

The response is within about 10 % of what is simulated, so of two placements that are nearer to each other it
can name the wrong one. Such rivals are simulated with common random numbers that no later run uses. A
rival replaces the chosen placement only if it is clearly quicker, by the interval of paired differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.placement import Placement, Queries, Rival, Sampled
from nona.placement.sampled.choose import judged, mean_of
from nona.placement.sampled.judge import Values
from nona.schedulers.registry import get_scheduler
from nona.schedulers.tables import build_tables
from nona.simulation.paired import paired_difference
from nona.simulation.run import RunOptions, simulate_run
from nona.system import System

RUNS = 5  # the fewest pairs that give a variance to rely on
EVENTS = 40_000  # tasks and background arrivals of one run, about
RIVALS = 3
_FIRST = 1_000_000  # number of the first replication: nobody else uses these random numbers
_FEWEST = 200  # jobs of a run


def decide(system: System, placement: Placement, check: Callable[[], None] = lambda: None) -> Placement:
    """The placement, or the rival that is clearly quicker when both are simulated.

    Only placements whose objective is the mean JCT, judged by sampled jobs, have rivals here.
    """
    sampled = placement.sampled
    if sampled is None or sampled.objective != "mean-jct" or not sampled.rivals:
        return placement
    own = simulated_means_s(system, placement, placement.queries, check)
    best: tuple[float, Rival] | None = None
    for rival in sampled.rivals[:RIVALS]:
        gain = _clear_gain_s(own, simulated_means_s(system, placement, rival.queries, check))
        if gain > (best[0] if best else 0.0):
            best = gain, rival
    return placement if best is None else _replaced(system, placement, best[1])


def _clear_gain_s(own: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """By how much the other one is clearly quicker, seconds; 0 where it is not."""
    if not np.isfinite(other).all():
        return 0.0
    if not np.isfinite(own).all():
        return float(np.inf)
    found = paired_difference(own, other)
    return max(found.difference.mean, 0.0) if found.is_clear else 0.0


def _replaced(system: System, placement: Placement, rival: Rival) -> Placement:
    values = mean_of(system, placement, rival.queries)
    made = judged(system, placement, rival.queries, values, rival.origin)
    note = (
        f"Simulated beside its rivals, {rival.origin} was clearly quicker than what sampled jobs preferred."
    )
    return replace(made, notes=(note, *placement.notes), sampled=_told(placement, rival, values))


def _told(placement: Placement, rival: Rival, values: Values) -> Sampled | None:
    """The figures of the search with the rival in the place of what it replaces."""
    found = placement.sampled
    if found is None:
        return None
    return replace(
        found,
        value=values.value,
        error=values.error,
        gain=found.formula_value - values.value,
        gain_error=math.hypot(values.error, placement.objective_error_s),  # unpaired: rather too large
        queries=tuple(float(y.mean()) for y in values.y),
        origin=rival.origin,
        rivals=tuple(other for other in found.rivals if other is not rival),
    )


def simulated_means_s(
    system: System, placement: Placement, queries: Queries, check: Callable[[], None] = lambda: None
) -> NDArray[np.float64]:
    """(RUNS,) Mean completion time of each run in seconds, infinite where the system was overloaded."""
    scheduler = get_scheduler("nona")
    prepared = build_tables(system, queries, shares=placement.class_shares)
    jobs, means = jobs_of(system), []
    for r in range(RUNS):
        check()
        records = simulate_run(system, scheduler, prepared, RunOptions(jobs=jobs, replication=_FIRST + r))
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
