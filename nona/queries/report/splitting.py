"""What splitting a model could gain: its sub-graphs with an interior, and the times of their best splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from nona.core.tables import COUNT, SIZE, TIME, Column, FilledTable, Table
from nona.models.contraction.contracted import ContractedGraph
from nona.models.decomposition import Decomposition
from nona.models.report import task_name
from nona.queries.placement.enumeration import IdleSpan


class _Left(NamedTuple):
    number: int
    root: str | None
    sink: str | None
    span: IdleSpan
    configurations: int | None


LEFT = Table[_Left](
    "",
    (
        Column("sub-graph", lambda r: r.number, COUNT, decides=True),
        Column("root", lambda r: r.root or "(start)", decides=True),
        Column("sink", lambda r: r.sink or "(end)", decides=True),
        Column("interior tasks", lambda r: len(r.span.subgraph.interior), COUNT, decides=True),
        Column(
            "on one server",
            lambda r: r.span.local_s,
            TIME,
            decides=True,
            help="All its tasks one after the other.",
        ),
        Column(
            "saved at most",
            lambda r: r.span.local_s - r.span.critical_s,
            TIME,
            decides=True,
            help="What splitting saves of that if transfers were free: down to the longest chain.",
        ),
        Column(
            "saved over the link",
            lambda r: r.span.local_s - r.span.best_s,
            TIME,
            decides=True,
            help="What the best split saves over this cluster's link without other traffic; 0: none is "
            "faster than one server.",
        ),
        Column(
            "longest chain",
            lambda r: r.span.critical_s,
            TIME,
            help="The least time of any split if transfers were free.",
        ),
        Column(
            "best split",
            lambda r: r.span.best_s,
            TIME,
            help="The best split over this cluster's link without other traffic; one server counts too.",
        ),
        Column(
            "border",
            lambda r: r.span.border_bytes,
            SIZE,
            help="Distinct tensors from its root into it, and from it into its sink.",
        ),
        Column("configurations", lambda r: r.configurations, COUNT, decides=True, optional=True),
    ),
)


def left_to_distribute(
    contracted: ContractedGraph,
    decomposition: Decomposition,
    spans: Sequence[IdleSpan],
    counts: Sequence[int] | None,
) -> FilledTable:
    """Every sub-graph with an interior, and what splitting it could save.

    ``counts`` are the configurations of all sub-graphs, where they are known.
    """
    ids = [t.id for t in contracted.tasks]
    count_of = dict(zip(decomposition.subgraphs, counts, strict=True)) if counts is not None else {}
    return LEFT.fill(
        _Left(
            number,
            task_name(ids, of.subgraph.root),
            task_name(ids, of.subgraph.sink),
            of,
            count_of.get(of.subgraph),
        )
        for number, of in enumerate(spans, start=1)
    )
