"""One model: its work, its contraction, its times by kind of operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nona.cluster.hardware.executor import sharing_warnings
from nona.core.tables import COUNT, NUMBER, PLAIN, SIZE, TIME, Column, FilledTable, Table, share_text
from nona.core.text import count_text
from nona.core.units import format_count, format_number, format_size, format_time
from nona.models import results as models
from nona.models.contraction.contracted import ContractedGraph, MergeStep, summarize_contraction
from nona.models.cost.batches import batch_sizes, fit_batches
from nona.models.cost.costed import CostedGraph, OperatorCost, total_interval
from nona.models.decomposition import VIRTUAL, Decomposition
from nona.models.times_report import given_text, given_times, hardware_warnings, no_verdict, origin_text


def inspection(costed: CostedGraph) -> models.Inspection:
    """Figures of a model on one device, for ``nona inspect`` and the Models page.

    Parameters
    ----------
    costed : CostedGraph
        The model, costed on one device.

    Returns
    -------
    Inspection
        What ``nona inspect --json`` prints: times in seconds, sizes in bytes.
    """
    graph, costs = costed.graph, costed.costs
    refused = no_verdict(graph.name, costed.uncounted, costed.with_work)
    return models.Inspection.from_fields(
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
            *sharing_warnings([costed.device]),
        ),
        by_part=bool(refused),
    )


def batched_times(
    seconds: Sequence[float], sizes: Sequence[int] = (), one: CostedGraph | None = None
) -> models.BatchedTimes:
    """Return the times of batches of ``sizes`` (powers of two) from those of 1, …, B queries.

    ``one``: the costs of one query, whose error batches share.
    """
    chosen = sizes or batch_sizes(len(seconds))
    times = [float(seconds[size - 1]) for size in chosen]
    return models.BatchedTimes(
        batches=tuple(
            models.BatchTime(
                batch=b,
                compute_s=s,
                queries_per_s=b / s if s > 0 else None,
                interval_s=_interval(one, s),
            )
            for b, s in zip(chosen, times, strict=True)
        ),
        fit=fit_batches(chosen, times),
    )


def _interval(one: CostedGraph | None, time_s: float) -> tuple[float, float] | None:
    """Scale the interval of one query's time to that of a batch."""
    if one is None or one.total_compute_s <= 0:
        return None
    low_s, high_s = total_interval(one)
    if low_s == high_s:
        return None
    return low_s / one.total_compute_s * time_s, high_s / one.total_compute_s * time_s


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
    """Return steps, tasks and sub-graphs, for ``nona contract``.

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
        steps=tuple(
            models.ContractionStep.from_fields(s, merged=(s.source, s.target)) for s in contracted.steps
        ),
        task_list=tuple(
            models.ListedTask(id=t.id, operators=tuple(t.operators), compute_s=seconds)
            for t, seconds in zip(contracted.tasks, compute_s, strict=True)
        ),
        edges=tuple(
            models.TaskBytes(source=source, target=target, bytes=size)
            for (source, target), size in contracted.pair_bytes().items()
        ),
        subgraphs=tuple(
            models.CountedSubgraph(
                root=task_name(ids, s.root),
                sink=task_name(ids, s.sink),
                interior=tuple(ids[t] for t in s.interior),
                configurations=count,
            )
            for s, count in zip(decomposition.subgraphs, configurations, strict=True)
        ),
    )


def task_name(ids: Sequence[str], task: int) -> str | None:
    """Return the name of a cut task; ``None`` for the virtual source and sink."""
    return None if task == VIRTUAL else ids[task]


def provenance_text(shares: Mapping[str, float]) -> str:
    """Return the origin of the times in words.

    >>> provenance_text({"modelled": 0.75, "measured": 0.25})
    'times: 75 % modelled, 25 % measured'
    """
    ordered = sorted(shares.items(), key=lambda s: (-s[1], s[0]))
    return "times: " + ", ".join(f"{format_number(100 * share)} % {kind}" for kind, share in ordered)


class _ComparedModel(NamedTuple):
    of: models.Inspection
    tasks: int


COMPARED = Table[_ComparedModel](
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


def compared(costed: Mapping[str, CostedGraph], tasks: Sequence[int]) -> FilledTable:
    """Figures of several models by their names, each with its number of tasks."""
    return COMPARED.fill(
        _ComparedModel(inspection(graph).model_copy(update={"model": name}), count)
        for (name, graph), count in zip(costed.items(), tasks, strict=True)
    )


class _CostRow(NamedTuple):
    cost: OperatorCost
    device: str


# Bare numbers, by which also the largest tables are sorted.
OPERATORS = Table[_CostRow](
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


def operators(costed: CostedGraph) -> FilledTable:
    """Work and time of every operator, and the source of the time."""
    return OPERATORS.fill(_CostRow(cost, costed.device) for cost in costed.costs)


class _NumberedTask(NamedTuple):
    number: int
    step: MergeStep


STEPS = Table[_NumberedTask](
    "",
    (
        Column("step", lambda r: r.number, COUNT),
        Column("task", lambda r: r.step.source),
        Column("absorbs", lambda r: r.step.target),
        Column("rule", lambda r: r.step.rule),
        Column("why it is allowed", lambda r: r.step.reason),
    ),
)


def steps(contracted: ContractedGraph) -> FilledTable:
    """Every contraction step and why it is allowed."""
    return STEPS.fill(_NumberedTask(*each) for each in enumerate(contracted.steps, start=1))


def inspection_text(report: models.Inspection) -> str:
    """Format the output of ``nona inspect``."""
    shares = ", ".join(f"{share_text(share)} {kind}" for kind, share in report.provenance.items())
    given = given_text(report.given, report.device)
    shares += f"; {given}" if given else ""
    low, high = map(format_time, report.total_compute_interval_s)
    interval = "" if low == high else f"; 90 % interval from {low} to {high}"
    lines = [
        f"{report.model} on {report.device}",
        f"  {report.operators} operators, {report.edges} edges, "
        f"{format_count(report.parameters)} parameters ({format_size(report.weight_bytes)})",
        f"  {format_number(report.gmac)} GMAC, {format_size(report.activation_bytes)} of activations",
        f"  time {format_time(report.total_compute_s)} in sequence ({shares}{interval}), "
        f"{format_time(report.critical_path_s)} on the critical path",
        f"  parallelism {report.parallelism:.3f}: "
        + (
            "of the work that is counted"
            if report.by_part
            else f"splitting a query gains at most {share_text(1 - 1 / report.parallelism, 1)} of its time"
        ),
        *(f"  warning: {w}" for w in report.warnings),
    ]
    return "\n".join(lines)


def _interval_text(batch: models.BatchTime) -> str | None:
    return None if batch.interval_s is None else " to ".join(map(format_time, batch.interval_s))


BATCHES = Table[models.BatchTime](
    "",
    (
        Column("batch", lambda b: b.batch, COUNT),
        Column("time", lambda b: b.compute_s, TIME),
        Column("queries/s", lambda b: b.queries_per_s, NUMBER),
        Column("90 % interval of the time", _interval_text, optional=True),
    ),
)


def fit_text(times: models.BatchedTimes) -> str:
    """Return the line through the times in words.

    >>> fit_text(batched_times([3e-3, 4e-3, 5e-3, 6e-3]))
    's(b) ≈ 2 ms + 1 ms · b, at most 0.0 % off'
    """
    fit = times.fit
    sign = "−" if fit.fixed_s < 0 else ""
    return (
        f"s(b) ≈ {sign}{format_time(abs(fit.fixed_s))} + {format_time(fit.per_query_s)} · b, "
        f"at most {100 * fit.error:.1f} % off"
    )


SUBGRAPHS = Table[models.CountedSubgraph](
    "",
    (
        Column("interior", lambda s: len(s.interior), COUNT),
        Column("configurations", lambda s: s.configurations, COUNT),
        Column("root", lambda s: s.root or "(start)"),
        Column("sink", lambda s: s.sink or "(end)"),
    ),
)


def contraction_text(report: models.ContractionReport) -> str:
    """Format the output of ``nona contract``."""
    lines = [
        f"{report.model}: {report.summary}",
        f"{count_text(len(report.subgraphs), 'sub-graph')} to place",
    ]
    if shown := SUBGRAPHS.fill(report.subgraphs):
        lines.append(shown.text())
    return "\n".join(lines)
