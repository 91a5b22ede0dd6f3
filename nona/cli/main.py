"""The command line: ``nona app | inspect | contract | place | simulate | sweep | serverless | study``, lists.

With ``--json`` a command writes one JSON object to standard output and nothing else; progress and
errors go to standard error. Exit status 0 only on success, 2 for bad input with a one-line reason.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from nona import __version__
from nona.cli import basic, lists
from nona.cli import capacity as capacity_command
from nona.cli import contract as contract_command
from nona.cli import serverless as serverless_command
from nona.cli import study as study_command
from nona.cli import sweep as sweep_command
from nona.errors import NonaError
from nona.placement.solver.registry import SOLVERS

Command = Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except NonaError as error:
        print(f"nona: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nona: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser with one-line error messages."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="nona", description="Plan how ML inference queries are split over a shared GPU cluster."
    )
    parser.add_argument("--version", action="version", version=f"nona {__version__}")
    add = parser.add_subparsers(title="commands", required=True, metavar="COMMAND").add_parser

    app = add("app", help="serve the browser app on this machine")
    app.add_argument(
        "scenario", nargs="?", help="scenario to open: a file, or the name of a shipped scenario"
    )
    app.add_argument("--port", type=int, default=8501, help="port to serve on (default 8501)")
    app.add_argument("--no-browser", action="store_true", help="do not open a browser window")
    app.set_defaults(run=basic.app)

    inspect = add("inspect", help="show operators, work, time and parallelism of a model")
    _model(inspect)
    _json(inspect, basic.inspect)

    contract = add("contract", help="contract a model into tasks and cut it into sub-graphs")
    _model(contract)
    contract_command.add_arguments(contract)
    _json(contract, basic.contract)

    place = add("place", help="solve the placement of a scenario")
    _place(place)
    _json(place, basic.place)

    simulate = add("simulate", help="simulate a scenario under one or several schedulers")
    _simulate(simulate)
    _json(simulate, basic.simulate)

    sweep = add("sweep", help="simulate every scheduler over values of one number, with edges of stability")
    sweep_command.add_arguments(sweep)
    _json(sweep, basic.sweep)

    capacity = add("capacity", help="find the fewest or cheapest servers that keep the SLOs by prediction")
    capacity_command.add_arguments(capacity)
    _json(capacity, basic.capacity)

    serverless = add(
        "serverless", help="simulate serverless workflows under configuration policies: SLOs and costs"
    )
    serverless_command.add_arguments(serverless)
    _json(serverless, basic.serverless)

    study = add("study", help="run or show a shipped study, e.g. the paper's evaluation")
    study_command.add_arguments(study)

    for name, run in (
        ("schedulers", lists.schedulers),
        ("devices", lists.devices),
        ("models", lists.models),
    ):
        _json(add(name, help=f"list the {name}"), run)

    measure = add("measure", help="time a model's operators on this machine (needs nona-planner[measure])")
    _measure(measure)
    return parser


def _place(place: argparse.ArgumentParser) -> None:
    place.add_argument("scenario", help="scenario file, or the name of a shipped scenario")
    place.add_argument("--solver", default="parametric", help=f"{', '.join(SOLVERS)} (default: parametric)")
    place.add_argument(
        "--objective",
        help="mean-jct (by sampled jobs), slo (missed SLOs) or formula (the paper's problem alone); "
        "overrides the scenario's objective (default: mean-jct)",
    )
    place.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML file")


def _measure(measure: argparse.ArgumentParser) -> None:
    measure.add_argument("model", help="ONNX file, or the name of a sample model")
    measure.add_argument("--output", type=Path, required=True, metavar="CSV", help="CSV file to write")
    measure.add_argument("--threads", type=int, default=1, help="threads of the runtime (default 1)")
    _symbols(measure)
    measure.set_defaults(run=basic.measure)


def _simulate(simulate: argparse.ArgumentParser) -> None:
    simulate.add_argument("scenario", help="scenario file, or the name of a shipped scenario")
    simulate.add_argument(
        "--scheduler", action="append", metavar="S", help="scheduler to run; repeat for several"
    )
    simulate.add_argument("--jobs", type=int, help="jobs measured per run")
    simulate.add_argument("--replications", type=int, help="independent runs; the minimum with --precision")
    simulate.add_argument(
        "--precision",
        metavar="REL",
        help="add runs until every mean JCT has this relative half-width, e.g. 0.02 or 2%%",
    )
    simulate.add_argument(
        "--max-replications", type=int, metavar="R", help="maximum of runs with --precision"
    )
    simulate.add_argument("--warmup", type=_warmup, metavar="W", help="warm-up: number of jobs, auto or mser")
    simulate.add_argument("--baseline", metavar="S", help="also print paired differences from this scheduler")
    simulate.add_argument("--seed", type=int, help="overrides the scenario's seed")
    simulate.add_argument(
        "--engine",
        default="auto",
        help="compiled, simpy, or auto (default): compiled once its machine code is available",
    )
    simulate.add_argument(
        "--workers", type=int, default=1, help="number of processes; results do not depend on it"
    )
    simulate.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="address of a Dask scheduler to run on, e.g. tcp://host:8786 (needs nona-planner[dask])",
    )
    simulate.add_argument(
        "--records", type=Path, metavar="FILE", help="also write one row per measured job: .csv or .parquet"
    )
    simulate.add_argument("--html", type=Path, metavar="FILE", help="also write the report as one HTML file")
    simulate.add_argument(
        "--trace", type=Path, metavar="FILE", help="also write the first jobs as a Chrome trace, for Perfetto"
    )


def _warmup(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", help="model file, or the name of a sample model or workflow")
    parser.add_argument("--device", default="a100-40gb", metavar="D", help="see `nona devices`")
    parser.add_argument("--stack", default="tensorrt", help="tensorrt, cuda-graphs, onnxruntime or eager")
    parser.add_argument(
        "--precision", default="model", help="model (as in the file), fp32, tf32, fp16, fp8, int8"
    )
    parser.add_argument("--batch", type=int, default=1, help="queries per batch")
    _symbols(parser)


def _symbols(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--symbol", action="append", default=[], metavar="NAME=SIZE", help="size of a symbolic dimension"
    )


def _json(parser: argparse.ArgumentParser, run: Command) -> None:
    parser.add_argument("--json", action="store_true", help="write one JSON object to standard output")
    parser.set_defaults(run=run)


if __name__ == "__main__":
    sys.exit(main())
