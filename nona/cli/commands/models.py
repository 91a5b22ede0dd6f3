"""The commands that take a model, list choices, or train the learned schedulers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import shell_complete

from nona.cli.commands import group as common
from nona.cli.commands.group import Usual, command, takes
from nona.cli.known import RULE
from nona.cli.options import ContractOptions, ListOptions, MeasureOptions, ModelOptions, TrainDecimaOptions
from nona.cli.parameters import Quantity, Sizes, Whole

if TYPE_CHECKING:
    from nona.learning.training import TrainSettings


def _default_rule() -> str:
    from nona.contraction.rules import DEFAULT_RULE

    return DEFAULT_RULE


def _link_capacity() -> float:
    from nona.hardware.cluster import Network

    return Network().capacity


def _link_latency() -> float:
    from nona.hardware.cluster import Network

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
    from nona.cli import models as work

    work.inspect(options)


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
    from nona.cli import models as work

    work.contract(options)


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
    from nona.cli import models as work

    work.measure(options)


COMPLETE = "_NONA_COMPLETE"  # the variable by which a shell's script asks for completions
SHELLS = ("bash", "zsh", "fish")


@command("schedulers", "list the schedulers")
@common.json
@takes(ListOptions)
def schedulers(options: ListOptions) -> None:
    """List the schedulers and policies."""
    from nona.cli import lists

    lists.schedulers(options)


@command("devices", "list the devices")
@common.json
@takes(ListOptions)
def devices(options: ListOptions) -> None:
    """List the devices."""
    from nona.cli import lists

    lists.devices(options)


@command("models", "list the models")
@common.json
@takes(ListOptions)
def models(options: ListOptions) -> None:
    """List the sample models and scenarios."""
    from nona.cli import lists

    lists.models(options)


class Shell(click.Choice[str]):
    """A shell that can be completed; another is refused with the ones that can."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The shell; a usage error in one line for anything else."""
        if value not in SHELLS:
            raise click.UsageError(f"shell {value!r} is not known; give one of {', '.join(SHELLS)}", ctx)
        return value


@command("completion", 'print the completion of a shell: eval "$(nona completion bash)"')
@click.argument("shell", type=Shell(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names."""
    shell_complete(context.find_root().command, {}, "nona", COMPLETE, f"{shell}_source")


def _usual() -> TrainSettings:
    from nona.learning.training import TrainSettings

    return TrainSettings()


@command("train-decima", "train the learned scheduler decima-link or decima-blind; write its weights")
@click.option(
    "-o", "--output", type=common.OUTPUT, required=True, metavar="FILE", help="file to write, e.g. mine.json"
)
@click.option("--hide-link", is_flag=True, help="train decima-blind, which does not see the load of the link")
@click.option(
    "--iterations",
    cls=Usual,
    type=Whole(min=1, max=100_000),
    default=lambda: _usual().iterations,
    help="systems that are drawn, one step each",
)
@click.option(
    "--rollouts",
    cls=Usual,
    type=Whole(min=2, max=64),
    default=lambda: _usual().rollouts,
    help="runs of each system, with the same arrivals",
)
@click.option(
    "--jobs", cls=Usual, type=Whole(min=10, max=10_000), default=lambda: _usual().jobs, help="jobs of a run"
)
@click.option(
    "--seed", cls=Usual, type=Whole(), default=lambda: _usual().seed, help="equal seeds give equal weights"
)
@takes(TrainDecimaOptions)
def train_decima(options: TrainDecimaOptions) -> None:
    """Train a learned scheduler, with the progress on the terminal, and write its weights."""
    from nona.cli.output import ProgressLine
    from nona.learning.training import TrainSettings, trained_file
    from nona.study.exports import check_places, write_text

    check_places(options.output)
    settings = TrainSettings(
        sees_link=not options.hide_link,
        iterations=options.iterations,
        rollouts=options.rollouts,
        jobs=options.jobs,
        seed=options.seed,
    )
    line = ProgressLine()

    def told(number: int, jct: float) -> None:
        line.tell(f"mean JCT {jct:.2f} times a query's work", number / settings.iterations)

    trained = trained_file(settings, told)
    line.end()
    write_text(options.output, trained.to_text())
    first, last = trained.card.curve[0], trained.card.curve[-1]
    print(
        f"{options.output}: {len(trained.weights)} weights; mean JCT over a query's work {first:.2f} in the "
        f"first part of the training, {last:.2f} in the last"
    )
