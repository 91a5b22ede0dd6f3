"""Layouts of stages in sentences and rows: who shares GPUs, and which layout is the fastest."""

from __future__ import annotations

from nona.core.tables import KEPT, TIME, Column, FilledTable, NumberKind, Table, kept_text, time_text
from nona.core.text import join_words
from nona.core.units import format_number
from nona.queries.placement.results import ComparedLayout, LayoutComparison, SharedGpus

ABOUT = (
    "Each layout was simulated with the same jobs. Stages that share a GPU run there at once and slow one "
    "another. With pools, each query starts at the least loaded GPU; without pools Nona's placement decides."
)


def gpus_text(layout: ComparedLayout) -> str:
    """Say which GPUs have which instances.

    >>> shared = SharedGpus(gpus=2, kind="t4", instances={"detect": 1, "read": 2})
    >>> gpus_text(ComparedLayout(title="", gpus=(shared,), scheduler="least-loaded", changes={}))
    '2 × t4: detect, 2 × read'
    """
    if not layout.gpus:
        return "all stages, one at a time"
    return "; ".join(f"{g.gpus} × {g.kind}: {_instances(g)}" for g in layout.gpus)


def _instances(shared: SharedGpus) -> str:
    names = [name if count == 1 else f"{count} × {name}" for name, count in shared.instances.items()]
    return ", ".join(names) or "no stage"


LAYOUTS = Table[ComparedLayout](
    "",
    (
        Column("layout", lambda r: r.title, decides=True),
        Column(
            "mean JCT",
            lambda r: r.jct_s if not r.reason else "no steady state",
            TIME,
            interval=True,
            decides=True,
        ),
        Column("p95", lambda r: r.p95_s, TIME),
        Column("SLO hits", lambda r: r.slo_hit_rate, KEPT, interval=True, decides=True, optional=True),
        Column(
            "queries per second", lambda r: r.per_s, NumberKind(format_number), decides=True, optional=True
        ),
        Column("GPUs and their instances", gpus_text, decides=True),
        Column("scheduler", lambda r: r.scheduler),
        Column("why", lambda r: r.reason or None, optional=True),
    ),
)


def layout_rows(comparison: LayoutComparison) -> FilledTable:
    """Return the layouts, the best first."""
    return LAYOUTS.fill(comparison.layouts)


def layout_finding(comparison: LayoutComparison) -> str:
    """Say which layout leads, and what those with a name give beside it."""
    best, *others = comparison.layouts
    if best.reason:
        return f"{comparison.row}: none of {comparison.candidates} layouts of its stages has a steady state."
    level = [f"“{title}”" for title in comparison.level]
    lead = (
        f"“{best.title}” is not clearly better than {join_words(level)}"
        if level
        else f"“{best.title}” is the best"
    )
    beside = [f"“{r.title}” {_figure(comparison, r)}" for r in others if r.title not in comparison.level]
    rest = f"; {join_words(beside[:3])}" if beside else ""
    return (
        f"{comparison.row}: of {comparison.candidates} layouts of its stages {lead}; "
        f"it {_figure(comparison, best)}{rest}."
    )


def _figure(comparison: LayoutComparison, layout: ComparedLayout) -> str:
    if layout.reason:
        return "has no steady state"
    if comparison.objective == "slo":
        return f"has {kept_text(layout.slo_hit_rate.mean)} SLO hits"
    return f"has a mean JCT of {time_text(layout.jct_s.mean)}"
