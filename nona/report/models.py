"""One model: its work, its contraction, its times by kind of operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nona.contraction.contracted import ContractedGraph, Step, summarize_contraction
from nona.cost.batches import batch_sizes, fit_batches
from nona.cost.costed import CostedGraph, OperatorCost, total_interval
from nona.decomposition import VIRTUAL, Decomposition
from nona.placement.enumeration import IdleSpan
from nona.report.times import given_times, hardware_warnings, no_verdict, origin_text
from nona.results import models
from nona.tables import COUNT, PLAIN, SIZE, TIME, Column, Filled, Table
from nona.units import format_number


def inspection(costed: CostedGraph) -> models.Inspection:
    """Figures of a model on one device, for ``nona inspect`` and the Models page."""
    graph, costs = costed.graph, costed.costs
    refused = no_verdict(graph.name, costed.uncounted, costed.with_work)
    return models.Inspection.like(
        costed,
        model=graph.name,
        operators=len(graph.operators),
        edges=len({(e.source, e.target) for e in graph.edges}),
        gmac=sum(c.macs for c in costs) / 1e9,
        gflop=sum(c.flops for c in costs) / 1e9,
        parameters=graph.parameter_count,
        weight_bytes=graph.weight_bytes,
        activation_bytes=sum(c.write_bytes for c in costs),
        total_compute_interval_s=total_interval(costed),
        provenance=provenance_shares(costed),
        given=given_times(costed),
        warnings=(
            *filter(None, [refused]),
            *graph.warnings,
            *costed.warnings,
            *hardware_warnings({graph.name: given_times(costed)}),
        ),
        by_part=bool(refused),
    )


def batched_times(seconds: Sequence[float], sizes: Sequence[int] = ()) -> models.BatchedTimes:
    """The times of batches of ``sizes`` (powers of two), given ``seconds`` of those of 1, …, B queries."""
    chosen = sizes or batch_sizes(len(seconds))
    times = [float(seconds[size - 1]) for size in chosen]
    return models.BatchedTimes(
        batches=tuple(
            models.BatchTime(batch=b, compute_s=s, queries_per_s=b / s if s > 0 else None)
            for b, s in zip(chosen, times, strict=True)
        ),
        fit=fit_batches(chosen, times),
    )


def provenance_shares(costed: CostedGraph) -> dict[str, float]:
    """Fraction of the total time by origin (given, measured, calibrated, modelled)."""
    shares: dict[str, float] = {}
    total = costed.total_compute_s
    for cost in costed.costs:
        share = cost.compute_s / total if total > 0 else 1 / len(costed.costs)
        shares[cost.provenance] = shares.get(cost.provenance, 0.0) + share
    return shares


def contraction(
    contracted: ContractedGraph,
    costed: CostedGraph,
    decomposition: Decomposition,
    configurations: Sequence[int],
) -> models.ContractionReport:
    """Steps, tasks and sub-graphs, for ``nona contract``.

    ``configurations`` holds the number of configurations of each sub-graph.
    """
    ids = [t.id for t in contracted.tasks]
    compute_s = contracted.sum_over_tasks(costed.compute_s)
    return models.ContractionReport(
        model=contracted.graph.name,
        rule=contracted.rule,
        summary=summarize_contraction(contracted).text,
        operators=len(contracted.graph.operators),
        tasks=len(ids),
        steps=tuple(models.ContractionStep.like(s, merged=(s.source, s.target)) for s in contracted.steps),
        task_list=tuple(
            models.ListedTask(id=t.id, operators=tuple(t.operators), compute_s=seconds)
            for t, seconds in zip(contracted.tasks, compute_s, strict=True)
        ),
        edges=tuple(
            models.TaskEdge(source=source, target=target, bytes=size)
            for (source, target), size in contracted.pair_bytes().items()
        ),
        subgraphs=tuple(
            models.CountedSubgraph(
                root=_name(ids, s.root),
                sink=_name(ids, s.sink),
                interior=tuple(ids[t] for t in s.interior),
                configurations=count,
            )
            for s, count in zip(decomposition.subgraphs, configurations, strict=True)
        ),
    )


def _name(ids: Sequence[str], task: int) -> str | None:
    return None if task == VIRTUAL else ids[task]


def provenance_text(shares: Mapping[str, float]) -> str:
    """The origin of the times in words.

    >>> provenance_text({"modelled": 0.75, "measured": 0.25})
    'times: 75 % modelled, 25 % measured'
    """
    ordered = sorted(shares.items(), key=lambda s: (-s[1], s[0]))
    return "times: " + ", ".join(f"{format_number(100 * share)} % {kind}" for kind, share in ordered)


class _Compared(NamedTuple):
    of: models.Inspection
    tasks: int


COMPARED = Table[_Compared](
    "",
    (
        Column("model", lambda r: r.of.model),
        Column("operators", lambda r: r.of.operators, COUNT),
        Column("tasks", lambda r: r.tasks, COUNT),
        Column("work in GMAC", lambda r: r.of.gmac),
        Column("weights", lambda r: r.of.weight_bytes, SIZE),
        Column("one after the other", lambda r: r.of.total_compute_s, TIME),
        Column("longest chain", lambda r: r.of.critical_path_s, TIME),
        Column("parallelism", lambda r: r.of.parallelism),
    ),
)


def compared(costed: Mapping[str, CostedGraph], tasks: Sequence[int]) -> Filled:
    """Figures of several models by their names, each with its number of tasks."""
    return COMPARED.of(
        _Compared(inspection(graph).model_copy(update={"model": name}), count)
        for (name, graph), count in zip(costed.items(), tasks, strict=True)
    )


class _Costed(NamedTuple):
    cost: OperatorCost
    device: str


# Bare numbers, by which also the largest tables are sorted.
OPERATORS = Table[_Costed](
    "",
    (
        Column("operator", lambda r: r.cost.id),
        Column("kind", lambda r: r.cost.kind),
        Column("MFLOP", lambda r: r.cost.flops / 1e6, PLAIN),
        Column("activations kB", lambda r: (r.cost.read_bytes + r.cost.write_bytes) / 1e3, PLAIN),
        Column("weights kB", lambda r: r.cost.weight_bytes / 1e3, PLAIN),
        Column("time µs", lambda r: r.cost.compute_s * 1e6, PLAIN),
        Column("provenance", lambda r: origin_text(r.cost, r.device)),
    ),
)


def operators(costed: CostedGraph) -> Filled:
    """Work and time of every operator, and the source of the time."""
    return OPERATORS.of(_Costed(cost, costed.device) for cost in costed.costs)


class _Numbered(NamedTuple):
    number: int
    step: Step


STEPS = Table[_Numbered](
    "",
    (
        Column("step", lambda r: r.number, COUNT),
        Column("task", lambda r: r.step.source),
        Column("absorbs", lambda r: r.step.target),
        Column("rule", lambda r: r.step.rule),
        Column("why it is allowed", lambda r: r.step.reason),
    ),
)


def steps(contracted: ContractedGraph) -> Filled:
    """Every contraction step and why it is allowed."""
    return STEPS.of(_Numbered(*each) for each in enumerate(contracted.steps, start=1))


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
) -> Filled:
    """Every sub-graph with an interior, and what splitting it could save.

    ``counts`` are the configurations of all sub-graphs, where they are known.
    """
    ids = [t.id for t in contracted.tasks]
    count_of = dict(zip(decomposition.subgraphs, counts, strict=True)) if counts is not None else {}
    return LEFT.of(
        _Left(
            number, _name(ids, of.subgraph.root), _name(ids, of.subgraph.sink), of, count_of.get(of.subgraph)
        )
        for number, of in enumerate(spans, start=1)
    )
