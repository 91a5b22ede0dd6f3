"""The commands that take a scenario: app, bundle, place, simulate, serverless."""

from __future__ import annotations

import click

from nona.cli.commands import group as common
from nona.cli.commands.group import Usual, command, takes
from nona.cli.known import OBJECTIVE, POLICY, SCENARIO, SCHEDULER, SOLVER, WAY
from nona.cli.options import AppOptions, BundleOptions, PlaceOptions, ServerlessOptions, SimulateOptions
from nona.cli.parameters import Assigned, Share, Whole


def _most_nodes() -> int:
    from nona.study.serverless.comparisons import MOST

    return MOST


def _warmup(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


@command("app", "serve the browser app on this machine, and open a scenario in it")
@click.argument("scenario", type=SCENARIO, required=False)
@click.option("--port", type=Whole(min=1, max=65535), default=8501, help="port to serve on (default 8501)")
@click.option("--no-browser", is_flag=True, help="do not open a browser window")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    help="address to listen on (default 127.0.0.1); beyond this machine it needs a password or --user-header",
)
@click.option(
    "--allow-name",
    metavar="NAME",
    multiple=True,
    help="host name by which browsers reach the server, e.g. plan.example.com; repeat for several",
)
@click.option("--set-password", is_flag=True, help="ask for a password, keep its hash in a file, and end")
@click.option(
    "--password-file",
    type=common.FILE,
    metavar="FILE",
    help="file with the password's hash (default: password.json in the folder of NONA_DATA_DIR)",
)
@click.option(
    "--user-header",
    metavar="HEADER",
    default="",
    help="header in which a proxy names the user that it has checked, instead of a password",
)
@click.option(
    "--proxy",
    metavar="ADDRESS",
    multiple=True,
    help="address of the proxy whose header is believed (default 127.0.0.1 and ::1)",
)
@click.option("--no-persist", is_flag=True, help="keep no workspace on disk: a restart then loses all work")
@click.option(
    "--store",
    type=common.FILE,
    metavar="FOLDER",
    help="folder in which saved runs are kept (default: that of $NONA_STORE, or your own folder for data)",
)
@click.option(
    "--shared-store", is_flag=True, help="everybody who uses the app sees all saved runs, not only their own"
)
@takes(AppOptions)
def app(options: AppOptions) -> None:
    """Serve the browser app until interrupted."""
    from nona.cli import app as start

    start.app(options)


@command("bundle", "write a scenario with its models, traces and tables as one .nona.zip file")
@common.scenario
@click.option(
    "-o", "--output", type=common.OUTPUT, required=True, metavar="FILE", help="file to write, e.g. x.nona.zip"
)
@takes(BundleOptions)
def bundle(options: BundleOptions) -> None:
    """Write a scenario with all its files as one."""
    from nona.cli import scenarios as work

    work.bundle(options)


@command("place", "solve the placement of a scenario")
@common.scenario
@click.option("--solver", type=SOLVER, default="parametric", help="(default: parametric)")
@click.option(
    "--objective",
    type=OBJECTIVE,
    help="mean-jct (by sampled jobs), slo (missed SLOs) or formula (the paper's problem alone); "
    "overrides the scenario's objective (default: mean-jct)",
)
@common.html
@common.json
@takes(PlaceOptions)
def place(options: PlaceOptions) -> None:
    """Solve the placement of a scenario."""
    from nona.cli import scenarios as work

    work.place(options)


@command("simulate", "simulate a scenario under one or several schedulers")
@common.scenario
@common.scheduler
@click.option("--jobs", type=Whole(), help="jobs measured per run")
@click.option("--replications", type=Whole(), help="independent runs; the minimum with --precision")
@click.option(
    "--precision",
    metavar="REL",
    help="add runs until every mean JCT has this relative half-width, e.g. 0.02 or 2%",
)
@click.option("--max-replications", type=Whole(), metavar="R", help="maximum of runs with --precision")
@click.option("--warmup", type=_warmup, metavar="W", help="warm-up: number of jobs, auto or mser")
@click.option(
    "--baseline",
    metavar="S",
    shell_complete=SCHEDULER.shell_complete,
    help="also print paired differences from this scheduler",
)
@common.seed
@common.engine
@common.workers
@common.dask
@click.option(
    "--records",
    type=common.OUTPUT,
    metavar="FILE",
    help="also write one row per measured job: .csv or .parquet",
)
@common.html
@click.option(
    "--trace",
    type=common.OUTPUT,
    metavar="FILE",
    help="also write the first jobs as a Chrome trace, for Perfetto",
)
@click.option("--save", default="", metavar="NAME", help="also save the run, see `nona saved`")
@common.store
@common.json
@takes(SimulateOptions)
def simulate(options: SimulateOptions) -> None:
    """Simulate a scenario."""
    from nona.cli import scenarios as work

    work.simulate(options)


@command("serverless", "simulate serverless workflows under configuration policies: SLOs and costs")
@common.scenario
@click.option(
    "--policy",
    type=POLICY,
    multiple=True,
    help="overrides the scenario's policies; repeat for several",
)
@click.option("--calls", type=common.COUNT, help="calls measured per run (default: simulation.jobs)")
@click.option("--replications", type=common.COUNT, help="independent runs")
@common.seed
@common.workers
@click.option("--sharing", type=WAY, multiple=True, help="repeat to compare several")
@click.option(
    "--over",
    metavar="KEY",
    help="run over values of one number: load (a factor on the traffic), serverless.cpu_share, "
    "cluster.servers[0].vcpus, ...; and find up to where each policy keeps --target",
)
@click.option(
    "--values",
    metavar="V",
    help="of --over: FIRST:LAST:STEP, or values with commas; load needs none: it rises until all miss",
)
@click.option(
    "--target",
    type=Share(),
    default="99%",
    metavar="SHARE",
    help="with --over: share of the SLOs to keep (default 99%)",
)
@click.option("--values-only", is_flag=True, help="with --over: no search for knees between the values")
@click.option(
    "--nodes-for",
    type=Share(),
    metavar="SHARE",
    help="find the fewest nodes with which each policy keeps this share of the SLOs, e.g. 99%",
)
@click.option(
    "--times",
    type=Assigned(),
    multiple=True,
    metavar="FUNCTION=TIMES",
    help="a function's times: of a measured network (vgg16 ... bert), or from a file; repeat for several",
)
@click.option(
    "--dag-schedulers",
    is_flag=True,
    help="run the scenario's schedulers instead of policies, with one vGPU and one job per task",
)
@click.option(
    "--most",
    cls=Usual,
    type=common.COUNT,
    default=_most_nodes,
    help="largest number of nodes to try",
)
@common.csv
@click.option(
    "--records",
    type=common.OUTPUT,
    metavar="FILE",
    help="also write one row per measured call: .csv or .parquet",
)
@common.html
@click.option(
    "--trace",
    type=common.OUTPUT,
    metavar="FILE",
    help="also write the first calls as a Chrome trace, for Perfetto",
)
@common.json
@takes(ServerlessOptions)
def serverless(options: ServerlessOptions) -> None:
    """Simulate a serverless scenario."""
    from nona.cli import serverless as work
    from nona.cli.opened import opened

    work.serverless(options, *opened(options.scenario))
