"""Simulated jobs per second of the engine against idiomatic SimPy, on the same numbers.

Run with ``python -m benchmarks.simulation_speed [JOBS]``. The two are timed in turn, and the ratio
is that of the medians. Completion instants must agree job by job, or the ratio means nothing.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from benchmarks.idiomatic_simpy import IdiomaticSimulation
from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import Decomposition
from nona.schedulers.registry import get_scheduler
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.workload import Workload
from nona.system import QueryClass, Stream, System

EXECUTORS = 80
WIDTHS = (4, 5, 6, 7, 8)  # tasks between fork and join: five job types of 8 tasks on average
REPEATS = 5


def fork_join(width: int) -> TaskGraph:
    """A root, ``width`` parallel tasks, a sink; milliseconds and megabytes that differ by place."""
    edges = [(0, 1 + i, 0.4e6 + 0.05e6 * i) for i in range(width)]
    edges += [(1 + i, 1 + width, 0.2e6 + 0.05e6 * i) for i in range(width)]
    edges.sort()
    source, target = ([e[k] for e in edges] for k in (0, 1))
    times = [2e-3] + [3e-3 + 0.5e-3 * i for i in range(width)] + [2e-3]
    return TaskGraph(
        name=f"fork-join {width}",
        task_ids=tuple(str(t) for t in range(width + 2)),
        compute_s=np.array([times]),
        weight_bytes=np.zeros(width + 2),
        edge_source=np.array(source, dtype=np.int64),
        edge_target=np.array(target, dtype=np.int64),
        edge_tensor=np.arange(len(edges)),
        tensor_source=np.array(source, dtype=np.int64),
        tensor_bytes=np.array([e[2] for e in edges]),
    )


def make_system(compute: float = 0.7, network: float = 0.5, background: float = 0.0) -> System:
    """Five job types at equal rates; ``compute`` and ``network`` are the loads of the queries."""
    graphs = [fork_join(w) for w in WIDTHS]
    work = sum(float(g.compute_s.sum()) for g in graphs)
    size = sum(float(g.tensor_bytes.sum()) for g in graphs)
    rate = compute * EXECUTORS / work
    return System(
        executor_server=np.arange(EXECUTORS),
        executor_class=np.zeros(EXECUTORS, dtype=np.int64),
        class_names=("gpu",),
        capacity=rate * size / network,
        latency_s=0.0,
        discipline="fifo",
        background_compute=Stream(background / 5e-3, 5e-3, 1.0),
        background_network=Stream(),
        queries=tuple(
            QueryClass(g.name, g, Decomposition((), ()), rate, service_scv=1.0, slo_s=0.1) for g in graphs
        ),
        seed=7,
    )


def main(jobs: int = 6000) -> None:
    """Time both, compare, print the ratio."""
    system = make_system()
    scheduler = get_scheduler("random")
    prepared = scheduler.prepare(system, None, {})
    options = RunOptions(jobs=jobs, warmup=0, run_on=False)
    rates: dict[str, list[float]] = {"idiomatic": [], "engine": []}
    for _ in range(REPEATS):
        begin = time.process_time()
        reference = IdiomaticSimulation(system).run(
            Workload(system, 0, prepared.uniforms_per_job).chunks(), jobs
        )
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
