"""``nona training COMMAND``: training clusters, where long jobs share GPUs of several types."""

from __future__ import annotations

import click

from nona.cli.commands import common
from nona.cli.commands.group import SETTINGS, Commands, command, takes
from nona.cli.known import TRAINING_POLICY
from nona.cli.options import AllocateOptions

SUMMARY = "training clusters: allocate GPUs of several types to long jobs"


@click.group(
    "training",
    Commands,
    help=SUMMARY,
    short_help=SUMMARY,
    no_args_is_help=False,
    subcommand_metavar="COMMAND [OPTIONS]...",
    context_settings=SETTINGS,
)
def training() -> None:
    """The commands for training clusters."""


@command("allocate", "shares of time for the jobs of a file, under one policy")
@click.argument("file", type=common.FILE)
@click.option(
    "--policy",
    type=TRAINING_POLICY,
    required=True,
    metavar="P",
    help="policy of kind `allocate`, see `nona schedulers`",
)
@click.option("--space-sharing", is_flag=True, help="two jobs may run on the same GPUs (needs pairs in FILE)")
@common.json
@takes(AllocateOptions)
def allocate(options: AllocateOptions) -> None:
    """One answer of a policy."""
    from nona.cli.training import allocate as work

    work.allocate(options)


COMMANDS = (allocate,)
for _command in COMMANDS:
    training.add_command(_command)
