"""GPUs that batch, measured, beside the simulation of the same queries.

An H100 and an H200 served ResNet-50, BERT-base or both at once in real time: Poisson arrivals, batches by
a rule, each with its copy to the GPU and back. The times of steps were measured before in the same program
(``benchmarks/gpu_serving.py``); nothing is fitted to the runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go

from evidence.by_hand import bind_to, one_task_query, system_of
from evidence.presented import grouped
from evidence.results import MeasuredBatches, TimeBeside
from nona.cluster.hardware.table_file import shipped_table
from nona.core.arrays import Floats
from nona.core.figures import PALETTE, add_line, add_points, figure, log_axis
from nona.core.registry import ChartStyle
from nona.core.statistics import percentile
from nona.core.tables import CHANGE, COUNT, PRECISE, SHARE, Column, NumberKind, Table, share_text
from nona.core.units import format_time
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.system import Batching, QueryClass
from nona.scenario.arrivals import Arrivals

STATISTICS = ("mean", "p50", "p95", "p99")


def beside_measured() -> tuple[MeasuredBatches, ...]:
    """Simulate the queries of every measured run at the instants at which they came; about 4 s."""
    steps = grouped(
        shipped_table("nona.queries.workflows", "data/measured_steps.csv"), lambda r: (r["gpu"], r["model"])
    )
    times = {key: np.array([float(row["ms"]) / 1e3 for row in rows]) for key, rows in steps.items()}
    return tuple(
        _beside(row, times) for row in shipped_table("nona.queries.workflows", "data/measured_batches.csv")
    )


def _beside(row: Mapping[str, str], times: Mapping[tuple[str, str], Floats]) -> MeasuredBatches:
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


def _query(model: str, rate: float, instants: Floats, step_s: Floats, delay_s: float) -> QueryClass:
    query = one_task_query(model, rate, float(step_s[0]))
    batching = Batching(step_s[:, None, None], "delay" if delay_s else "greedy", delay_s)
    return replace(
        query,
        arrivals=Arrivals("trace", times_s=tuple(instants.tolist()), scale_to_rate=False),
        batching=batching if len(step_s) > 1 else None,
    )


MEASURED_SOURCE = (
    "Measured on 2026-11-27 on one NVIDIA H100 80 GB and one H200 with PyTorch 2.11.0 and CUDA 13.0, in "
    "fp16, each batch size a CUDA graph, copies to the GPU and back included; one run of 4 or 8 s each "
    "(benchmarks/gpu_serving.py). Near saturation a few per cent of a step decide: in the run of the H200 "
    "that is simulated worst, one by one at 85 % load, steps took 3.1 % longer than those timed before; with "
    "the times of its own steps its mean is 9 % too short, not 27 %. On the H100 the first run's steps took "
    "4 % longer than timed."
)
_SIZE = NumberKind("{:.2f}".format, bare=True)


def _at(run: MeasuredBatches, statistic: str) -> TimeBeside:
    return next(time for time in run.times if time.statistic == statistic)


def _rule(run: MeasuredBatches) -> str:
    if run.max_batch == 1:
        return "one by one"
    return f"up to {run.max_batch}, " + (f"delay {format_time(run.delay_s)}" if run.delay_s else "greedy")


MEASURED = Table[MeasuredBatches](
    "",
    (
        Column("GPU", lambda r: r.gpu),
        Column("models", lambda r: " + ".join(r.models)),
        Column("steps", _rule),
        Column("load", lambda r: r.load, SHARE),
        Column("queries", lambda r: r.jobs, COUNT),
        Column("mean JCT, measured", lambda r: _at(r, "mean").measured_s, PRECISE, "measured"),
        Column("simulated", lambda r: _at(r, "mean").simulated_s, PRECISE),
        Column("error", lambda r: _at(r, "mean").error, CHANGE),
        Column("error of p99", lambda r: _at(r, "p99").error, CHANGE, "error_p99"),
        Column("mean size, measured", lambda r: r.measured_batch, _SIZE, "measured_size"),
        Column("size simulated", lambda r: r.simulated_batch, _SIZE, "simulated_size"),
        Column("steps beside those timed before", lambda r: r.step_drift, CHANGE, "step_drift"),
    ),
)


def measured_finding(runs: Sequence[MeasuredBatches]) -> str:
    """Say how far simulated means and tails are off, with batches and without."""
    several, alone = ([r for r in runs if (r.max_batch > 1) is batched] for batched in (True, False))
    return (
        f"In batches the simulated mean is within {_off(several, 'mean')} of the measured one, the 99th "
        f"percentile within {_off(several, 'p99')}; one by one within {_off(alone, 'mean')} and "
        f"{_off(alone, 'p99')}"
    )


def _off(runs: Sequence[MeasuredBatches], statistic: str) -> str:
    return share_text(max(abs(_at(run, statistic).error) for run in runs), 1)


def measured_figure(runs: Sequence[MeasuredBatches]) -> go.Figure:
    """Simulated over measured means and 99th percentiles, a point for each run, with the line of equality."""
    chart = figure(340)
    times = [1e3 * time.measured_s for run in runs for time in run.times]
    ends = [0.8 * min(times), 1.2 * max(times)]
    add_line(chart, "equal", ends, ends, ChartStyle(PALETTE[7], "dash", "circle"), "", width=1.5)
    for k, (statistic, words) in enumerate((("mean", "mean"), ("p99", "99th percentile"))):
        pairs = [_at(run, statistic) for run in runs]
        x, y = [1e3 * t.measured_s for t in pairs], [1e3 * t.simulated_s for t in pairs]
        hover = f"{words}: measured %{{x:.3~r}} ms, simulated %{{y:.3~r}} ms"
        add_points(
            chart, words, x, y, ChartStyle(PALETTE[k], "solid", ("circle", "diamond")[k]), hover, size=8
        )
    log_axis(chart, ends, "measured, ms")
    log_axis(chart, ends, "simulated, ms", "y")
    return chart
