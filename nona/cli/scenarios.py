"""Commands on a scenario: place, simulate, bundle."""

from __future__ import annotations

import sys

from nona.cli.commands.scenarios import BundleOptions, SimulateOptions
from nona.cli.declared import opened
from nona.cli.output import ProgressReport, emit, warn_of_models, warn_of_schedulers
from nona.core.output_files import check_places, write_bytes, write_text
from nona.queries.chart_data import LiveRun
from nona.queries.report.advice import scheduler_advice
from nona.queries.report.findings import unsettled_text
from nona.queries.report.report import compared, simulation_report
from nona.queries.report.series import with_hits
from nona.queries.report.tables import compared_text
from nona.queries.report.uncertainty import all_differences, check_baseline
from nona.queries.simulation.steady_state import run_name
from nona.queries.workflows import placements, simulation
from nona.queries.workflows.exports import write_records, write_trace
from nona.queries.workflows.outcome import TIMELINE_JOBS, off_ranges, simulated_run, simulation_outcome
from nona.queries.workflows.preparation import prepare
from nona.queries.workflows.shipped import now_text
from nona.scenario.file import parse_scenario, scenario_hash
from nona.scenario.lookup import Sources
from nona.scenario.opening import SCENARIO, pack_bundle, read_bundle
from nona.scenario.schema import Scenario


def simulate(arguments: SimulateOptions, scenario: Scenario, sources: Sources) -> None:
    """Simulate a scenario: its queries under schedulers, its requests to language models under routers."""
    language = None
    if scenario.language:
        from nona.cli.language import simulated_language

        language = simulated_language(arguments, scenario, sources)
        if not scenario.workload:
            return
    check_baseline(arguments.baseline, [s.name for s in scenario.schedulers])
    check_places(arguments.records, arguments.html, arguments.trace)
    prepared = prepare(scenario, sources)
    beside = warn_of_models(prepared)
    warn_of_schedulers(prepared)
    line = ProgressReport(quiet=arguments.json)
    result = simulation.simulate(
        prepared,
        engine=arguments.engine,
        workers=arguments.workers,
        dask=arguments.dask,
        timeline_jobs=TIMELINE_JOBS if arguments.trace else 0,
        on_progress=lambda p: line.report(f"{p.scheduler}, {run_name(p.replication)}", p.fraction),
    )
    slo_s = [q.slo_s for q in prepared.system.queries]
    report = simulation_report(
        result.summaries, result.seconds, result.warmup, result.precision, prepared.system
    )
    report = with_hits(report, result.records, slo_s)
    predicted = placements.predictions(prepared, result.placement)
    if text := unsettled_text(report.schedulers, predicted):
        print(f"warning: {text}", file=sys.stderr)
    every = all_differences(result.records, slo_s)
    differences = every[arguments.baseline] if arguments.baseline else {}
    advice = scheduler_advice(report.schedulers, every)
    off = off_ranges(prepared, report)
    comparison = compared(report, arguments.baseline, differences, off, (advice,) if advice else ())
    # before the files: whatever happens to them, it is there
    emit(
        arguments,
        comparison,
        compared_text,
        beside | ({"language": language.report.to_json()} if language else {}),
    )
    if arguments.records:
        write_records(arguments.records, result.records, scenario.labels)
    if arguments.trace:
        write_trace(arguments.trace, prepared, result.records)
    if not (arguments.html or arguments.save):
        return
    outcome = simulation_outcome(prepared, result, now_text(), predicted)
    if arguments.html:
        from nona.language.report.html import request_sections
        from nona.queries.report.html import simulation_html

        requests = request_sections(language, "Requests to language models") if language else ()
        write_text(arguments.html, simulation_html(outcome, tuple(requests)))
    if arguments.save:
        from nona.cli.saved import save_item

        run = simulated_run(prepared, result, outcome, LiveRun(schedulers=tuple(report.schedulers)))
        save_item(arguments.store, arguments.save, run, sources)


def bundle(arguments: BundleOptions) -> None:
    """Write a scenario with all its files as one."""
    check_places(arguments.output)
    scenario, sources = opened(arguments.scenario)
    data = pack_bundle(scenario, sources)
    write_bytes(arguments.output, data)
    contents = read_bundle(data)
    mark = scenario_hash(parse_scenario(contents[SCENARIO].decode()))
    files = ", ".join(contents)
    print(f"{arguments.output}: version {mark}, {len(data):,} bytes with {files}", file=sys.stderr)
