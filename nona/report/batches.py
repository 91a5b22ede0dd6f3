"""Batches of one model: their times, what an executor serves with them, the line through them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nona.cost.batches import batch_sizes, fit_batches
from nona.registry import Look
from nona.results.models import BatchedTimes, BatchTime
from nona.tables.table import COUNT, NUMBER, TIME, Column, Table
from nona.units import format_number, format_time

if TYPE_CHECKING:
    import plotly.graph_objects as go

BATCHES = Table[BatchTime](
    "",
    (
        Column("batch", lambda b: b.batch, COUNT),
        Column("time", lambda b: b.compute_s, TIME),
        Column("queries/s", lambda b: b.queries_per_s, NUMBER),
    ),
)


def batched_times(seconds: Sequence[float], sizes: Sequence[int] = ()) -> BatchedTimes:
    """The times of batches of ``sizes`` (powers of two), given ``seconds`` of those of 1, …, B queries."""
    chosen = sizes or batch_sizes(len(seconds))
    times = [float(seconds[size - 1]) for size in chosen]
    return BatchedTimes(
        batches=tuple(
            BatchTime(batch=b, compute_s=s, queries_per_s=b / s if s > 0 else None)
            for b, s in zip(chosen, times, strict=True)
        ),
        fit=fit_batches(chosen, times),
    )


def gain_text(times: BatchedTimes) -> str:
    """The finding: what the largest batch takes and serves, over a query alone.

    >>> gain_text(batched_times([2e-3, 2.5e-3, 3e-3, 4e-3]))
    'A batch of 4 takes 2 times as long as one query and serves 2 times as many'
    """
    one, largest = times.batches[0], times.batches[-1]
    if not one.compute_s:
        return "Its queries take no time"
    longer = largest.compute_s / one.compute_s
    return (
        f"A batch of {largest.batch:,} takes {format_number(longer)} times as long as one query and serves "
        f"{format_number(largest.batch / longer)} times as many"
    )


def fit_text(times: BatchedTimes) -> str:
    """The line through the times in words.

    >>> fit_text(batched_times([3e-3, 4e-3, 5e-3, 6e-3]))
    's(b) ≈ 2 ms + 1 ms · b, at most 0.0 % off'
    """
    fit = times.fit
    sign = "−" if fit.fixed_s < 0 else ""
    return (
        f"s(b) ≈ {sign}{format_time(abs(fit.fixed_s))} + {format_time(fit.per_query_s)} · b, "
        f"at most {100 * fit.error:.1f} % off"
    )


def batches_figure(times: BatchedTimes, slo_s: float | None) -> go.Figure:
    """By batch: its time, the line through it, the bound of latency where the next batch serves all."""
    from nona.report.figures import PALETTE, QUIET, add_line, add_points, figure, finished, rule

    sizes, ms = [b.batch for b in times.batches], [1e3 * b.compute_s for b in times.batches]
    chart = figure(260)
    own, bound, served = (Look(PALETTE[k], "solid", "circle") for k in (0, 2, 1))
    line_ms = [1e3 * (times.fit.fixed_s + times.fit.per_query_s * b) for b in sizes]
    add_line(chart, "fitted line", sizes, line_ms, Look(QUIET, "dash", "circle"))
    hover = "batch %{x}<br>%{y:.4g} ms"
    add_points(chart, "time s(b)", sizes, ms, own, hover, 7, joined=True)
    add_points(chart, "latency bound 2·s(b)", sizes, [2 * t for t in ms], bound, hover, 7, joined=True)
    rates, word = [b.queries_per_s for b in times.batches], "batch %{x}<br>%{y:.4g}/s"
    add_points(chart, "served b/s(b)", sizes, rates, served, word, 7, joined=True, xaxis="x2", yaxis="y2")
    axis = chart.layout.xaxis.to_plotly_json() | {"title": "queries in a batch", "tickvals": sizes}
    chart.update_layout(
        xaxis=axis | {"domain": [0, 0.46]},
        xaxis2=axis | {"domain": [0.56, 1], "anchor": "y2"},
        yaxis={"title": "ms", "rangemode": "tozero"},
        yaxis2=chart.layout.yaxis.to_plotly_json()
        | {"title": "queries/s", "rangemode": "tozero", "anchor": "x2"},
    )
    if slo_s is not None and 1e3 * slo_s < 4 * ms[-1]:
        rule(chart, 1e3 * slo_s, "SLO")
    return finished(chart)
