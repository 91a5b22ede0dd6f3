"""The outcome of a run or a placement as data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from nona import __version__
from nona.cost.costed import CostedGraph, sigma_of
from nona.graph.node_link import to_node_link
from nona.placement.capacity import executor_utilization
from nona.placement.result import Placement
from nona.report.models import provenance_shares
from nona.report.placements.report import placement_report
from nona.report.placements.text import parts_of
from nona.report.simulations import series
from nona.report.simulations.comparison import replication_means
from nona.report.simulations.report import SimulatedRun, simulation_report
from nona.report.simulations.uncertainty import all_differences, idle_bound_s
from nona.report.times import MeanParts, given_times, mean_if_off, means_if_off, runs_as, times_error
from nona.results.document import About, ModelFacts, OffRange
from nona.results.placement import PlacementOutcome, PlacementReport
from nona.results.simulation import SimulationReport
from nona.results.simulation_charts import LiveRun, SimulationOutcome
from nona.scenario.file import dump_scenario, scenario_hash
from nona.scenario.schema import Scenario
from nona.schedulers.registry import get_scheduler
from nona.simulation.arrivals import effective_rate
from nona.sources.lookup import file_names, is_file
from nona.study.models import batching_warnings
from nona.study.preparation import Study
from nona.study.simulation import Comparison, SimulationResult, compare, predictions
from nona.study.tested_range import untested
from nona.system import System

TIMELINE_JOBS = 10  # of each scheduler, for Gantt charts and traces
MOST_MODEL_CHARACTERS = 100_000  # of JSON: what a report can carry beside its figures


def about(study: Study, made_at: str) -> About:
    """The provenance in an export; model files are embedded up to ``MOST_MODEL_CHARACTERS``."""
    return about_scenario(study.scenario, _with_models(study), made_at)


def about_scenario(scenario: Scenario, whole: Scenario, made_at: str) -> About:
    """The provenance of a result of ``scenario``; ``whole`` is the scenario as an export carries it."""
    return About.like(
        scenario,
        hash=scenario_hash(scenario),
        version=__version__,
        made=made_at,
        jobs=scenario.simulation.jobs,
        replications=scenario.simulation.replications,
        yaml=dump_scenario(whole),
        files=tuple(file_names(whole)),
        runs_as=runs_as(scenario) if scenario.workload else "",
    )


def _with_models(study: Study) -> Scenario:
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


def simulation_outcome(
    study: Study,
    result: SimulationResult,
    made_at: str,
    predicted: Mapping[str, float | None] | None = None,
) -> SimulationOutcome:
    """All displayed data of a simulation; ``predicted``: :func:`predicted_means`, where they are known."""
    names = study.scenario.labels
    slo_s = [q.slo_s for q in study.system.queries]
    placement = result.placement
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    return SimulationOutcome(
        about=about(study, made_at),
        report=series.with_hits(report, result.records, slo_s),
        differences=all_differences(result.records, slo_s),
        warmup=series.warmup_series(result.warmup),
        ecdf=series.ecdf_series(result.records, names),
        over_time=series.jct_over_time(result.records),
        load=series.executor_load(result.records),
        gantt=series.gantt_rows(result.records, study.system),
        slo_s=dict(zip(names, slo_s, strict=True)),
        predicted=predictions(study, placement) if predicted is None else dict(predicted),
        models=model_facts(study),
        off=off_ranges(study, report),
        cautions=cautions_of(study),
        placement=None if placement is None else full_report(study, placement),
    )


def cautions_of(study: Study) -> tuple[str, ...]:
    """Collect cautions about the scenario's schedulers, e.g. that one was not trained on such a system."""
    cautions = (get_scheduler(s.name).cautions for s in study.scenario.schedulers)
    return tuple(line for of in cautions if of is not None for line in of(study.system))


def off_ranges(study: Study, report: SimulationReport) -> dict[str, OffRange]:
    """Scheduler → the range of its mean if the workload's modelled task times are off."""
    rates = [effective_rate(q.arrivals, q.rate) for q in study.system.queries]
    error = times_error(list(model_facts(study).values()), rates)
    return means_if_off(report.schedulers, error, study.scenario.background.compute.utilization)


def placement_outcome(
    study: Study, placement: Placement, made_at: str, comparison: Comparison | None = None
) -> PlacementOutcome:
    """All displayed data of a placement, with local and spread for comparison.

    ``comparison`` holds these two where they were simulated before.
    """
    comparison = comparison or compare(study, placement)

    def report(other: Placement | None) -> PlacementReport | None:
        return None if other is None else full_report(study, other)

    own_report, models = full_report(study, placement), model_facts(study)
    return PlacementOutcome(
        about=about(study, made_at),
        nona=own_report,
        local=report(comparison.local),
        spread=report(comparison.spread),
        models=models,
        if_times_off=_if_times_off(study.system, own_report, list(models.values())),
    )


def _if_times_off(system: System, report: PlacementReport, models: Sequence[ModelFacts]) -> OffRange | None:
    """The range of the mean if modelled times are off; what joins add counts as computing."""
    parts, rates = parts_of(report).values(), [q.rate for q in system.queries]
    mean_s = report.simulated.mean
    if not parts or mean_s is None:
        return None
    weights = [rate / sum(rates) for rate in rates]
    background, _ = executor_utilization(system)
    whole = MeanParts(
        mean_s=mean_s,
        compute_s=sum(w * (p.compute_s + p.joins_s) for w, p in zip(weights, parts, strict=True)),
        server_wait_s=sum(w * p.server_wait_s for w, p in zip(weights, parts, strict=True)),
        load=max(c.utilization for c in report.predicted.classes),
        background=background,
        ci95=report.simulated.ci95,
    )
    return mean_if_off(whole, times_error(models, rates))


def full_report(study: Study, placement: Placement) -> PlacementReport:
    """The report on a simulated placement, with a warning where the formula was not tested."""
    warning = untested(study.system, placement.prediction)
    return placement_report(study.system, placement, warning)


def model_facts(study: Study) -> dict[str, ModelFacts]:
    """Label of each row of the workload → times of its model, their origin and uncertainty."""
    return {
        name: ModelFacts.like(
            model.costed[0],
            provenance=provenance_shares(model.costed[0]),
            sigma=_sigmas(model.costed),
            given=given_times(model.costed[0]),
            warnings=(
                *model.graph.warnings,
                *model.costed[0].warnings,
                *batching_warnings(study.scenario.batching_of(row), row.slo, model.graph),
            ),
        )
        for name, row, model in zip(study.scenario.labels, study.scenario.workload, study.models, strict=True)
    }


def _sigmas(costed: Sequence[CostedGraph]) -> dict[str, float]:
    sliced = any(c.sliced for c in costed)
    return {p: sigma_of(p, sliced) for p in sorted({c.provenance for c in costed[0].costs})}


def simulated_run(
    prepared: Study, result: SimulationResult, outcome: SimulationOutcome, live: LiveRun
) -> SimulatedRun:
    """The run whose ``outcome`` is that of :func:`~nona.study.outcome.simulation_outcome`."""
    return SimulatedRun(
        **dict(outcome),
        live=live,
        means=replication_means(result.records, [q.slo_s for q in prepared.system.queries]),
        idle_s=idle_bound_s(prepared.system),
        scenario=prepared.scenario,
    )
