"""Batches of one model on pages: what they gain, their times and what an executor serves with them.

Last GPUs that batch, measured beside their simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import plotly.graph_objects as go

from nona.core.figures import DASHED, PALETTE, add_line, add_points, figure, rule
from nona.core.registry import ChartStyle
from nona.core.units import format_number
from nona.models.results import BatchedTimes


def gain_text(times: BatchedTimes) -> str:
    """Return the finding: what the largest batch takes and serves, over a query alone.

    >>> from nona.models.report import batched_times
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
    look = ChartStyle(colour, "solid", "circle")
    add_points(chart, name, x, y, look, f"batch %{{x}}<br>%{{y:.4g}} {unit}", 7, joined=True)
