"""``nona sweep``: all schedulers over many values of one number of a scenario."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from nona.cli.options import SweepOptions
from nona.cli.output import emit
from nona.errors import NonaError
from nona.report.sweeps.report import curve_rows, sweep_report
from nona.report.sweeps.text import sweep_text
from nona.report.sweeps.values import parse_values
from nona.report.table_files import csv_bytes
from nona.scenario.schema import Scenario
from nona.sources.lookup import Sources
from nona.study import number_named, with_value
from nona.study.sweeps.curves import curves
from nona.study.sweeps.settings import SweepSettings


def sweep(arguments: SweepOptions, scenario: Scenario, sources: Sources) -> None:
    """Sweep, and print a table for each value, or JSON."""
    if arguments.seed is not None:
        scenario = with_value(scenario, "seed", arguments.seed)
    settings = _settings(arguments, scenario)
    told = None
    for told in curves(scenario, settings, sources, engine=arguments.engine, workers=arguments.workers):
        if sys.stderr.isatty():
            print(f"\r{told.fraction:6.1%}  {told.stage:<14}", end="", file=sys.stderr, flush=True)
    if told is None:
        return
    if sys.stderr.isatty():
        print(file=sys.stderr)
    report = sweep_report(told)
    if arguments.csv:
        _write(arguments.csv, csv_bytes(pd.DataFrame(curve_rows(report))))
    emit(arguments, report, sweep_text)


def _settings(arguments: SweepOptions, scenario: Scenario) -> SweepSettings:
    number = number_named(scenario, arguments.key)
    spec = scenario.simulation
    own = tuple(dict.fromkeys(s.name for s in scenario.schedulers))
    return SweepSettings(
        number=number,
        values=parse_values(arguments.values, number.unit),
        schedulers=tuple(arguments.scheduler) if arguments.scheduler else own,
        jobs=spec.jobs if arguments.jobs is None else arguments.jobs,
        replications=spec.replications if arguments.replications is None else arguments.replications,
        edges=not arguments.values_only,
    )


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise NonaError(f"--csv {str(path)!r}: {error.strerror}; name a file that can be written.") from None
