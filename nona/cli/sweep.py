"""Command ``nona sweep``: all schedulers over many values of one number, or of two."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TypeVar

from nona.cli.commands.planning import SweepOptions
from nona.cli.known import check_scheduler
from nona.cli.output import emit, warn_of_models
from nona.cli.serverless import sweep_serverless
from nona.errors import NonaError
from nona.report.files import csv_bytes
from nona.report.sweep_findings import sweep_text
from nona.report.sweep_grids import GridCurves, grid_points, grid_report, grid_text
from nona.report.sweeps import Curves, parse_values, sweep_points, sweep_report
from nona.results.sweeps import GridRequest, SweepRequest
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study.exports import check_places, write_bytes
from nona.study.preparation import prepare
from nona.study.sweep_numbers import number_named
from nona.study.sweeps import curves, grid
from nona.tables import Filled

Told = TypeVar("Told", Curves, GridCurves)


def sweep(arguments: SweepOptions, scenario: Scenario, sources: Sources) -> None:
    """Sweep, and print a table for each value, or JSON; for two numbers the best in each cell."""
    if scenario.serverless is not None and (scenario.workload or scenario.training is None):
        sweep_serverless(arguments, scenario, sources)
        return
    for name in arguments.scheduler:
        check_scheduler(name)
    check_places(arguments.csv)
    settings = _settings(arguments, scenario)
    beside = warn_of_models(prepare(scenario, sources))
    if arguments.second is None and arguments.second_values is None:
        last_curves = _last(
            curves(scenario, settings, sources, engine=arguments.engine, workers=arguments.workers)
        )
        if last_curves is not None:
            report = sweep_report(last_curves)
            emit(
                arguments, report, sweep_text, beside
            )  # before the file: whatever happens to it, it is there
            _points(arguments, sweep_points(report))
        return
    whole = _last(
        grid(
            scenario,
            _grid_settings(arguments, scenario, settings),
            sources,
            engine=arguments.engine,
            workers=arguments.workers,
        )
    )
    if whole is not None:
        cells = grid_report(whole)
        emit(arguments, cells, grid_text, beside)
        _points(arguments, grid_points(cells))


def _last(steps: Iterator[Told]) -> Told | None:
    """The last of the reports; a terminal shows how far the work is."""
    latest = None
    for latest in steps:
        if sys.stderr.isatty():
            print(f"\r{latest.fraction:6.1%}  {latest.stage:<14}", end="", file=sys.stderr, flush=True)
    if latest is not None and sys.stderr.isatty():
        print(file=sys.stderr)
    return latest


def _settings(arguments: SweepOptions, scenario: Scenario) -> SweepRequest:
    number = number_named(scenario, arguments.key)
    spec = scenario.simulation
    own = tuple(dict.fromkeys(s.name for s in scenario.schedulers))
    return SweepRequest(
        number=number.key,
        values=parse_values(arguments.values, number.unit),
        schedulers=tuple(arguments.scheduler) if arguments.scheduler else own,
        jobs=spec.jobs if arguments.jobs is None else arguments.jobs,
        replications=spec.replications if arguments.replications is None else arguments.replications,
        edges=not arguments.values_only,
        target=arguments.target,
    )


def _grid_settings(arguments: SweepOptions, scenario: Scenario, settings: SweepRequest) -> GridRequest:
    if arguments.second is None or arguments.second_values is None:
        raise NonaError("--second and --second-values belong together; give both.")
    second = number_named(scenario, arguments.second)
    values = parse_values(arguments.second_values, second.unit, "--second-values")
    return GridRequest(sweep=settings, second=second.key, values=values)


def _points(arguments: SweepOptions, points: Filled) -> None:
    if arguments.csv:
        write_bytes(arguments.csv, csv_bytes(points.numbers()))
