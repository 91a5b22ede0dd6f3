"""``nona study NAME``: the studies that ship with the program, each one command.

A study is a row of :data:`STUDIES`: what it is for, its options, and what it does.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from nona.errors import NonaError, SimulationError
from nona.report.decisions.rows import file_rows
from nona.report.decisions.text import decisions_text
from nona.report.html.paper import paper_html
from nona.report.paper.rows import point_rows
from nona.report.paper.text import paper_text
from nona.report.prediction_map.text import map_text
from nona.report.serverless.study_text import study_text
from nona.report.table_files import csv_bytes
from nona.results.studies.decisions import DecisionStudy
from nona.results.studies.paper import PaperStudy
from nona.results.studies.prediction_map import PredictionMap
from nona.study.decisions import DecisionProgress, DecisionSettings, decisions_study
from nona.study.exports import check_places, write_text
from nona.study.paper import PaperSettings, paper_study
from nona.study.prediction_map import MapSettings, map_study
from nona.study.serverless.study import StudyProgress, StudySettings, serverless_study
from nona.study.shipped import shipped, shipped_decisions, shipped_map, shipped_paper

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ShippedStudy:
    """A study's name, its question, its options and its command."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A sub-command for each study."""
    add = parser.add_subparsers(title="studies", required=True, metavar="STUDY").add_parser
    for study in STUDIES.values():
        own = add(study.name, help=study.summary, description=study.summary)
        study.add_arguments(own)
        own.add_argument(
            "--workers",
            type=int,
            default=1,
            metavar="N",
            help="number of processes; results do not depend on it",
        )
        own.add_argument("--shipped", action="store_true", help="show the shipped results without simulating")
        own.add_argument("--json", action="store_true", help="write one JSON object to standard output")
        own.set_defaults(run=study.run)


def _data(arguments: argparse.Namespace, read: Callable[[], R], run: Callable[[argparse.Namespace], R]) -> R:
    """The shipped results of a study, or those of a run now."""
    if arguments.workers < 1:
        raise NonaError(f"--workers {arguments.workers} must be at least 1; give a larger number.")
    if arguments.shipped:
        return read()
    data = run(arguments)
    if sys.stderr.isatty():
        print(file=sys.stderr)  # the line of progress ends
    return data


def tell(fraction: float, text: str) -> None:
    """Progress on one line of the terminal, if one is attached."""
    if sys.stderr.isatty():
        print(f"\r{fraction:6.1%}  {text:<40}", end="", file=sys.stderr, flush=True)


def _paper_arguments(parser: argparse.ArgumentParser) -> None:
    usual = PaperSettings()
    parser.add_argument("--jobs", type=int, default=usual.jobs, help="jobs measured per run")
    parser.add_argument(
        "--replications", type=int, default=usual.replications, help="independent runs of each point"
    )
    parser.add_argument("--seed", type=int, help="overrides the scenario's seed")
    parser.add_argument("--engine", default="auto", help="compiled, simpy, or auto (default)")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="also write one row per simulated point")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML file")


def _paper(arguments: argparse.Namespace) -> None:
    """Run the paper's evaluation, or show the shipped results."""
    check_places(arguments.csv, arguments.html)
    data = _data(arguments, shipped_paper, _run_paper)
    if arguments.csv:
        write_text(arguments.csv, csv_bytes(pd.DataFrame(point_rows(data))).decode())
    if arguments.html:
        write_text(arguments.html, paper_html(data))
    print(json.dumps(data.to_json(), allow_nan=False) if arguments.json else paper_text(data))


def _run_paper(arguments: argparse.Namespace) -> PaperStudy:
    settings = PaperSettings(arguments.jobs, arguments.replications, arguments.seed)
    data = None
    for told in paper_study(settings, engine=arguments.engine, workers=arguments.workers):
        tell(told.fraction, told.text)
        data = told.data
    if data is None:
        raise SimulationError("Study: it ended without a result; run it again.")
    return data


def _map_arguments(parser: argparse.ArgumentParser) -> None:
    usual = MapSettings()
    parser.add_argument("--tasks", type=int, default=usual.tasks, help="approximate number of tasks per run")
    parser.add_argument(
        "--replications", type=int, default=usual.replications, help="independent runs of each point"
    )
    parser.add_argument("--seed", type=int, help="overrides the scenarios' seeds")
    parser.add_argument(
        "--scenario", action="append", metavar="NAME", help="only this one; repeat for several"
    )
    parser.add_argument("--engine", default="auto", help="compiled, simpy, or auto (default)")


def _map(arguments: argparse.Namespace) -> None:
    """Compare the prediction with the simulation, or show the shipped map."""
    data = _data(arguments, shipped_map, _run_map)
    print(json.dumps(data.to_json(), allow_nan=False) if arguments.json else map_text(data))


def _run_map(arguments: argparse.Namespace) -> PredictionMap:
    chosen = tuple(arguments.scenario or MapSettings().scenarios)
    settings = MapSettings(arguments.tasks, arguments.replications, arguments.seed, chosen)
    return map_study(settings, engine=arguments.engine, workers=arguments.workers, on_progress=tell)


def _serverless_arguments(parser: argparse.ArgumentParser) -> None:
    usual = StudySettings()
    parser.add_argument("--calls", type=int, default=usual.calls, help="calls measured per run")
    parser.add_argument(
        "--replications", type=int, default=usual.replications, help="independent runs of each point"
    )
    parser.add_argument("--small", type=int, default=usual.small, help="calls per run of an alternative")
    parser.add_argument("--few", type=int, default=usual.few, help="independent runs of each alternative")
    parser.add_argument("--seed", type=int, help="overrides the scenarios' seeds")


def _serverless(arguments: argparse.Namespace) -> None:
    """Compare ESG with four other policies and with the slides, or show the shipped results."""
    data = _data(arguments, lambda: shipped("serverless"), _run_serverless)
    print(json.dumps(data, allow_nan=False) if arguments.json else study_text(data))


def _run_serverless(arguments: argparse.Namespace) -> Mapping[str, Any]:
    def told(progress: StudyProgress) -> None:
        tell(progress.fraction, progress.text)

    settings = StudySettings(
        calls=arguments.calls,
        replications=arguments.replications,
        small=arguments.small,
        few=arguments.few,
        seed=arguments.seed,
    )
    return serverless_study(settings, workers=arguments.workers, on_progress=told)


def _decisions_arguments(parser: argparse.ArgumentParser) -> None:
    usual = DecisionSettings()
    add = parser.add_argument
    add("--network", action="append", default=[], metavar="NAME", help="only this one; repeat for several")
    add("--link", action="append", type=float, metavar="GBIT", help="only this speed; repeat for several")
    add("--full", action="store_true", help="all 48 combinations for each network, instead of 12")
    add("--jobs", type=int, metavar="N", help="jobs measured per run, instead of a fixed number of events")
    add(
        "--replications", type=int, default=usual.replications, metavar="R", help="independent runs per round"
    )
    most = "maximum of runs, where schedulers are close"
    add("--most", type=int, default=usual.most, metavar="N", help=most)
    add("--seed", type=int, default=usual.seed, help="seed of all runs")
    add("--engine", default="compiled", help="compiled (default), simpy, or auto")
    add("--csv", type=Path, metavar="FILE", help="also write one row per cell and scheduler")


def _decisions(arguments: argparse.Namespace) -> None:
    """Simulate the placement and the other schedulers, or show the shipped results."""
    check_places(arguments.csv)
    data = _data(arguments, shipped_decisions, _run_decisions)
    if arguments.csv:
        write_text(arguments.csv, csv_bytes(pd.DataFrame(file_rows(data))).decode())
    print(json.dumps(data.to_json(), allow_nan=False) if arguments.json else decisions_text(data))


def _run_decisions(arguments: argparse.Namespace) -> DecisionStudy:
    def told(progress: DecisionProgress) -> None:
        tell(progress.fraction, progress.text)

    usual = DecisionSettings()
    settings = DecisionSettings(
        networks=tuple(arguments.network),
        links=tuple(arguments.link or usual.links),
        full=arguments.full,
        jobs=arguments.jobs,
        replications=arguments.replications,
        most=arguments.most,
        seed=arguments.seed,
    )
    return decisions_study(settings, engine=arguments.engine, workers=arguments.workers, on_progress=told)


STUDIES: Mapping[str, ShippedStudy] = {
    s.name: s
    for s in (
        ShippedStudy(
            "paper",
            "the paper's evaluation: 80 servers, five models, every scheduler to its edge of stability",
            _paper_arguments,
            _paper,
        ),
        ShippedStudy(
            "prediction",
            "the prediction against the simulation, over load, background, locality and models",
            _map_arguments,
            _map,
        ),
        ShippedStudy(
            "decisions",
            "the placement simulated against the other schedulers: all samples and generated networks",
            _decisions_arguments,
            _decisions,
        ),
        ShippedStudy(
            "serverless",
            "ESG and four other policies in the slides' three settings, and what the result depends on",
            _serverless_arguments,
            _serverless,
        ),
    )
}
