"""Requests to language models on the command line: a part of ``nona simulate``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from nona.cli.commands.planning import PlanOptions
from nona.cli.commands.scenarios import SimulateOptions
from nona.cli.output import ProgressReport, emit
from nona.cli.saved import save_item
from nona.core.chrome_trace import trace_text
from nona.core.errors import ScenarioError, SimulationError
from nona.core.output_files import check_places, write_job_table, write_text
from nona.language.report.html import language_html
from nona.language.report.tables import language_text, language_trace, plan_text, request_table
from nona.language.results import LanguagePlan, LanguagePlanned, LanguageRun
from nona.language.routers import ROUTERS
from nona.language.workflows.engines import prepare_language
from nona.language.workflows.outcome import TRACED, language_outcome
from nona.language.workflows.plan import plan_language
from nona.language.workflows.simulation import simulate_language
from nona.queries.workflows.shipped import now_text
from nona.scenario.lookup import Sources
from nona.scenario.provenance import about_scenario
from nona.scenario.schema import Scenario


def simulated_language(arguments: SimulateOptions, scenario: Scenario, sources: Sources) -> LanguageRun:
    """Simulate the language rows, print them, and write files where there are no others.

    As JSON they are printed only where there are no others.
    """
    for option in ("baseline", "dask"):
        if getattr(arguments, option) and not scenario.workload:
            raise SimulationError(
                f"--{option}: a simulation of language models has none yet; leave it out, or read --json."
            )
    others = [name for name in arguments.scheduler if name not in ROUTERS]
    if others and not scenario.workload:
        raise SimulationError(
            f"--scheduler {others[0]!r}: it is for rows of tasks, and all rows ask language models; choose "
            f"one of {', '.join(ROUTERS)}."
        )
    if arguments.engine == "simpy" and not scenario.workload:
        raise SimulationError(
            "--engine simpy: language models have one engine, the compiled one; leave it out."
        )
    own_files = not scenario.workload  # else they are those of the queries
    if own_files:
        check_places(arguments.records, arguments.trace, arguments.html)
    prepared = prepare_language(scenario, sources)
    line = ProgressReport(quiet=arguments.json)
    result = simulate_language(
        prepared,
        steps=TRACED if arguments.html or (own_files and (arguments.trace or arguments.save)) else 0,
        on_progress=lambda router, share: line.report(router, share),
    )
    for warning in result.report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if not (arguments.json and scenario.workload):
        emit(arguments, result.report, language_text)
    if own_files and arguments.records:
        engines = [engine.name for engine in prepared.system.engines]
        write_job_table(arguments.records, request_table(result.runs, scenario.language_labels, engines))
    outcome = language_outcome(scenario, result, now_text())
    if not own_files:
        return outcome
    if arguments.trace:
        write_text(arguments.trace, trace_text(language_trace(outcome)))
    if arguments.html:
        write_text(arguments.html, language_html(outcome))
    if arguments.save:
        save_item(arguments.store, arguments.save, outcome, sources)
    return outcome


def planned_language(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> None:
    """Find what to buy for the language rows, and print it or JSON."""
    for option in ("profile", "present", "html", "csv", "parquet", "dask", "batch"):
        if getattr(arguments, option):
            raise SimulationError(f"--{option}: a plan for language models has none yet; leave it out.")
    plan = _planned(arguments, scenario, sources)
    emit(arguments, plan, plan_text)
    if arguments.save:
        about = about_scenario(scenario, scenario, now_text())
        save_item(arguments.store, arguments.save, LanguagePlanned(about=about, plan=plan), sources)


def planned_beside(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> Mapping[str, object]:
    """Print what to buy for the language rows beside rows of tasks, or return it for the JSON of these.

    Says why on the standard error where they cannot be planned, or are not asked about.
    """
    if arguments.present or (scenario.plan is not None and scenario.plan.group is not None):
        why = "this question is about rows of tasks; see `nona simulate`"
    else:
        try:
            plan = _planned(arguments, scenario, sources)
        except ScenarioError as error:
            why = str(error)
        else:
            if arguments.json:
                return {"language": plan.to_json()}
            print("Requests to language models")
            emit(arguments, plan, plan_text)
            print("\nQueries")
            return {}
    print(f"warning: requests to language models are not planned: {why}", file=sys.stderr)
    return {}


def _planned(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> LanguagePlan:
    line = ProgressReport(quiet=arguments.json)
    plan = plan_language(scenario, sources, lambda _, text, share: line.report(text, share))
    line.end()
    return plan
