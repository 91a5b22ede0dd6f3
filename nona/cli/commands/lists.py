"""The commands that list the available choices, and the one that prints a shell's completion."""

from __future__ import annotations

import click
from click.shell_completion import shell_complete

from nona.cli.commands import common
from nona.cli.commands.group import command, takes
from nona.cli.options import ListOptions

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
