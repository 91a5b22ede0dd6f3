"""Reports on one model: its work (``inspect``) and its contraction (``contract``)."""

from __future__ import annotations

from collections.abc import Sequence

from nona.contraction.contracted import ContractedGraph
from nona.contraction.summary import summarize_contraction
from nona.cost.costed import CostedGraph
from nona.cost.uncertainty import total_interval
from nona.decomposition.subgraph import VIRTUAL, Decomposition
from nona.report.inputs.given_times import given_times, hardware_warnings
from nona.results.model import (
    ContractionReport,
    ContractionStep,
    CountedSubgraph,
    Inspection,
    ListedTask,
    TaskEdge,
)


def inspection(costed: CostedGraph) -> Inspection:
    """Figures of a model on one device, for ``nona inspect`` and the Models page."""
    graph, costs = costed.graph, costed.costs
    return Inspection(
        model=graph.name,
        device=costed.device,
        operators=len(graph.operators),
        edges=len({(e.source, e.target) for e in graph.edges}),
        gmac=sum(c.macs for c in costs) / 1e9,
        gflop=sum(c.flops for c in costs) / 1e9,
        parameters=graph.parameter_count,
        weight_bytes=graph.weight_bytes,
        activation_bytes=sum(c.write_bytes for c in costs),
        total_compute_s=costed.total_compute_s,
        total_compute_interval_s=total_interval(costed),
        critical_path_s=costed.critical_path_s,
        parallelism=costed.parallelism,
        provenance=provenance_shares(costed),
        given=given_times(costed),
        warnings=(
            *graph.warnings,
            *costed.warnings,
            *hardware_warnings({graph.name: given_times(costed)}),
        ),
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
) -> ContractionReport:
    """Steps, tasks and sub-graphs, for ``nona contract``.

    ``configurations`` holds the number of configurations of each sub-graph.
    """
    ids = [t.id for t in contracted.tasks]
    compute_s = contracted.sum_over_tasks(costed.compute_s)
    return ContractionReport(
        model=contracted.graph.name,
        rule=contracted.rule,
        summary=summarize_contraction(contracted).text,
        operators=len(contracted.graph.operators),
        tasks=len(ids),
        steps=tuple(
            ContractionStep(into=s.into, merged=(s.source, s.target), edge=s.edge, reason=s.reason)
            for s in contracted.steps
        ),
        task_list=tuple(
            ListedTask(id=t.id, operators=tuple(t.operators), compute_s=seconds)
            for t, seconds in zip(contracted.tasks, compute_s, strict=True)
        ),
        edges=tuple(
            TaskEdge(source=source, target=target, bytes=size)
            for (source, target), size in contracted.pair_bytes().items()
        ),
        subgraphs=tuple(
            CountedSubgraph(
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
