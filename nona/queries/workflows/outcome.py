"""The outcome of a simulation as data."""

from __future__ import annotations

from collections.abc import Mapping

from nona.core.document import ErrorRange
from nona.queries.chart_data import LiveRun, SimulationOutcome
from nona.queries.report import series
from nona.queries.report.comparison import replication_means
from nona.queries.report.report import SimulatedRun, simulation_report
from nona.queries.report.times_off import means_if_off, times_error
from nona.queries.report.uncertainty import all_differences, idle_bound_s
from nona.queries.results import SimulationReport
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.workflows.facts import model_facts, provenance_of
from nona.queries.workflows.placement_outcome import full_report
from nona.queries.workflows.placements import predictions
from nona.queries.workflows.preparation import PreparedSystem, picks_in_vain
from nona.queries.workflows.simulation import SimulationResult
from nona.scenario.arrivals import effective_rate

TIMELINE_JOBS = 10  # of each scheduler, for Gantt charts and traces


def simulation_outcome(
    prepared: PreparedSystem,
    result: SimulationResult,
    made_at: str,
    predicted: Mapping[str, float | None] | None = None,
) -> SimulationOutcome:
    """Return a simulation's report with the data of its charts.

    Parameters
    ----------
    prepared : PreparedSystem
        The system that was simulated.
    result : SimulationResult
        The result of :func:`simulate`.
    made_at : str
        The date, as text.
    predicted : mapping of str to float or None, optional
        Scheduler → predicted mean JCT (s), as :func:`predictions` returns them; by default they are computed.

    Returns
    -------
    SimulationOutcome
        The report, the data of the charts, and their provenance.
    """
    names = prepared.scenario.labels
    slo_s = [q.slo_s for q in prepared.system.queries]
    placement = result.placement
    report = simulation_report(
        result.summaries, result.seconds, result.warmup, result.precision, prepared.system
    )
    return SimulationOutcome(
        about=provenance_of(prepared, made_at),
        report=series.with_hits(report, result.records, slo_s),
        differences=all_differences(result.records, slo_s),
        warmup=series.warmup_series(result.warmup),
        ecdf=series.ecdf_series(result.records, names),
        over_time=series.jct_over_time(result.records),
        load=series.executor_load(result.records),
        gantt=series.gantt_rows(result.records, prepared.system),
        slo_s=dict(zip(names, slo_s, strict=True)),
        predicted=predictions(prepared, placement) if predicted is None else dict(predicted),
        models=model_facts(prepared),
        off=off_ranges(prepared, report),
        cautions=cautions_of(prepared),
        placement=None if placement is None else full_report(prepared, placement),
    )


def cautions_of(prepared: PreparedSystem) -> tuple[str, ...]:
    """Collect cautions about the scenario's schedulers, e.g. that one was not trained on such a system."""
    cautions = (get_scheduler(s.name).cautions for s in prepared.schedulers)
    lines = [line for of in cautions if of is not None for line in of(prepared.system)]
    if prepared.left_out:
        lines.append(picks_in_vain(prepared.left_out))
    return tuple(lines)


def off_ranges(prepared: PreparedSystem, report: SimulationReport) -> dict[str, ErrorRange]:
    """Scheduler → the range of its mean if the workload's modelled task times are off."""
    rates = [effective_rate(q.arrivals, q.rate) for q in prepared.system.queries]
    error = times_error(list(model_facts(prepared).values()), rates)
    return means_if_off(report.schedulers, error, prepared.scenario.background.compute.utilization)


def simulated_run(
    prepared: PreparedSystem, result: SimulationResult, outcome: SimulationOutcome, live: LiveRun
) -> SimulatedRun:
    """Return the run of an ``outcome`` that :func:`simulation_outcome` made."""
    return SimulatedRun(
        **dict(outcome),
        live=live,
        means=replication_means(result.records, [q.slo_s for q in prepared.system.queries]),
        idle_s=idle_bound_s(prepared.system),
        scenario=prepared.scenario,
    )
