"""The commands that take a scenario: app, bundle, place, simulate, serverless."""

from __future__ import annotations

from pathlib import Path

from nona.cli import known
from nona.cli.declared import (
    COUNT,
    CSV,
    DASK,
    ENGINE,
    FILE,
    HTML,
    JSON,
    OUTPUT,
    SCENARIO,
    SEED,
    STORE,
    WORKERS,
    argument,
    command,
    option,
    setting,
)
from nona.cli.parameters import ASSIGNED, ShareParameter, WholeNumber


def _warmup(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


@command("app", "serve the browser app on this machine, and open a scenario in it", "nona.cli.app:app")
class AppOptions:
    """``nona app``."""

    scenario: str | None = argument(known.SCENARIO)
    port: int = option("port to serve on (default 8501)", WholeNumber(min=1, max=65535), default=8501)
    no_browser: bool = option("do not open a browser window")
    host: str = option(
        "address to listen on (default 127.0.0.1); beyond this machine it needs a password or --user-header",
        metavar="ADDRESS",
        default="127.0.0.1",
    )
    allow_name: tuple[str, ...] = option(
        "host name by which browsers reach the server, e.g. plan.example.com; repeat for several",
        metavar="NAME",
    )
    set_password: bool = option("ask for a password, keep its hash in a file, and end")
    password_file: Path | None = option(
        "file with the password's hash (default: password.json in the folder of NONA_DATA_DIR)",
        FILE,
        metavar="FILE",
    )
    user_header: str = option(
        "header in which a proxy names the user that it has checked, instead of a password",
        metavar="HEADER",
        default="",
    )
    proxy: tuple[str, ...] = option(
        "address of the proxy whose header is believed (default 127.0.0.1 and ::1)", metavar="ADDRESS"
    )
    no_persist: bool = option("keep no workspace on disk: a restart then loses all work")
    store: Path | None = option(
        "folder in which saved runs are kept (default: that of $NONA_STORE, or your own folder for data)",
        FILE,
        metavar="FOLDER",
    )
    shared_store: bool = option("all users of the app see all saved runs, not only their own")


@command(
    "bundle",
    "write a scenario with its models, traces and tables as one .nona.zip file",
    "nona.cli.scenarios:bundle",
)
class BundleOptions:
    """``nona bundle``."""

    scenario: str = SCENARIO
    output: Path = option(
        "file to write, e.g. x.nona.zip", OUTPUT, required=True, metavar="FILE", flags=("-o", "--output")
    )


@command("place", "solve the placement of a scenario", "nona.cli.placement:place", opens=True)
class PlaceOptions:
    """``nona place``."""

    scenario: str = SCENARIO
    objective: str | None = setting("objective", known.OBJECTIVE)
    html: Path | None = HTML
    json: bool = JSON


@command(
    "simulate",
    "simulate a scenario under one or several schedulers",
    "nona.cli.scenarios:simulate",
    opens=True,
)
class SimulateOptions:
    """``nona simulate``."""

    scenario: str = SCENARIO
    scheduler: tuple[str, ...] = setting("schedulers", known.SIMULATED, metavar="S")
    jobs: int | None = setting("simulation.jobs", WholeNumber())
    replications: int | None = setting("simulation.replications", WholeNumber())
    precision: str | None = setting("simulation.precision", metavar="REL")
    max_replications: int | None = setting("simulation.max_replications", WholeNumber(), metavar="R")
    warmup: str | int | None = setting("simulation.warmup", _warmup, metavar="W")
    baseline: str | None = option(
        "also print paired differences from this scheduler",
        metavar="S",
        shell_complete=known.SCHEDULER.shell_complete,
    )
    seed: int | None = SEED
    engine: str = ENGINE
    workers: int = WORKERS
    dask: str | None = DASK
    records: Path | None = option(
        "also write one row per measured job: .csv or .parquet", OUTPUT, metavar="FILE"
    )
    html: Path | None = HTML
    trace: Path | None = option(
        "also write the first jobs as a Chrome trace, for Perfetto", OUTPUT, metavar="FILE"
    )
    save: str = option("also save the run, see `nona saved`", default="", metavar="NAME")
    store: Path | None = STORE
    json: bool = JSON


@command(
    "serverless",
    "simulate serverless workflows under configuration policies: SLOs and costs",
    "nona.cli.serverless:serverless",
    opens=True,
)
class ServerlessOptions:
    """``nona serverless``."""

    scenario: str = SCENARIO
    policy: tuple[str, ...] = option("overrides the scenario's policies; repeat for several", known.POLICY)
    calls: int | None = option("calls measured per run (default: simulation.jobs)", COUNT)
    replications: int | None = option("independent runs", COUNT)
    seed: int | None = SEED
    workers: int = WORKERS
    sharing: tuple[str, ...] = option("repeat to compare several", known.WAY)
    over: str | None = option(
        "run over values of one number: load (a factor on the traffic), serverless.cpu_share, "
        "cluster.servers[0].vcpus, ...; and find up to where each policy keeps --target",
        metavar="KEY",
    )
    values: str | None = option(
        "of --over: FIRST:LAST:STEP, or values with commas; load needs none: it rises until all miss",
        metavar="V",
    )
    target: float = option(
        "with --over: share of the SLOs to keep (default 99%)",
        ShareParameter(),
        default="99%",
        metavar="SHARE",
    )
    values_only: bool = option("with --over: no search for knees between the values")
    nodes_for: float | None = option(
        "find the fewest nodes with which each policy keeps this share of the SLOs, e.g. 99%",
        ShareParameter(),
        metavar="SHARE",
    )
    times: tuple[tuple[str, str], ...] = option(
        "a function's times: of a measured network (vgg16 ... bert), or from a file; repeat for several",
        ASSIGNED,
        metavar="FUNCTION=TIMES",
    )
    most: int = option("largest number of nodes to try", COUNT, usual="nona.serverless.results:MOST_NODES")
    csv: Path | None = CSV
    records: Path | None = option(
        "also write one row per measured call: .csv or .parquet", OUTPUT, metavar="FILE"
    )
    html: Path | None = HTML
    trace: Path | None = option(
        "also write the first calls as a Chrome trace, for Perfetto", OUTPUT, metavar="FILE"
    )
    json: bool = JSON
