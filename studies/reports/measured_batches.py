"""GPUs that batch, measured beside their simulation: finding, table, figure."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from nona.registry import Look
from nona.report.figures import PALETTE, add_line, add_points, figure, log_axis
from nona.results.document import TimeBeside
from nona.tables import CHANGE, COUNT, PRECISE, SHARE, Column, Kind, Table, share_text
from nona.units import format_time
from studies.results import MeasuredBatches

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
