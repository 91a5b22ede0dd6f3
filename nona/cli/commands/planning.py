"""The commands that try many values: sweep, capacity, plan."""

from __future__ import annotations

import click

from nona.cli.commands import group as common
from nona.cli.commands.group import Usual, command, takes
from nona.cli.known import DEVICE, OBJECTIVE, OFFER, SCHEDULER, SURVIVED, SWEPT
from nona.cli.options import CapacityOptions, PlanOptions, SweepOptions
from nona.cli.parameters import Price, Share, Whole

EXAMPLE = "background.network.utilization"


def _most_servers() -> int:
    from nona.study.capacity import MOST

    return MOST


@command("sweep", "simulate every scheduler over values of one number, with edges of stability")
@common.scenario
@click.option(
    "--key",
    required=True,
    metavar="KEY",
    help=f"the number to vary, e.g. {EXAMPLE}, cluster.servers[0].count or workload[0].rate; "
    "load: a factor on all rates",
)
@click.option(
    "--values",
    required=True,
    metavar="V",
    help="FIRST:LAST:STEP, or values with commas; with units, e.g. '5 Gbit/s,10 Gbit/s'",
)
@click.option(
    "--second",
    metavar="KEY",
    help="a second number: --key is swept at each of its values, without edges of stability",
)
@click.option("--second-values", metavar="V", help="its values, written as those of --values")
@click.option(
    "--target", type=Share(), default="99%", metavar="SHARE", help="share of the SLOs to keep (default 99%)"
)
@click.option(
    "--scheduler",
    type=SWEPT,
    multiple=True,
    metavar="S",
    help="scheduler to run, or policy of a serverless scenario, see `nona schedulers`; repeat for several",
)
@click.option("--jobs", type=common.COUNT, help="jobs (serverless: calls) measured per run")
@click.option("--replications", type=common.COUNT, help="independent runs of each point")
@common.seed
@common.engine
@common.workers
@click.option(
    "--values-only",
    is_flag=True,
    help="simulate at the values only, without a search for edges of stability between them",
)
@common.csv
@common.json
@takes(SweepOptions)
def sweep(options: SweepOptions) -> None:
    """Sweep one number of a scenario."""
    from nona.cli import sweep as work
    from nona.cli.opened import opened

    work.sweep(options, *opened(options.scenario))


@command("capacity", "find the fewest or cheapest servers that keep the SLOs")
@common.scenario
@click.option(
    "--hit", type=Share(), default="99%", metavar="SHARE", help="share of the SLOs to keep (default 99%)"
)
@click.option(
    "--group", type=Whole(), default=0, help="index of the entry of cluster.servers to size (default 0)"
)
@click.option(
    "--gpu",
    type=DEVICE,
    multiple=True,
    metavar="D",
    help="device to try in that entry; repeat for several",
)
@click.option(
    "--price",
    type=Price(),
    multiple=True,
    metavar="D=NUMBER",
    help="price of one GPU, to find the cheapest",
)
@click.option(
    "--most",
    cls=Usual,
    type=common.COUNT,
    default=_most_servers,
    help="largest number of servers to try",
)
@click.option(
    "--scheduler",
    type=SCHEDULER,
    multiple=True,
    metavar="S",
    help="scheduler to size for (default nona): nona, local and spread by prediction, the others by "
    "simulation; repeat for several",
)
@click.option("--objective", type=OBJECTIVE, help="overrides the scenario's objective, see nona place")
@click.option("--simulate", is_flag=True, help="also simulate what was predicted, and one server fewer")
@common.json
@takes(CapacityOptions)
def capacity(options: CapacityOptions) -> None:
    """The fewest servers that keep the SLOs."""
    from nona.cli import planning as work
    from nona.cli.opened import opened

    work.capacity(options, *opened(options.scenario))


@command("plan", "find what to buy: the cheapest servers and scheduler that keep all targets")
@common.scenario
@click.option(
    "--offer",
    type=OFFER,
    multiple=True,
    metavar="GPU[:MIG][=PRICE]",
    help="servers on offer, with the price of a GPU, e.g. a100-40gb:3g+2g+2g=1.29, l4=900/month or "
    "h100=30000/3years; MIG all: every maximal layout; repeat for several (default: those of the scenario)",
)
@click.option(
    "--scheduler",
    type=SCHEDULER,
    multiple=True,
    metavar="S",
    help="scheduler to plan with (default least-loaded and nona); repeat for several",
)
@click.option(
    "--link",
    multiple=True,
    metavar="CAPACITY[=PRICE]",
    help="capacity of the shared link on offer, with its price, e.g. '25 Gbit/s' or '100 Gbit/s=400/month'; "
    "repeat for several (default: that of the scenario)",
)
@click.option(
    "--survive",
    type=SURVIVED,
    metavar="FAILURE",
    help="the targets must also hold without any one of these (default nothing)",
)
@click.option("--growth", metavar="SHARE/TIME", help="growth of the traffic, e.g. 8%/month")
@click.option("--profile", type=common.FILE, metavar="FILE", help="CSV with the traffic by hour of the week")
@click.option("--confidence", type=Share(), metavar="SHARE", help="of each verdict (default 95%)")
@click.option(
    "--hit", type=Share(), metavar="SHARE", help="share of its SLO that each model must keep (default 99%)"
)
@click.option("--most", type=common.COUNT, help="largest number of servers of an offer (default 256)")
@click.option("--replications", type=common.COUNT, help="most runs of an option (default 256)")
@common.seed
@common.workers
@common.dask
@common.html
@click.option("--csv", type=common.OUTPUT, metavar="FILE", help="also write one row per option")
@click.option(
    "--parquet", type=common.OUTPUT, metavar="FILE", help="also write one row per option, with types"
)
@click.option("--save", default="", metavar="NAME", help="also save the plan, see `nona saved`")
@common.store
@common.json
@takes(PlanOptions)
def plan(options: PlanOptions) -> None:
    """What to buy so that all targets are kept."""
    from nona.cli import planning as work
    from nona.cli.opened import opened

    work.plan(options, *opened(options.scenario))
