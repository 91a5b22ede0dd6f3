"""Report on a placement: the certificate, the prediction, and each configuration's probability."""

from __future__ import annotations

from collections.abc import Sequence

from nona.decomposition.subgraph import VIRTUAL
from nona.placement.result.configuration import SubGraphPlacement
from nona.placement.result.placement import Objective, Placement
from nona.placement.result.prediction import Prediction, QueryPrediction
from nona.placement.sampled.reported import certificate_of
from nona.report.placements.memory import memory_report, shares_report
from nona.report.placements.sampled import sampled_report
from nona.results.placement.configuration import PlacedConfiguration, PlacedModel, PlacedSubgraph
from nona.results.placement.prediction import PredictedClass, PredictedLink, PredictedMix
from nona.results.placement.report import CertifiedOptimum, PlacementReport
from nona.system import System


def placement_report(system: System, placement: Placement, names: Sequence[str]) -> PlacementReport:
    """The report on a placement; ``names`` are the labels of the workload's rows."""
    models = {
        name: _model(predicted, [_subgraph(part, query.tasks.task_ids) for part in parts])
        for name, query, parts, predicted in zip(
            names, system.queries, placement.queries, placement.prediction.queries, strict=True
        )
    }
    return PlacementReport(
        objective_s=placement.objective_s,
        objective_error_s=placement.objective_error_s,
        lower_bound_s=placement.lower_bound_s,
        gap=placement.gap,
        global_bound_s=placement.global_bound_s,
        global_gap=placement.global_gap,
        formula=_formula(placement),
        solver=placement.solver,
        seconds=placement.seconds,
        predicted=prediction_report(placement.prediction),
        models=models,
        class_shares=shares_report(system, placement, names),
        memory=memory_report(system, placement, names),
        notes=placement.notes,
        objective=objective_of(placement),
        origin=placement.origin if placement.formula is not None else placement.solver,
        sampled=sampled_report(placement, names),
    )


def objective_of(placement: Placement) -> Objective:
    """The objective; for a placement that was only evaluated, whether by sampled jobs or by formula."""
    if placement.sampled is not None:
        return placement.sampled.objective
    return "formula" if placement.formula is None else "mean-jct"


def _formula(placement: Placement) -> CertifiedOptimum:
    """Objective, certified bound and gap of the formula's optimum."""
    found = certificate_of(placement)
    return CertifiedOptimum(objective_s=found.objective_s, lower_bound_s=found.lower_bound_s, gap=found.gap)


def prediction_report(prediction: Prediction) -> PredictedMix:
    """The prediction for the whole mix."""
    return PredictedMix(
        jct_s=prediction.jct_s,
        network_wait_s=prediction.network_wait_s,
        server_wait_s=prediction.server_wait_s,
        network_utilization=prediction.network_utilization,
        compute_utilization=prediction.compute_utilization,
        congestion_price_s_per_byte=prediction.congestion_price_s_per_byte,
        classes=tuple(
            PredictedClass(
                executor_class=c.name, executors=c.executors, utilization=c.utilization, wait_s=c.wait_s
            )
            for c in prediction.classes
        ),
        links=tuple(
            PredictedLink(
                name=link.name,
                kind=link.kind,
                links=link.links,
                share=link.share,
                capacity=link.capacity,
                utilization=link.utilization,
                wait_s=link.wait_s,
            )
            for link in prediction.links
        ),
    )


def _model(predicted: QueryPrediction, subgraphs: Sequence[PlacedSubgraph]) -> PlacedModel:
    return PlacedModel(
        jct_s=predicted.jct_s,
        compute_s=predicted.compute_s,
        transfer_s=predicted.transfer_s,
        network_wait_s=predicted.network_wait_s,
        server_wait_s=predicted.server_wait_s,
        subgraphs=tuple(subgraphs),
    )


def _subgraph(placed: SubGraphPlacement, ids: Sequence[str]) -> PlacedSubgraph:
    subgraph = placed.subgraph
    return PlacedSubgraph(
        root=None if subgraph.root == VIRTUAL else ids[subgraph.root],
        sink=None if subgraph.sink == VIRTUAL else ids[subgraph.sink],
        configurations=tuple(
            PlacedConfiguration(
                parts=tuple(tuple(ids[task] for task in part) for part in c.parts),
                root_part=c.root_part,
                sink_part=c.sink_part,
                probability=float(p),
            )
            for c, p in zip(placed.configurations, placed.probabilities, strict=True)
        ),
    )
