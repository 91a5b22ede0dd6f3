"""Batches of one model on pages: what they gain, their times and what an executor serves with them.

Last GPUs that batch, measured beside their simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import DASHED, PALETTE, add_line, add_points, figure, log_axis, rule
from nona.results.document import TimeBeside
from nona.results.models import BatchedTimes
from nona.results.studies import MeasuredBatches
from nona.tables import CHANGE, COUNT, PRECISE, SHARE, Column, Kind, Table, share_text
from nona.units import format_number, format_time


def gain_text(times: BatchedTimes) -> str:
    """The finding: what the largest batch takes and serves, over a query alone.

    >>> from nona.report.models import batched_times
    >>> gain_text(batched_times([2e-3, 2.5e-3, 3e-3, 4e-3]))
    'A batch of 4 takes 2 times as long as one query: an executor serves 2 times as many a second'
    """
    one, largest = times.batches[0], times.batches[-1]
    if not one.compute_s:
        return "Its queries take no time"
    longer = largest.compute_s / one.compute_s
    return (
        f"A batch of {largest.batch:,} takes {format_number(longer)} times as long as one query: an executor "
        f"serves {format_number(largest.batch / longer)} times as many a second"
    )


def times_figure(times: BatchedTimes, slo_s: float | None, delay_s: float = 0.0) -> go.Figure:
    """By batch: its time, the line through it, the bound of latency where the next batch serves all.

    A query that just misses a batch waits until it ends, and for no less than ``delay_s``, then runs; no
    bound is drawn where that is infinite.
    """
    sizes, ms = [b.batch for b in times.batches], [1e3 * b.compute_s for b in times.batches]
    chart = _by_batch(times, "ms")
    line_ms = [1e3 * (times.fit.fixed_s + times.fit.per_query_s * b) for b in sizes]
    add_line(chart, "fitted line", sizes, line_ms, DASHED)
    _add(chart, "time s(b)", sizes, ms, PALETTE[0])
    if math.isfinite(delay_s):
        _add(chart, "latency bound", sizes, [t + max(t, 1e3 * delay_s) for t in ms], PALETTE[2])
    if slo_s is not None and 1e3 * slo_s < 4 * ms[-1]:
        rule(chart, 1e3 * slo_s, "SLO")
    return chart


def served_figure(times: BatchedTimes) -> go.Figure:
    """By batch: the queries that an executor serves a second."""
    chart = _by_batch(times, "queries/s")
    rates = [b.queries_per_s for b in times.batches]
    _add(chart, "served b/s(b)", [b.batch for b in times.batches], rates, PALETTE[1])
    return chart


def _by_batch(times: BatchedTimes, unit: str) -> go.Figure:
    chart = figure(260)
    chart.update_xaxes(title="queries in a batch", tickvals=[b.batch for b in times.batches])
    chart.update_yaxes(title=unit, rangemode="tozero")
    return chart


def _add(chart: go.Figure, name: str, x: Sequence[float], y: Sequence[float | None], colour: str) -> None:
    unit = chart.layout.yaxis.title.text
    look = Look(colour, "solid", "circle")
    add_points(chart, name, x, y, look, f"batch %{{x}}<br>%{{y:.4g}} {unit}", 7, joined=True)


MEASURED_SOURCE = (
    "Measured on 2026-11-27 on one NVIDIA H100 80 GB and one H200 with PyTorch 2.11.0 and CUDA 13.0, in "
    "fp16, each batch size a CUDA graph, copies to the GPU and back included; one run of 4 or 8 s each "
    "(benchmarks/gpu_serving.py). Near saturation a few per cent of a step decide: in the run of the H200 "
    "that is simulated worst, one by one at 85 % load, steps took 3.1 % longer than those timed before; with "
    "the times of its own steps its mean is 9 % too short, not 27 %. On the H100 the first run's steps took "
    "4 % longer than timed."
)
_SIZE = Kind("{:.2f}".format, bare=True)


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
    add_line(chart, "equal", ends, ends, Look(PALETTE[7], "dash", "circle"), "", width=1.5)
    for k, (statistic, words) in enumerate((("mean", "mean"), ("p99", "99th percentile"))):
        pairs = [_at(run, statistic) for run in runs]
        x, y = [1e3 * t.measured_s for t in pairs], [1e3 * t.simulated_s for t in pairs]
        hover = f"{words}: measured %{{x:.3~r}} ms, simulated %{{y:.3~r}} ms"
        add_points(chart, words, x, y, Look(PALETTE[k], "solid", ("circle", "diamond")[k]), hover, size=8)
    log_axis(chart, ends, "measured, ms")
    log_axis(chart, ends, "simulated, ms", "y")
    return chart
