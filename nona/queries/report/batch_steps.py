"""Batches of a simulation: sizes, waits to fill, and load beside busy time."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from nona.core.figures import add_bars, figure, scheduler_style, text
from nona.core.tables import COUNT, SHARE, TIME, Column, FilledTable, NumberKind, Table
from nona.core.units import format_number
from nona.queries.results import BatchSteps, Schedulers


@dataclass(frozen=True, slots=True)
class _Row:
    scheduler: str
    model: str
    batches: BatchSteps
    offered: float | None = None
    busy: float | None = None


BATCHES = Table[_Row](
    "",
    (
        Column("scheduler", lambda r: r.scheduler, decides=True),
        Column("model", lambda r: r.model, decides=True),
        Column("mean batch", lambda r: r.batches.mean_size, NumberKind(format_number), decides=True),
        Column("largest", lambda r: max(r.batches.sizes), COUNT),
        Column("of one query", lambda r: r.batches.sizes.get(1, 0.0), SHARE),
        Column("wait to fill", lambda r: r.batches.fill_wait_s, TIME, decides=True),
        Column("load at full batches", lambda r: r.offered, SHARE, decides=True),
        Column("busy", lambda r: r.busy, SHARE, decides=True),
    ),
)
LOAD_AND_BUSY = (
    "An executor that batches is busy long before it is full: at low load it runs many small batches. Its "
    "load, not its busy time, shows the remaining capacity. Load is the share of time that its queries would "
    "need in full batches."
)


def batch_rows(schedulers: Schedulers) -> FilledTable:
    """Each scheduler's batches, all models together and, where there are several, of each; overload aside."""
    rows = []
    for name, s in schedulers.items():
        if s.batches is not None:
            rows.append(_Row(name, "all", s.batches, s.offered.compute, s.utilization.compute))
            several = s.models.items() if len(s.models) > 1 else ()
            rows += [_Row(name, model, m.batches) for model, m in several if m.batches]
    return BATCHES.fill(rows)


def batches_of(schedulers: Schedulers, model: str) -> dict[str, BatchSteps]:
    """Scheduler → the batches of one model, or of ``"all"``."""
    every = {name: s.batches if model == "all" else s.models[model].batches for name, s in schedulers.items()}
    return {name: batches for name, batches in every.items() if batches}


def sizes_figure(schedulers: Schedulers, model: str) -> go.Figure:
    """Shares of the batches by their number of queries, one colour per scheduler."""
    chart = figure(320)
    for name, batches in batches_of(schedulers, model).items():
        shares, colour = [100 * share for share in batches.sizes.values()], scheduler_style(name).colour
        hover = f"{text(name)}: %{{y:.1f}} % of the batches hold %{{x}}"
        add_bars(chart, name, list(batches.sizes), shares, colour, hover, upright=True)
    chart.update_xaxes(title="queries in a batch", dtick=1 if _most(schedulers, model) <= 16 else None)
    chart.update_yaxes(title="% of the batches", rangemode="tozero")
    return chart


def _most(schedulers: Schedulers, model: str) -> int:
    return max((max(b.sizes) for b in batches_of(schedulers, model).values()), default=1)
