"""The report on a placement: memory, search by sampling, prediction, response."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.decomposition import VIRTUAL
from nona.placement.capacity import replicas, resident_bytes
from nona.placement.result import Objective, Placement, Prediction, ResponseTimes, SubGraphPlacement
from nona.placement.sampled.judge import certificate_of, reported_response
from nona.report.placements.certificate import formula_words
from nona.results import placement as result_placement
from nona.system import System
from nona.units import format_number, format_time


def memory_report(
    system: System, placement: Placement, names: Sequence[str]
) -> result_placement.MemoryReport:
    """Weights by executor class and by model, in bytes.

    An executor holds the weights of every model whose share of its class is positive, whole, as any
    part may come to it. ``replicas`` counts the executors that hold a model; rows of the workload
    with one model share them. Activations count for batches only, workspace never.
    """
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    models, counts = replicas(system), system.class_counts
    model_bytes = resident_bytes(system, shares > 0)
    room = system.class_memory_bytes
    label = [" + ".join(names[j] for j in r.queries) for r in models]
    classes = []
    for k, kind in enumerate(system.class_names):
        weights = {label[m]: float(model_bytes[m, k]) for m in range(len(models)) if model_bytes[m, k] > 0}
        resident = math.fsum(weights.values())
        memory = None if room is None else float(room[k])
        classes.append(
            result_placement.ClassMemory(
                executor_class=kind,
                executors=int(counts[k]),
                memory_bytes=memory,
                weights_bytes=weights,
                resident_bytes=resident,
                free_bytes=None if memory is None else memory - resident,
            )
        )
    where = np.array([(shares[list(r.queries)] > 0).any(axis=0) for r in models])
    copies = (where * counts).sum(axis=1)
    return result_placement.MemoryReport(
        classes=tuple(classes),
        models={
            label[m]: result_placement.ModelMemory(
                weight_bytes=r.size_bytes,
                replicas=int(copies[m]),
                replicas_bytes=r.size_bytes * int(copies[m]),
            )
            for m, r in enumerate(models)
        },
        replicas_bytes=math.fsum(r.size_bytes * int(copies[m]) for m, r in enumerate(models)),
    )


def shares_report(system: System, placement: Placement, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Model → executor class → probability that a server drawn for it is of that class."""
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    return {
        name: dict(zip(system.class_names, map(float, row), strict=True))
        for name, row in zip(names, shares, strict=True)
    }


def _sampled_report(placement: Placement, names: Sequence[str]) -> result_placement.SampledSearch | None:
    """The figures of the search; ``None`` where there was none."""
    sampled = placement.sampled
    if sampled is None:
        return None
    return result_placement.SampledSearch.like(sampled, models=dict(zip(names, sampled.queries, strict=True)))


def _value_text(objective: str, value: float | None) -> str:
    """A value of the objective as text.

    >>> _value_text("slo", 0.0123), _value_text("mean-jct", 0.0123), _value_text("slo", None)
    ('1.23 %', '12.3 ms', '–')
    """
    if value is None:
        return "–"
    return f"{100 * value:.2f} %" if objective == "slo" else format_time(value)


def missed_finding(report: result_placement.PlacementReport) -> str:
    """The result of a search for fewer missed SLOs, in a sentence; empty for other objectives."""
    sampled = report.sampled
    if sampled is None or report.objective != "slo":
        return ""

    def shown(share: float | None) -> str:
        return _value_text("slo", share)

    text = f"Predicted share of missed SLOs: {shown(sampled.value)} (standard error {shown(sampled.error)})"
    return f"{text}. {gain_finding(report)} {slo_bound_words(report)}"


def gain_finding(report: result_placement.PlacementReport) -> str:
    """State the gain of the search for fewer missed SLOs in a sentence; empty for other objectives."""
    sampled = report.sampled
    if sampled is None or report.objective != "slo":
        return ""
    if not sampled.gain:
        return f"No other candidate misses significantly fewer SLOs than {formula_words(report)}."
    fewer, own = format_number(100 * sampled.gain, 2), _value_text("slo", sampled.formula_value)
    return f"It misses {fewer} points fewer SLOs than {formula_words(report)}, which misses {own}."


def slo_bound_words(report: result_placement.PlacementReport) -> str:
    """State that the search proves nothing, with the bound on missed SLOs if there is one."""
    bound = None if report.sampled is None else report.sampled.bound
    if not bound:
        return "The search gives no proof."
    return f"The search gives no proof; no placement misses fewer than {_value_text('slo', bound)}."


def response_report(
    system: System, placement: Placement, names: Sequence[str]
) -> result_placement.ResponseReport:
    """Build ``response`` of ``nona place --json``; ``names`` are the labels of the workload's rows.

    The jobs are those by which placements are judged, so
    ``mean_s`` equals the ``objective_s`` of a placement that was judged.
    """
    response = reported_response(system, placement)
    slo_s = [q.slo_s for q in system.queries]
    missed = response.miss(slo_s)
    counted = [(q.rate, m) for q, m in zip(system.queries, missed, strict=True) if m is not None]
    total = sum(rate for rate, _ in counted)
    mix = response.mix
    return result_placement.ResponseReport(
        mean_s=mix.mean_s,
        p50_s=mix.quantile_s(0.50),
        p95_s=mix.quantile_s(0.95),
        p99_s=mix.quantile_s(0.99),
        sampling_s=mix.error_s,
        miss=sum(rate * m for rate, m in counted) / total if total > 0 else None,
        compute_utilization=float(response.compute_utilization.max()),
        link_utilization=response.link_utilization,
        models={
            name: _model(times, slo, miss)
            for name, times, slo, miss in zip(names, response.queries, slo_s, missed, strict=True)
        },
    )


def _model(times: ResponseTimes, slo_s: float | None, miss: float | None) -> result_placement.ModelResponse:
    return result_placement.ModelResponse(
        mean_s=times.mean_s,
        p50_s=times.quantile_s(0.50),
        p95_s=times.quantile_s(0.95),
        p99_s=times.quantile_s(0.99),
        slo_s=slo_s,
        miss=miss,
    )


def placement_report(
    system: System, placement: Placement, names: Sequence[str]
) -> result_placement.PlacementReport:
    """The report on a placement; ``names`` are the labels of the workload's rows."""
    models = {
        name: result_placement.PlacedModel.like(
            predicted, subgraphs=tuple(_subgraph(part, query.tasks.task_ids) for part in parts)
        )
        for name, query, parts, predicted in zip(
            names, system.queries, placement.queries, placement.prediction.queries, strict=True
        )
    }
    return result_placement.PlacementReport.like(
        placement,
        formula=result_placement.CertifiedOptimum.like(certificate_of(placement)),
        predicted=_prediction_report(placement.prediction),
        models=models,
        class_shares=shares_report(system, placement, names),
        memory=memory_report(system, placement, names),
        objective=_objective_of(placement),
        origin=placement.origin if placement.formula is not None else placement.solver,
        sampled=_sampled_report(placement, names),
    )


def _objective_of(placement: Placement) -> Objective:
    if placement.sampled is not None:
        return placement.sampled.objective
    return "formula" if placement.formula is None else "mean-jct"


def _prediction_report(prediction: Prediction) -> result_placement.PredictedMix:
    return result_placement.PredictedMix.like(
        prediction,
        classes=tuple(
            result_placement.PredictedClass.like(c, executor_class=c.name) for c in prediction.classes
        ),
        links=tuple(result_placement.PredictedLink.like(link) for link in prediction.links),
    )


def _subgraph(placed: SubGraphPlacement, ids: Sequence[str]) -> result_placement.PlacedSubgraph:
    subgraph = placed.subgraph
    return result_placement.PlacedSubgraph(
        root=None if subgraph.root == VIRTUAL else ids[subgraph.root],
        sink=None if subgraph.sink == VIRTUAL else ids[subgraph.sink],
        configurations=tuple(
            result_placement.PlacedConfiguration.like(
                c, parts=tuple(tuple(ids[task] for task in part) for part in c.parts), probability=float(p)
            )
            for c, p in zip(placed.configurations, placed.probabilities, strict=True)
        ),
    )
