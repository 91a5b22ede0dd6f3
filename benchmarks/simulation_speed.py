"""Simulated jobs per second of the engine against idiomatic SimPy, on the same numbers.

Run with ``python -m benchmarks.simulation_speed [JOBS]``. The two are timed in turn, and the ratio
is that of the medians. Completion instants must agree job by job, or the ratio means nothing.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from benchmarks.fork_join import EXECUTORS, make_system
from benchmarks.idiomatic_simpy import IdiomaticSimulation
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run

REPEATS = 5


def main(jobs: int = 6000) -> None:
    """Time both, compare, print the ratio."""
    system = make_system()
    scheduler = get_scheduler("random")
    prepared = scheduler.prepare(system, None, {})
    options = RunOptions(jobs=jobs, warmup=0, run_on=False)
    rates: dict[str, list[float]] = {"idiomatic": [], "engine": []}
    for _ in range(REPEATS):
        begin = time.process_time()
        reference = IdiomaticSimulation(system, scheduler, prepared).run(jobs)
        rates["idiomatic"].append(jobs / (time.process_time() - begin))
        begin = time.process_time()
        records = simulate_run(system, scheduler, prepared, options)
        rates["engine"].append(records.completed / (time.process_time() - begin))
        worst = float(np.max(np.abs(records.completion_s - np.array(reference))))
    slow, fast = (statistics.median(rates[k]) for k in ("idiomatic", "engine"))
    loaded = simulate_run(make_system(0.5, background=0.2), scheduler, prepared, RunOptions(jobs=jobs))
    print(f"{jobs} jobs, {EXECUTORS} executors, largest difference of a completion {worst:.3g} s")
    print(f"idiomatic SimPy {slow:10,.0f} jobs/s")
    print(f"engine          {fast:10,.0f} jobs/s   ratio {fast / slow:.1f}")
    print(f"engine with background of 0.2 on every executor {loaded.completed / loaded.seconds:,.0f} jobs/s")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
