"""``nona sweep``: all schedulers over many values of one number of a scenario."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import pandas as pd

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

EXAMPLE = "background.network.utilization"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``nona sweep``."""
    parser.add_argument("scenario", help="scenario file, or the name of a shipped scenario")
    parser.add_argument(
        "--key",
        required=True,
        metavar="KEY",
        help=f"the number to vary, e.g. {EXAMPLE}, cluster.servers[0].count or workload[0].rate; "
        "load: a factor on all rates",
    )
    parser.add_argument(
        "--values",
        required=True,
        metavar="V",
        help="FIRST:LAST:STEP, or values with commas; with units, e.g. '5 Gbit/s,10 Gbit/s'",
    )
    parser.add_argument(
        "--scheduler", action="append", metavar="S", help="scheduler to run; repeat for several"
    )
    parser.add_argument("--jobs", type=int, help="jobs measured per run")
    parser.add_argument("--replications", type=int, help="independent runs of each point")
    parser.add_argument("--seed", type=int, help="overrides the scenario's seed")
    parser.add_argument("--engine", default="auto", help="compiled, simpy, or auto (default)")
    parser.add_argument(
        "--workers", type=int, default=1, help="number of processes; results do not depend on it"
    )
    parser.add_argument(
        "--values-only",
        action="store_true",
        help="simulate at the values only, without a search for edges of stability between them",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write one row per simulated point")


def sweep(arguments: argparse.Namespace, scenario: Scenario, sources: Sources) -> None:
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
    print(json.dumps(report.to_json(), allow_nan=False) if arguments.json else sweep_text(report))


def _settings(arguments: argparse.Namespace, scenario: Scenario) -> SweepSettings:
    number = number_named(scenario, arguments.key)
    spec = scenario.simulation
    own = tuple(dict.fromkeys(s.name for s in scenario.schedulers))
    for option in ("jobs", "replications", "workers"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise NonaError(f"--{option} {value} must be at least 1; give a larger number.")
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
