"""The commands that take a model, list choices, or train the learned schedulers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import shell_complete

from nona.cli import known
from nona.cli.declared import (
    BATCH,
    CONTEXT,
    DEVICE,
    JSON,
    MODEL,
    OUTPUT,
    PRECISION,
    STACK,
    SYMBOL,
    Command,
    command,
    option,
    options,
)
from nona.cli.parameters import ShareParameter, WholeNumber, sizes

if TYPE_CHECKING:
    from nona.language.gpu import KvPrecision
    from nona.models.cost.options import CostPrecision


@options
class ModelOptions:
    """A model, and how it runs."""

    model: str = MODEL
    device: str = DEVICE
    stack: str = STACK
    precision: CostPrecision = PRECISION
    batch: int = BATCH
    symbol: tuple[tuple[str, int], ...] = SYMBOL
    json: bool = JSON


@command(
    "inspect",
    "show operators, work, time and parallelism of a model, or the memory of a language model's engine",
    "nona.cli.models:inspect",
)
class InspectOptions(ModelOptions):
    """``nona inspect``."""

    batches: tuple[int, ...] = option(
        "also print the times of batches of 1, 2, … queries: 1,2,4,8; each query has the inputs of --batch",
        sizes(1024),
        default=(),
        whole=True,
        metavar="SIZES",
    )
    tokens: int | None = option(
        "language model: tokens of a request, prompt and answer; prints how many requests fit (default 2048)",
        WholeNumber(min=1, max=1_000_000),
        default=None,
    )
    requests: int | None = option(
        "language model: requests at once; prints the share of the memory that they need",
        WholeNumber(min=1, max=1_000_000),
        default=None,
    )
    tp: int = option("language model: GPUs that run one copy together", WholeNumber(min=1, max=64), default=1)
    share: float | None = option(
        "language model: share of each GPU's memory that its engine takes (default 0.92)",
        ShareParameter(),
        default=None,
    )
    kv: KvPrecision = option(
        "language model: width of keys and values, auto or fp8",
        click.Choice(("auto", "fp8")),
        default="auto",
    )


@command("contract", "contract a model into tasks and cut it into sub-graphs", "nona.cli.models:contract")
class ContractOptions(ModelOptions):
    """``nona contract``."""

    rule: str = option(
        "when two operators may become one task",
        known.RULE,
        usual="nona.models.contraction.rules:DEFAULT_RULE",
        late=True,
    )


@command("schedulers", "list the schedulers", "nona.cli.lists:schedulers")
class SchedulersOptions:
    """``nona schedulers``."""

    json: bool = JSON


@command("devices", "list the devices", "nona.cli.lists:devices")
class DevicesOptions:
    """``nona devices``."""

    json: bool = JSON


@command("models", "list the models", "nona.cli.lists:models")
class ModelsOptions:
    """``nona models``."""

    json: bool = JSON


@command(
    "train-decima",
    "train the learned scheduler decima-link or decima-blind; write its weights",
    "nona.cli.models:train_decima",
)
class TrainDecimaOptions:
    """``nona train-decima``."""

    output: Path = option(
        "file to write, e.g. mine.json", OUTPUT, required=True, metavar="FILE", flags=("-o", "--output")
    )
    hide_link: bool = option("train decima-blind, which does not see the load of the link")
    iterations: int = option(
        "systems that are drawn, one step each",
        WholeNumber(min=1, max=100000),
        usual="evidence.learning.training:TrainSettings().iterations",
    )
    rollouts: int = option(
        "runs of each system, with the same arrivals",
        WholeNumber(min=2, max=64),
        usual="evidence.learning.training:TrainSettings().rollouts",
    )
    jobs: int = option(
        "jobs of a run",
        WholeNumber(min=10, max=10000),
        usual="evidence.learning.training:TrainSettings().jobs",
    )
    seed: int = option(
        "equal seeds give equal weights",
        WholeNumber(),
        usual="evidence.learning.training:TrainSettings().seed",
    )


COMPLETE = "_NONA_COMPLETE"  # the variable by which a shell's script asks for completions
SHELLS = ("bash", "zsh", "fish")


class ShellChoice(click.Choice[str]):
    """A shell that can be completed; another is refused with the ones that can."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the shell; a usage error in one line for anything else."""
        if value not in SHELLS:
            raise click.UsageError(f"shell {value!r} is not known; give one of {', '.join(SHELLS)}", ctx)
        return value


SUMMARY = 'print the completion of a shell: eval "$(nona completion bash)"'


@click.command("completion", Command, help=SUMMARY, short_help=SUMMARY, context_settings=CONTEXT)
@click.argument("shell", type=ShellChoice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names."""
    shell_complete(context.find_root().command, {}, "nona", COMPLETE, f"{shell}_source")
