"""The commands that take a model: inspect, contract, measure."""

from __future__ import annotations

import click

from nona.cli.commands import common
from nona.cli.commands.group import command, takes
from nona.cli.known import RULE
from nona.cli.options import ContractOptions, MeasureOptions, ModelOptions
from nona.cli.parameters import Quantity, Sizes, Whole


def _default_rule() -> str:
    from nona.contraction.rules import DEFAULT_RULE

    return DEFAULT_RULE


def _link_capacity() -> float:
    from nona.hardware.network import Network

    return Network().capacity


def _link_latency() -> float:
    from nona.hardware.network import Network

    return Network().latency_s


@command("inspect", "show operators, work, time and parallelism of a model")
@common.model
@common.device
@common.stack
@common.precision
@common.batch
@common.symbol
@common.json
@takes(ModelOptions)
def inspect(options: ModelOptions) -> None:
    """Figures of one model on one device."""
    from nona.cli import basic

    basic.inspect(options)


@command("contract", "contract a model into tasks and cut it into sub-graphs")
@common.model
@common.device
@common.stack
@common.precision
@common.batch
@common.symbol
@click.option(
    "--rule",
    type=RULE,
    default=_default_rule,
    help="cost-aware: the default rule poset, and it prints which tasks stay together and why",
)
@click.option(
    "--capacity",
    type=Quantity("bandwidth"),
    default=_link_capacity,
    metavar="C",
    help="capacity of the link between servers, for the tasks that stay together (default 25 Gbit/s)",
)
@click.option(
    "--latency",
    type=Quantity("time"),
    default=_link_latency,
    metavar="L",
    help="latency of that link (default 20 us)",
)
@click.option(
    "--share",
    type=Quantity("fraction"),
    default=0.0,
    metavar="X",
    help="largest loss by keeping tasks together, as a share of a sub-graph's time on one server, "
    "e.g. 2% (default 0)",
)
@common.json
@takes(ContractOptions)
def contract(options: ContractOptions) -> None:
    """Tasks, steps and sub-graphs of one model, and the tasks that stay together."""
    from nona.cli import basic

    basic.contract(options)


@command("measure", "time a model's operators on this machine (needs nona-planner[measure])")
@common.model
@click.option("--output", type=common.OUTPUT, metavar="CSV", help="write the times of operators to this file")
@click.option(
    "--batches",
    type=Sizes(),
    default=(),
    metavar="SIZES",
    help="batch sizes at which to time the whole model, as 1,2,4,8; with --export-profile",
)
@click.option(
    "--export-profile",
    type=common.OUTPUT,
    metavar="CSV",
    help="write the times of the batches to this file: the profile of a serverless function",
)
@click.option("--threads", type=Whole(), default=1, help="threads of the runtime (default 1)")
@common.symbol
@takes(MeasureOptions)
def measure(options: MeasureOptions) -> None:
    """Time a model's operators."""
    from nona.cli import basic

    basic.measure(options)
