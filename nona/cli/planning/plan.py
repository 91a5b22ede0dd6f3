"""``nona plan``: what to buy so that all targets are kept."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
from click.exceptions import Exit

from nona.cli.output import emit, warn_of_hardware, warn_of_interrupt
from nona.cli.planning.options import PlanOptions
from nona.cli.progress import ProgressLine
from nona.cli.saved.items import save_item
from nona.errors import NonaError, SimulationError
from nona.foreign.files import read_file
from nona.foreign.limits import MOST_BUNDLE_BYTES
from nona.report.html.plan import plan_html
from nona.report.plan.printed import plan_text
from nona.report.plan.rows import option_rows
from nona.report.plan.words import day_of
from nona.report.table_files import csv_bytes, parquet_bytes
from nona.results.plan import PlanReport
from nona.scenario.file import scenario_from_mapping
from nona.scenario.schema import Scenario
from nona.serving.ending import INTERRUPTED
from nona.simulation.experiments.dask_pool import DaskPool, no_report
from nona.sources.lookup import Sources
from nona.sources.opening import Opened
from nona.store.plans import plan_item
from nona.study import Study, prepare
from nona.study.exports import check_places, write_bytes, write_text
from nona.study.outcome import plan_outcome
from nona.study.planning.plan import plan as plan_scenario
from nona.study.planning.planner import RunPool
from nona.study.planning.progress import PlanProgress
from nona.study.provenance import now_text


def plan(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> None:
    """Find the cheapest option that keeps the targets, and print it or JSON.

    Whoever interrupts gets what is known so far.
    """
    check_places(arguments.html, arguments.csv, arguments.parquet)
    scenario, sources = _asked(arguments, scenario, sources)
    prepared = prepare(scenario, sources)
    warn_of_hardware(prepared)
    line = ProgressLine(quiet=arguments.json)
    last: list[PlanReport] = []

    def on_table(report: PlanReport, progress: PlanProgress) -> None:
        last[:] = [report]
        line.tell(progress.text)

    try:
        pool: RunPool | None = DaskPool(arguments.dask, no_report) if arguments.dask else None
        report = plan_scenario(scenario, sources, workers=arguments.workers, pool=pool, on_table=on_table)
    except KeyboardInterrupt:
        if not last:
            raise
        warn_of_interrupt()
        _write(arguments, last[0], Opened(scenario, sources), prepared)
        raise Exit(INTERRUPTED) from None
    except SimulationError as error:  # as when a cluster is lost
        line.end()
        if last and any(option.replications for option in last[0].options):
            _write(arguments, last[0], Opened(scenario, sources), prepared)
            print("warning: not finished; what was printed was known by then", file=sys.stderr)
        raise error
    line.end()
    _write(arguments, report, Opened(scenario, sources), prepared)


def _write(arguments: PlanOptions, report: PlanReport, opened: Opened, prepared: Study) -> None:
    """Print the plan, then write the files and save it: whatever happens to these, it is there."""
    made = now_text()
    emit(arguments, report, lambda found: plan_text(found, day_of(made)))
    if arguments.csv or arguments.parquet:
        frame = pd.DataFrame(option_rows(report))
        if arguments.csv:
            write_bytes(arguments.csv, csv_bytes(frame))
        if arguments.parquet:
            write_bytes(arguments.parquet, parquet_bytes(frame))
    if not (arguments.html or arguments.save):
        return
    outcome = plan_outcome(prepared, report, made)
    if arguments.html:
        write_text(arguments.html, plan_html(outcome))
    if arguments.save:
        save_item(arguments.store, plan_item(arguments.save, "", outcome, opened))


def _asked(arguments: PlanOptions, scenario: Scenario, sources: Sources) -> tuple[Scenario, Sources]:
    """The scenario with what the command line says of its part ``plan``."""
    data: dict[str, object] = scenario.model_dump(mode="json")
    part: dict[str, object] = dict(scenario.plan.model_dump(mode="json")) if scenario.plan else {}
    if arguments.offer:
        part["offers"] = list(arguments.offer)
    if arguments.link:
        part["links"] = list(arguments.link)
    if arguments.scheduler:
        part["schedulers"] = list(dict.fromkeys(arguments.scheduler))
    given: dict[str, object] = {
        "growth": arguments.growth,
        "confidence": arguments.confidence,
        "hit": arguments.hit,
        "most": arguments.most,
        "replications": arguments.replications,
    }
    part |= {key: value for key, value in given.items() if value is not None}
    if arguments.profile is not None:
        part["profile"] = arguments.profile.name
        content = _profile(arguments.profile)
        sources = replace(sources, held={**(sources.held or {}), arguments.profile.name: content})
    if arguments.seed is not None:
        data["seed"] = arguments.seed
    data["plan"] = part
    return scenario_from_mapping(data), sources


def _profile(path: Path) -> bytes:
    what = f"Profile {str(path)!r}"
    try:
        return read_file(path, what, MOST_BUNDLE_BYTES, NonaError)
    except FileNotFoundError as error:
        raise NonaError(f"{what}: {error.strerror}; check the path.") from None
