"""GPUs that batch, measured, beside the simulation of the same queries.

An H100 and an H200 served ResNet-50, BERT-base or both at once in real time: Poisson arrivals, batches by
a rule, each with its copy to the GPU and back. The times of steps were measured before in the same program
(``benchmarks/gpu_serving.py``); nothing is fitted to the runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from nona.hardware.table_file import shipped_table
from nona.results.document import TimeBeside
from nona.simulation.agreement import one_task_query, system_of
from nona.simulation.known_systems import bind_to
from nona.simulation.run import RunOptions, simulate_run
from nona.statistics import Array, percentile
from nona.system import Arrivals, Batching, QueryClass
from studies.results import MeasuredBatches

STATISTICS = ("mean", "p50", "p95", "p99")


def beside_measured() -> tuple[MeasuredBatches, ...]:
    """Simulate the queries of every measured run at the instants at which they came; about 4 s."""
    step_s: dict[tuple[str, str], list[float]] = {}
    for row in shipped_table("nona.study", "data/measured_steps.csv"):
        step_s.setdefault((row["gpu"], row["model"]), []).append(float(row["ms"]) / 1e3)
    times = {key: np.array(seconds) for key, seconds in step_s.items()}
    return tuple(_beside(row, times) for row in shipped_table("nona.study", "data/measured_batches.csv"))


def _beside(row: Mapping[str, str], times: Mapping[tuple[str, str], Array]) -> MeasuredBatches:
    models = tuple(row["models"].split("+"))
    rates = tuple(float(rate) for rate in row["rates"].split("+"))
    counts = [int(jobs) for jobs in row["jobs"].split("+")]
    largest, delay_s, jobs = int(row["max_batch"]), float(row["delay_ms"]) / 1e3, sum(counts)
    stream = np.random.default_rng(int(row["seed"]))
    instants = [
        np.cumsum(stream.exponential(1.0, count)) / rate for rate, count in zip(rates, counts, strict=True)
    ]
    queries = [
        _query(model, rate, of, times[row["gpu"], model][:largest], delay_s)
        for model, rate, of in zip(models, rates, instants, strict=True)
    ]
    executor = bind_to(*([0] for _ in queries))
    system = system_of(queries)
    records = simulate_run(
        system, executor, executor.prepare(system, None, {}), RunOptions(jobs=jobs, warmup=0)
    )
    simulated_s = records.completion_time_s
    sizes = records.batch_sizes
    steps = float(jobs) if sizes is None else float(sizes.sum())
    of = {"mean": float(simulated_s.mean())} | {
        name: percentile(simulated_s, float(name[1:])) for name in STATISTICS[1:]
    }
    return MeasuredBatches(
        gpu=row["gpu"],
        models=models,
        rates=rates,
        max_batch=largest,
        delay_s=delay_s,
        load=float(row["load"]),
        jobs=jobs,
        times=tuple(
            TimeBeside(
                measure="jct_s",
                statistic=name,
                measured_s=float(row[f"{name}_ms"]) / 1e3,
                simulated_s=of[name],
            )
            for name in STATISTICS
        ),
        measured_batch=float(row["mean_batch"]),
        simulated_batch=jobs / steps,
        step_drift=float(row["steps_pct"]) / 100 if row["steps_pct"] else None,
    )


def _query(model: str, rate: float, instants: Array, step_s: Array, delay_s: float) -> QueryClass:
    query = one_task_query(model, rate, float(step_s[0]))
    batching = Batching(step_s[:, None, None], "delay" if delay_s else "greedy", delay_s)
    return replace(
        query,
        arrivals=Arrivals("trace", times_s=tuple(instants.tolist()), scale_to_rate=False),
        batching=batching if len(step_s) > 1 else None,
    )
