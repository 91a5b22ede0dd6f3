"""Commands and groups as this program has them, and options that several share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from nona.cli.known import DEVICE, ENGINE, MODEL, PRECISION, SCENARIO, SCHEDULER, STACK
from nona.cli.parameters import OutputFile, Setting, Symbol, Whole, flag

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}

_FORCE = "nona.force"
P = ParamSpec("P")
Options = TypeVar("Options")


class Command(click.Command):
    """A command that never takes the name of an option for another option's value.

    If it writes files (:class:`~nona.cli.parameters.OutputFile`), it overwrites one only with ``--force``.
    """

    def __init__(self, name: str | None, **settings: Any) -> None:
        super().__init__(name, **settings)
        self.outputs = [p for p in self.params if isinstance(p.type, OutputFile)]
        if self.outputs:
            last = [p for p in self.params if p.name == "json"]
            self.params.insert(self.params.index(last[0]) if last else len(self.params), _force())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and refuse ``--html --json``: the file's name was left out."""
        try:
            rest = super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # an option without its value is not told whose it is
            raise
        names = {name for parameter in self.params for name in parameter.opts if name.startswith("-")}
        for parameter in self.params:
            given = ctx.params.get(parameter.name or "")
            for value in given if isinstance(given, tuple) else (given,):
                if str(value) in names and not ctx.resilient_parsing:
                    ctx.fail(f"{flag(parameter)} needs a value before {value}")
        if not (ctx.resilient_parsing or ctx.meta.get(_FORCE)):
            self._refuse_overwriting(ctx)
        return rest

    def _refuse_overwriting(self, ctx: click.Context) -> None:
        for parameter in self.outputs:
            path = ctx.params.get(parameter.name or "")
            if path is not None and path.is_file():  # a device or a pipe loses nothing
                ctx.fail(f"{flag(parameter)} {str(path)!r}: the file exists; add --force to overwrite it")


def _force() -> click.Option:
    def note(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        ctx.meta[_FORCE] = given

    text = "overwrite files that exist"
    return click.Option(["--force"], is_flag=True, expose_value=False, callback=note, help=text)


class Usual(click.Option):
    """An option whose default is computed when a command needs it; help shows it."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """The default; nothing while a shell completes, which must not wait for it."""
        return None if ctx.resilient_parsing else super().get_default(ctx, call)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option, and its help with the default."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} (default {super().get_default(ctx)})")


class Commands(click.Group):
    """A group that lists its commands in the order of their declaration, with whole summaries."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, as declared."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named first; a usage error with the known ones if there is none such."""
        if (
            args
            and args[0] not in self.commands
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            ctx.fail(f"no such command {args[0]!r}; choose one of {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The names with their summaries, in full."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.short_help or "") for name, command in self.commands.items()])


def command(name: str, summary: str) -> Callable[[Callable[..., None]], click.Command]:
    """Declare a command with its one-line summary."""
    return click.command(name, Command, help=summary, short_help=summary, context_settings=SETTINGS)


def takes(
    kind: Callable[P, Options],
) -> Callable[[Callable[[Options], None]], Callable[P, None]]:
    """Give a command its values as one object of ``kind``, whose fields are its options."""

    def wrap(run: Callable[[Options], None]) -> Callable[P, None]:
        @wraps(run)
        def call(*args: P.args, **values: P.kwargs) -> None:
            run(kind(*args, **values))

        return call

    return wrap


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
    "--precision",
    type=PRECISION,
    default="auto",
    help="auto (default): as the stack runs the file, fp32 in TF32 where it does; model: as in the file",
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
