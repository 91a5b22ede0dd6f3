"""The outcome of a run or a placement, for pages and exports."""

from __future__ import annotations

import json
from collections.abc import Sequence

from nona import __version__
from nona.cost.uncertainty import SIGMA
from nona.graph.node_link.document import to_node_link
from nona.placement.capacity.stability import executor_utilization
from nona.placement.result.placement import Placement
from nona.report.inputs.given_times import given_times
from nona.report.inputs.models import provenance_shares
from nona.report.placements.parts import parts_of
from nona.report.placements.report import placement_report
from nona.report.simulations.differences import all_differences
from nona.report.simulations.hits_over_time import with_hits
from nona.report.simulations.report import simulation_report
from nona.report.simulations.series import ecdf_series, executor_load, gantt_rows, jct_over_time
from nona.report.simulations.warmup import warmup_series
from nona.report.times_off import MeanParts, mean_if_off, means_if_off, times_error
from nona.results.about import About, ModelFacts
from nona.results.estimate import OffRange
from nona.results.placement.outcome import PlacementOutcome
from nona.results.placement.report import FullPlacementReport
from nona.results.plan import PlanOutcome, PlanReport
from nona.results.simulation.outcome import SimulationOutcome
from nona.results.simulation.report import SimulationReport
from nona.scenario.file import dump_scenario, scenario_hash
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler
from nona.simulation.workload.arrivals import effective_rate
from nona.sources.named import file_names, is_file
from nona.study.preparation import Study
from nona.study.response import predicted_means, response_of
from nona.study.simulating.run import Comparison, SimulationResult, compare
from nona.system import System

TIMELINE_JOBS = 10  # of each scheduler, for Gantt charts and traces
MOST_MODEL_CHARACTERS = 100_000  # of JSON: what a report can carry beside its figures


def about(study: Study, made: str) -> About:
    """The provenance in an export; model files are embedded up to ``MOST_MODEL_CHARACTERS``."""
    return about_scenario(study.scenario, with_models(study), made)


def about_scenario(scenario: Scenario, whole: Scenario, made: str) -> About:
    """The provenance of a result of ``scenario``; ``whole`` is the scenario as an export carries it."""
    return About(
        name=scenario.name,
        description=scenario.description,
        seed=scenario.seed,
        hash=scenario_hash(scenario),
        version=__version__,
        made=made,
        jobs=scenario.simulation.jobs,
        replications=scenario.simulation.replications,
        yaml=dump_scenario(whole),
        files=tuple(file_names(whole)),
    )


def with_models(study: Study) -> Scenario:
    """The study's scenario with its model files embedded, in order, up to a size limit."""
    scenario, room = study.scenario, MOST_MODEL_CHARACTERS
    models = dict(scenario.models)
    for row, prepared in zip(scenario.workload, study.models, strict=True):
        if row.model in models or not is_file(scenario, row.model):
            continue
        graph = to_node_link(prepared.graph)
        size = len(json.dumps(graph))
        if size <= room:
            models[row.model], room = graph, room - size
    return scenario.model_copy(update={"models": models})


def simulation_outcome(study: Study, result: SimulationResult, made: str) -> SimulationOutcome:
    """All displayed data of a simulation."""
    names = study.scenario.labels
    slo_s = [q.slo_s for q in study.system.queries]
    placement = result.placement
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    return SimulationOutcome(
        about=about(study, made),
        report=with_hits(report, result.records, slo_s),
        differences=all_differences(result.records, slo_s),
        warmup=warmup_series(result.warmup),
        ecdf=ecdf_series(result.records, names),
        over_time=jct_over_time(result.records),
        load=executor_load(result.records),
        gantt=gantt_rows(result.records, study.system),
        slo_s=dict(zip(names, slo_s, strict=True)),
        predicted=predicted_means(study, placement),
        models=model_facts(study),
        off=off_ranges(study, report),
        cautions=cautions_of(study),
        placement=None if placement is None else placement_report(study.system, placement, names),
    )


def cautions_of(study: Study) -> tuple[str, ...]:
    """What people should read beside the results of the scenario's schedulers, e.g. that one was not trained
    on such a system."""
    found = (get_scheduler(s.name).cautions for s in study.scenario.schedulers)
    return tuple(line for of in found if of is not None for line in of(study.system))


def off_ranges(study: Study, report: SimulationReport) -> dict[str, OffRange]:
    """Scheduler → the range of its mean if the workload's modelled task times are off."""
    rates = [effective_rate(q.arrivals, q.rate) for q in study.system.queries]
    error = times_error(list(model_facts(study).values()), rates)
    return means_if_off(report.schedulers, error, study.scenario.background.compute.utilization)


def plan_outcome(study: Study, report: PlanReport, made: str) -> PlanOutcome:
    """A plan with its provenance."""
    return PlanOutcome(about=about(study, made), report=report, models=study.scenario.labels)


def placement_outcome(
    study: Study, placement: Placement, made: str, comparison: Comparison | None = None
) -> PlacementOutcome:
    """All displayed data of a placement, with local and spread for comparison.

    ``comparison`` holds these two where they were judged before.
    """
    comparison = comparison or compare(study, placement)

    def report(other: Placement | None) -> FullPlacementReport | None:
        return None if other is None else full_report(study, other)

    found, models = full_report(study, placement), model_facts(study)
    return PlacementOutcome(
        about=about(study, made),
        nona=found,
        local=report(comparison.local),
        spread=report(comparison.spread),
        models=models,
        if_times_off=_if_times_off(study.system, found, list(models.values())),
    )


def _if_times_off(
    system: System, report: FullPlacementReport, models: Sequence[ModelFacts]
) -> OffRange | None:
    """The range of the predicted mean if modelled times are off; what joins add counts as computing."""
    parts, rates = parts_of(report.models, report.response).values(), [q.rate for q in system.queries]
    weights = [rate / sum(rates) for rate in rates]
    background, _ = executor_utilization(system)
    whole = MeanParts(
        mean_s=report.response.mean_s or 0.0,
        compute_s=sum(w * (p.compute_s + p.joins_s) for w, p in zip(weights, parts, strict=True)),
        server_wait_s=sum(w * p.server_wait_s for w, p in zip(weights, parts, strict=True)),
        load=report.response.compute_utilization,
        background=background,
    )
    return None if report.response.mean_s is None else mean_if_off(whole, times_error(models, rates))


def full_report(study: Study, placement: Placement) -> FullPlacementReport:
    """The report on a placement with the response of its jobs."""
    report = placement_report(study.system, placement, study.scenario.labels)
    return FullPlacementReport.of(report, response_of(study, placement))


def model_facts(study: Study) -> dict[str, ModelFacts]:
    """Label of each row of the workload → times of its model, their origin and uncertainty."""
    return {
        name: ModelFacts(
            parallelism=model.costed[0].parallelism,
            total_compute_s=model.costed[0].total_compute_s,
            critical_path_s=model.costed[0].critical_path_s,
            device=model.costed[0].device,
            provenance=provenance_shares(model.costed[0]),
            sigma={p: SIGMA[p] for p in sorted({c.provenance for c in model.costed[0].costs})},
            given=given_times(model.costed[0]),
        )
        for name, model in zip(study.scenario.labels, study.models, strict=True)
    }
