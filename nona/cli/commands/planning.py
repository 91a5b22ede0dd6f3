"""The commands that try many values: sweep, capacity, plan."""

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
    command,
    option,
    setting,
)
from nona.cli.parameters import PRICE, ShareParameter, WholeNumber

EXAMPLE = "background.network.utilization"


@command(
    "sweep",
    "simulate every scheduler over values of one number, with edges of stability",
    "nona.cli.planning:sweep",
    opens=True,
)
class SweepOptions:
    """``nona sweep``."""

    scenario: str = SCENARIO
    key: str = option(
        f"the number to vary, e.g. {EXAMPLE}, cluster.servers[0].count or workload[0].rate; load: a factor "
        "on all rates",
        required=True,
        metavar="KEY",
    )
    values: str = option(
        "FIRST:LAST:STEP, 'FIRST to LAST', or values with commas; with units, e.g. '5 Gbit/s,10 Gbit/s'",
        required=True,
        metavar="V",
    )
    second: str | None = option(
        "a second number: --key is swept at each of its values, without edges of stability", metavar="KEY"
    )
    second_values: str | None = option("its values, written as those of --values", metavar="V")
    target: float = option(
        "share of the SLOs to keep (default 99%)", ShareParameter(), default="99%", metavar="SHARE"
    )
    scheduler: tuple[str, ...] = option(
        "scheduler to run, or policy of a serverless scenario, see `nona schedulers`; repeat for several",
        known.SWEPT,
        metavar="S",
    )
    jobs: int | None = option("jobs (serverless: calls) measured per run", COUNT)
    replications: int | None = option("independent runs of each point", COUNT)
    seed: int | None = SEED
    engine: str = ENGINE
    workers: int = WORKERS
    values_only: bool = option(
        "simulate at the values only, without a search for edges of stability between them"
    )
    csv: Path | None = CSV
    json: bool = JSON


@command(
    "capacity",
    "find the fewest servers of one group that keep the SLOs: a plan with --group",
    "nona.cli.planning:capacity",
    opens=True,
)
class CapacityOptions:
    """``nona capacity``."""

    scenario: str = SCENARIO
    hit: float = option(
        "share of the SLOs to keep (default 99%)", ShareParameter(), default="99%", metavar="SHARE"
    )
    group: int = option("index of the entry of cluster.servers to size (default 0)", WholeNumber(), default=0)
    gpu: tuple[str, ...] = option(
        "device to try in that entry; repeat for several", known.DEVICE, metavar="D"
    )
    price: tuple[tuple[str, float], ...] = option(
        "price of one GPU per hour, to find the cheapest; else as listed", PRICE, metavar="D=NUMBER"
    )
    most: int = option("largest number of servers to try (default 4096)", COUNT, default=4096)
    scheduler: tuple[str, ...] = option(
        "scheduler to size for (default nona); repeat for several", known.SCHEDULER, metavar="S"
    )
    objective: str | None = setting("objective", known.OBJECTIVE)
    simulate: bool = option("no effect any more: every number of servers is simulated")
    workers: int = WORKERS
    json: bool = JSON


@command(
    "plan",
    "find what to buy: the cheapest servers and scheduler that keep all targets",
    "nona.cli.planning:plan",
    opens=True,
)
class PlanOptions:
    """``nona plan``."""

    scenario: str = SCENARIO
    offer: tuple[str, ...] = setting("plan.offers", known.OFFER, metavar="GPU[:MIG][=PRICE]")
    group: int | None = setting("plan.group", WholeNumber())
    scheduler: tuple[str, ...] = setting("plan.schedulers", known.SCHEDULER, metavar="S")
    batch: tuple[str, ...] = setting("plan.batches", metavar="SIZE[:DELAY]")
    survive: str | None = setting("plan.survive", known.SURVIVED, metavar="FAILURE")
    growth: str | None = setting("plan.growth", metavar="SHARE/TIME")
    profile: Path | None = option("CSV with the traffic by hour of the week", FILE, metavar="FILE")
    confidence: float | None = setting("plan.confidence", ShareParameter(), metavar="SHARE")
    hit: float | None = setting("plan.hit", ShareParameter(), metavar="SHARE")
    most: int | None = setting("plan.most", COUNT)
    present: bool = option(
        "judge the cluster as it stands instead: does it hold, until which traffic, without which servers"
    )
    replications: int | None = setting("plan.replications", COUNT)
    seed: int | None = SEED
    workers: int = WORKERS
    dask: str | None = DASK
    html: Path | None = HTML
    csv: Path | None = option("also write one row per option", OUTPUT, metavar="FILE")
    parquet: Path | None = option("also write one row per option, with types", OUTPUT, metavar="FILE")
    save: str = option("also save the plan, see `nona saved`", default="", metavar="NAME")
    store: Path | None = STORE
    json: bool = JSON
