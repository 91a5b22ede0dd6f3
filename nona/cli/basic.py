"""What the commands on a model or a scenario do: inspect, place, simulate, bundle."""

from __future__ import annotations

import sys
from pathlib import Path

from nona import study
from nona.cli import planning as capacity_command
from nona.cli import planning as plan_command
from nona.cli import serverless as serverless_command
from nona.cli import sweep as sweep_command
from nona.cli.opened import opened
from nona.cli.options import (
    BundleOptions,
    CapacityOptions,
    ContractOptions,
    MeasureOptions,
    ModelOptions,
    PlaceOptions,
    PlanOptions,
    ServerlessOptions,
    SimulateOptions,
    SweepOptions,
)
from nona.cli.output import ProgressLine, emit, warn_of_hardware, warn_of_schedulers
from nona.cli.saved import save_item
from nona.contraction.rules import DEFAULT_RULE
from nona.cost.options import CostOptions
from nona.errors import NonaError
from nona.hardware.cluster import Network
from nona.hardware.executor import executor_class
from nona.placement.messages import Link
from nona.placement.result import Placement
from nona.report.html.simulation import placement_html, simulation_html
from nona.report.models import coarsening_report, contraction, inspection
from nona.report.placements.text import placement_text, response_lines
from nona.report.simulations.advice import scheduler_advice
from nona.report.simulations.report import compared, simulation_report
from nona.report.simulations.series import with_hits
from nona.report.simulations.tables import compared_text
from nona.report.simulations.uncertainty import all_differences, check_baseline
from nona.report.text import contraction_text, inspection_text, time_text
from nona.results.models import FullContraction
from nona.results.placement import FullPlacementReport
from nona.results.simulation_charts import LiveRun
from nona.scenario.file import parse_scenario, scenario_from_mapping, scenario_hash, scenario_to_mapping
from nona.scenario.schema import Scenario
from nona.simulation.steady_state import run_name
from nona.sources import samples
from nona.sources.lookup import Sources
from nona.sources.opening import SCENARIO, pack_bundle, read_bundle
from nona.store.simulations import run_item
from nona.study.exports import check_places, write_bytes, write_records, write_text, write_trace
from nona.study.outcome import (
    TIMELINE_JOBS,
    full_report,
    off_ranges,
    placement_outcome,
    simulated_run,
    simulation_outcome,
)
from nona.study.shipped import now_text


def inspect(arguments: ModelOptions) -> None:
    """Figures of one model on one device."""
    prepared = _prepare_model(arguments)
    report = inspection(prepared.costed[0])
    emit(arguments, report, inspection_text)


def contract(arguments: ContractOptions) -> None:
    """Tasks, steps and sub-graphs of one model, and the tasks that stay together."""
    prepared = _prepare_model(arguments, arguments.rule)
    emit(arguments, _contraction(arguments, prepared), contraction_text)


def _contraction(arguments: ContractOptions, model: study.PreparedModel) -> FullContraction:
    """Contract a model, and glue its tasks."""
    network = Network(arguments.capacity, arguments.latency)
    glued = study.glued_model(model, Link(network.capacity, network.latency_s), share=arguments.share)
    counts = study.configuration_counts(model)
    found = contraction(model.contracted, model.costed[0], model.decomposition, counts)
    return FullContraction(**{**dict(found), "rule": arguments.rule, "coarsening": coarsening_report(glued)})


def place(arguments: PlaceOptions) -> None:
    """Solve the placement of a scenario."""
    check_places(arguments.html)
    scenario, sources = opened(arguments.scenario)
    if arguments.objective:
        scenario = study.with_value(scenario, "objective", arguments.objective)
    prepared = study.prepare(scenario, sources)
    warn_of_hardware(prepared)
    placement = _solved(arguments, prepared)
    report = full_report(prepared, placement)
    emit(arguments, report, _placement_lines)  # before the file
    if arguments.html:
        write_text(arguments.html, placement_html(placement_outcome(prepared, placement, now_text())))


def _solved(arguments: PlaceOptions, prepared: study.Study) -> Placement:
    """Solve, with the time and the best so far on the terminal."""
    line, told = ProgressLine(quiet=arguments.json), "solving the placement"

    def better(placement: Placement) -> None:
        nonlocal told
        told = f"solving the placement; best mean JCT so far {time_text(placement.objective_s)}"

    placement = study.place(
        prepared, solver=arguments.solver, check=lambda: line.tell(told), on_better=better
    )
    line.end()
    return placement


def _placement_lines(report: FullPlacementReport) -> str:
    return "\n".join([placement_text(report), *response_lines(report.response)])


def simulate(arguments: SimulateOptions) -> None:
    """Simulate a scenario."""
    scenario, sources = opened(arguments.scenario)
    scenario = _overridden(scenario, arguments)
    check_baseline(arguments.baseline, [s.name for s in scenario.schedulers])
    check_places(arguments.records, arguments.html, arguments.trace)
    prepared = study.prepare(scenario, sources)
    warn_of_hardware(prepared)
    warn_of_schedulers(prepared)
    line = ProgressLine(quiet=arguments.json)
    result = study.simulate(
        prepared,
        engine=arguments.engine,
        workers=arguments.workers,
        dask=arguments.dask,
        timeline_jobs=TIMELINE_JOBS if arguments.trace else 0,
        on_progress=lambda p: line.tell(f"{p.scheduler}, {run_name(p.replication)}", p.fraction),
    )
    slo_s = [q.slo_s for q in prepared.system.queries]
    report = simulation_report(result.summaries, result.seconds, result.warmup, result.precision)
    report = with_hits(report, result.records, slo_s)
    every = all_differences(result.records, slo_s)
    found = every[arguments.baseline] if arguments.baseline else {}
    advice = scheduler_advice(report.schedulers, every)
    off = off_ranges(prepared, report)
    told = compared(report, arguments.baseline, found, off, advice.lines if advice else ())
    emit(arguments, told, compared_text)  # before the files: whatever happens to them, it is there
    if arguments.records:
        write_records(arguments.records, result.records, scenario.labels)
    if arguments.trace:
        write_trace(arguments.trace, prepared, result.records)
    if not (arguments.html or arguments.save):
        return
    outcome = simulation_outcome(prepared, result, now_text())
    if arguments.html:
        write_text(arguments.html, simulation_html(outcome))
    if arguments.save:
        run = simulated_run(prepared, result, outcome, LiveRun(schedulers=tuple(report.schedulers)))
        save_item(arguments.store, run_item(arguments.save, "", run, sources))


def sweep(arguments: SweepOptions) -> None:
    """Sweep one number of a scenario."""
    sweep_command.sweep(arguments, *opened(arguments.scenario))


def capacity(arguments: CapacityOptions) -> None:
    """The fewest servers that keep the SLOs."""
    scenario, sources = opened(arguments.scenario)
    if arguments.objective:
        scenario = study.with_value(scenario, "objective", arguments.objective)
    capacity_command.capacity(arguments, scenario, sources)


def plan(arguments: PlanOptions) -> None:
    """What to buy so that all targets are kept."""
    plan_command.plan(arguments, *opened(arguments.scenario))


def serverless(arguments: ServerlessOptions) -> None:
    """Simulate a serverless scenario."""
    serverless_command.serverless(arguments, *opened(arguments.scenario))


def measure(arguments: MeasureOptions) -> None:
    """Time a model's operators on this machine."""
    from nona.cost.measuring import (
        measure_batches,  # needs the extra `measure`
        measure_model,
    )

    check_places(arguments.output, arguments.export_profile)
    if bool(arguments.batches) != (arguments.export_profile is not None):
        raise NonaError("--batches and --export-profile belong together; give both, or --output alone.")
    path = samples.sample_path(arguments.model) or Path(arguments.model)
    threads, symbols = arguments.threads, dict(arguments.symbol)
    if arguments.output is not None:
        result = measure_model(path, threads=threads, symbols=symbols)
        print(result, file=sys.stderr)  # before the file
        write_text(arguments.output, result.text)
    if arguments.export_profile is not None:
        text = measure_batches(path, arguments.batches, threads=threads, symbols=symbols)
        print(text, file=sys.stderr, end="")
        write_text(arguments.export_profile, text)
    elif arguments.output is None:
        raise NonaError("nona measure writes a file; give --output, or --batches with --export-profile.")


def _prepare_model(arguments: ModelOptions, rule: str = DEFAULT_RULE) -> study.PreparedModel:
    graph = Sources(Path()).model(arguments.model, dict(arguments.symbol))
    options = CostOptions(arguments.stack, arguments.precision, arguments.batch)
    return study.prepare_model(graph, (executor_class(arguments.device),), options, rule)


def bundle(arguments: BundleOptions) -> None:
    """Write a scenario with all its files as one."""
    check_places(arguments.output)
    scenario, sources = opened(arguments.scenario)
    data = pack_bundle(scenario, sources)
    write_bytes(arguments.output, data)
    held = read_bundle(data)
    mark = scenario_hash(parse_scenario(held[SCENARIO].decode()))
    files = ", ".join(held)
    print(f"{arguments.output}: fingerprint {mark}, {len(data):,} bytes with {files}", file=sys.stderr)


def _overridden(scenario: Scenario, arguments: SimulateOptions) -> Scenario:
    """The scenario with the values set on the command line, validated again."""
    data = scenario_to_mapping(scenario)
    simulation = dict(data.get("simulation", {}))
    given = {
        "jobs": arguments.jobs,
        "replications": arguments.replications,
        "warmup": arguments.warmup,
        "precision": arguments.precision,
        "max_replications": arguments.max_replications,
    }
    simulation |= {key: value for key, value in given.items() if value is not None}
    data["simulation"] = simulation
    if arguments.seed is not None:
        data["seed"] = arguments.seed
    if arguments.scheduler:
        own = {s.name: s.options for s in scenario.schedulers}
        data["schedulers"] = [{"name": n, "options": own.get(n, {})} for n in arguments.scheduler]
    return scenario_from_mapping(data)
