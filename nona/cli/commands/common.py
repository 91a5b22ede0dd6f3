"""Options that several commands have."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from nona.cli.known import DEVICE, ENGINE, MODEL, PRECISION, SCENARIO, SCHEDULER, STACK
from nona.cli.parameters import OutputFile, Symbol, Whole
from nona.cli.settings import Setting

FILE = click.Path(path_type=Path)
OUTPUT = OutputFile()
COUNT = Whole(min=1)


def at_most_cores(context: click.Context, _: click.Parameter, asked: int) -> int:
    """``asked`` processes, or one per core that this process may use, with a warning, if that is fewer."""
    from nona.experiments.workers import cores

    most = cores()
    if asked <= most:
        return asked
    if not context.resilient_parsing:  # while a shell completes, nothing is printed
        text = f"warning: --workers {asked} is more than the cores of this machine; {most} used instead"
        print(text, file=sys.stderr)
    return most


json = click.option("--json", is_flag=True, help="write one JSON object to standard output")
scenario = click.argument("scenario", type=SCENARIO)
model = click.argument("model", type=MODEL)
device = click.option("--device", type=DEVICE, default="a100-40gb", metavar="D", help="see `nona devices`")
stack = click.option(
    "--stack", type=STACK, default="tensorrt", help="software that runs it (default tensorrt)"
)
precision = click.option(
    "--precision", type=PRECISION, default="model", help="model (default): as in the file"
)
batch = click.option("--batch", type=Whole(), default=1, help="queries per batch")
symbol = click.option(
    "--symbol", type=Symbol(), multiple=True, metavar="NAME=SIZE", help="size of a symbolic dimension"
)
scheduler = click.option(
    "--scheduler",
    type=SCHEDULER,
    multiple=True,
    metavar="S",
    help="scheduler to run, see `nona schedulers`; repeat for several",
)
seed = click.option("--seed", type=Whole(), help="overrides the scenario's seed")
engine = click.option(
    "--engine",
    type=ENGINE,
    default="auto",
    help="auto (default): compiled once its machine code is available",
)
workers = click.option(
    "--workers",
    type=COUNT,
    default=1,
    callback=at_most_cores,
    help="number of processes, at most one per core; results do not depend on it",
)
dask = click.option(
    "--dask",
    metavar="ADDRESS",
    help="address of a Dask scheduler to run on, e.g. tcp://host:8786 (needs nona-planner[dask])",
)
store = click.option(
    "--store",
    type=FILE,
    metavar="FOLDER",
    help="folder of the saved items (default: that of $NONA_STORE, or your own folder for data)",
)
csv = click.option("--csv", type=OUTPUT, metavar="FILE", help="also write one row per simulated point")
settings = click.option(
    "--set",
    "settings",
    type=Setting(),
    multiple=True,
    metavar="NAME.OPTION=VALUE",
    help="an option of a policy, e.g. optimus.fitted=true; repeat for several",
)
shipped = click.option("--shipped", is_flag=True, help="show the shipped results without simulating")
html = click.option("--html", type=OUTPUT, metavar="FILE", help="also write the report as one HTML file")
