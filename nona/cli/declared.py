"""Commands declared by the values that they take: a class whose fields are arguments and options.

``command`` makes of such a class a frozen dataclass and a command of the program, which calls a function with
one object of it. The function is named by its place, so that help and completion import no work. A
scenario as an argument is opened here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, dataclass_transform

import click

from nona.cli import known, parameters
from nona.cli.parameters import OutputFile, WholeNumber, flag
from nona.core.errors import ScenarioError
from nona.core.registry import load

if TYPE_CHECKING:
    from nona.scenario.opening import OpenedScenario

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
_FORCE = "nona.force"


class Command(click.Command):
    """A command that never takes the name of an option for another option's value.

    If it writes files (:class:`~nona.cli.parameters.OutputFile`), it overwrites one only with ``--force``.
    """

    @staticmethod
    def with_force(parameters: Sequence[click.Parameter]) -> list[click.Parameter]:
        """Return the parameters, with ``--force`` before ``--json`` where one of them is an output file."""
        if not any(isinstance(p.type, OutputFile) for p in parameters):
            return list(parameters)
        last = [p for p in parameters if p.name == "json"]
        return [*(p for p in parameters if p not in last), _force(), *last]

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
        for parameter in self.params:
            if not isinstance(parameter.type, OutputFile):
                continue
            path = ctx.params.get(parameter.name or "")
            if path is not None and path.is_file():  # a device or a pipe loses nothing
                ctx.fail(f"{flag(parameter)} {str(path)!r}: the file exists; add --force to overwrite it")


def _force() -> click.Option:
    def note(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        ctx.meta[_FORCE] = given

    text = "overwrite files that exist"
    return click.Option(["--force"], is_flag=True, expose_value=False, callback=note, help=text)


class ComputedDefault(click.Option):
    """An option whose default is computed when a command needs it; help shows it."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:
        """Return the default; nothing while a shell completes, which must not wait for it."""
        return None if ctx.resilient_parsing else super().get_default(ctx, call)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option, and its help with the default."""
        record = super().get_help_record(ctx)
        return record and (record[0], f"{record[1]} (default {super().get_default(ctx)})")


class ScenarioOption(click.Option):
    """An option that sets a field of the scenario; help says what the schema says of the field."""

    place, overrides = "", False

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option, and the field's title and effect; its default where no scenario has another."""
        from nona.scenario.words import lower_first, words  # when help is asked for

        wording = words(self.place)
        named = wording.title.casefold() == str(self.name).replace("_", " ")
        texts = [wording.about[:-1]] if named else [wording.title, wording.about[:-1]]
        repeat = "; repeat for several" if self.multiple else ""
        default = "" if self.overrides or self.is_flag else f" (default {wording.default_text})"
        self.help = f"{': '.join(map(lower_first, texts))}{repeat}{default}"
        return super().get_help_record(ctx)


class Commands(click.Group):
    """A group that lists its commands in the order of their declaration, with whole summaries."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, as declared."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named first; a usage error with the known ones if there is none such."""
        if (
            args
            and args[0] not in self.commands
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            ctx.fail(f"no such command {args[0]!r}; choose one of {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their summaries, uncut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.short_help or "") for name, command in self.commands.items()])


def group(name: str, summary: str, what: str = "COMMAND", more: str = "") -> Commands:
    """Return a group of commands, without any yet.

    ``what`` they are called in help, ``more`` stands there too.
    """
    return Commands(
        name,
        help=summary + more,
        short_help=summary,
        no_args_is_help=False,
        subcommand_metavar=f"{what} [OPTIONS]...",
        context_settings=CONTEXT,
    )


@dataclass(frozen=True, slots=True)
class Spec:
    """The option of a command that a field of its class stands for; an argument has no help."""

    text: str | None
    kind: Any = None
    usual: str = ""
    flags: tuple[str, ...] = ()
    place: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    def parameter(self, name: str, annotation: str, overrides: bool = False) -> click.Parameter:
        """Return the parameter that fills the field ``name``; ``overrides``: what a scenario says."""
        more = {key: value for key, value in self.more.items() if value is not None}
        if self.text is None:
            more.setdefault("required", not annotation.endswith("| None"))
            return click.Argument([name], type=self.kind, **more)
        flags = self.flags or ("--" + name.replace("_", "-"),)
        if self.usual:
            more["default"] = lambda: load(self.usual)
        kind = (
            ScenarioOption
            if self.place
            else ComputedDefault
            if self.usual and "late" not in more
            else click.Option
        )
        made_option = kind(
            [*flags, name],
            type=None if annotation == "bool" else self.kind,
            is_flag=annotation == "bool" or None,
            multiple=annotation.startswith("tuple[") and not more.get("whole"),
            help=self.text,
            **{key: value for key, value in more.items() if key not in ("late", "whole")},
        )
        if isinstance(made_option, ScenarioOption):
            made_option.place, made_option.overrides = self.place, overrides
        return made_option


def argument(kind: Any = None, **more: Any) -> Any:
    """Return a field that is an argument."""
    return Spec(None, kind, more=more)


def option(text: str, kind: Any = None, *, usual: str = "", flags: tuple[str, ...] = (), **more: Any) -> Any:
    """Return a field that is an option, by default of the field's name.

    ``bool`` is a flag, a tuple can be repeated.

    ``usual`` is the place of its default, which help shows; with ``late`` help says it itself. ``whole``: one
    value is the tuple.
    """
    return Spec(text, kind, usual, flags, more=more)


def setting(place: str, kind: Any = None, **more: Any) -> Any:
    """Return a field that is an option for a field of the scenario, at ``place``.

    Help says the schema's words.

    A command that opens a scenario gets it with what its settings say.
    """
    return Spec("", kind, place=place, more=more)


K = TypeVar("K")


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(argument, option, setting))
def options(kind: type[K]) -> type[K]:
    """Declare the fields of a class as options that commands inherit."""
    inherited = _PARAMETERS.get(kind.__base__ or object, {})
    own = {key: (vars(kind)[key], kind.__annotations__[key]) for key in vars(kind).get("__annotations__", ())}
    specs = {key: spec for key, spec in inherited.items() if key not in LAST} | own
    specs |= {key: inherited[key] for key in LAST if key in inherited}
    for key in own:
        delattr(kind, key)
    values = dataclass(frozen=True, kw_only=True)(kind)
    _PARAMETERS[values] = specs
    return values


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(argument, option, setting))
def command(name: str, summary: str, work: str, *, opens: bool = False) -> Callable[[type[K]], type[K]]:
    """Declare a command whose values are the fields of the class below.

    ``work`` is the place of the function that gets them; ``opens``: it gets the scenario, with what the
    settings say, and its files too.
    The command is found as ``made_by(class)``. Fields of :func:`options` and of other commands are inherited.
    """

    def declared(kind: type[K]) -> type[K]:
        values = options(kind)
        specs = _PARAMETERS[values]

        def run(**given: Any) -> None:
            taken: Any = values(**given)
            values_at = {spec.place: given[key] for key, (spec, _) in specs.items() if spec.place}
            values_at = {place: value for place, value in values_at.items() if value not in (None, ())}
            load(work)(taken, *(opened(taken.scenario, values_at) if opens else ()))

        parameters = Command.with_force(
            [spec.parameter(key, annotation, opens) for key, (spec, annotation) in specs.items()]
        )
        _COMMANDS[values] = Command(
            name, params=parameters, callback=run, help=summary, short_help=summary, context_settings=CONTEXT
        )
        return values

    return declared


LAST = ("store", "json")  # the options that stand after those that a class adds to its base
_PARAMETERS: dict[type, dict[str, tuple[Spec, str]]] = {}
_COMMANDS: dict[type, Command] = {}


def made_by(kind: type) -> Command:
    """Return the command that was declared with this class."""
    return _COMMANDS[kind]


class PrintOptions(Protocol):
    """Values of a command that prints text, or one JSON object."""

    @property
    def json(self) -> bool:
        """True where the command prints JSON."""


def at_most_cores(context: click.Context, _: click.Parameter, asked: int) -> int:
    """``asked`` processes, or one per core that this process may use, with a warning, if that is fewer."""
    most: int = load("nona.core.experiments:cores()")
    if asked <= most:
        return asked
    if not context.resilient_parsing:  # while a shell completes, nothing is printed
        text = f"warning: --workers {asked} is more than the cores of this machine; {most} used instead"
        print(text, file=sys.stderr)
    return most


FILE = click.Path(path_type=Path)
OUTPUT = OutputFile()
COUNT = WholeNumber(min=1)

SCENARIO, MODEL = argument(known.SCENARIO), argument(known.MODEL)
JSON = option("write one JSON object to standard output")
DEVICE = option("see `nona devices`", known.DEVICE, default="a100-40gb", metavar="D")
STACK = setting("cost.stack", known.STACK, default="tensorrt")
PRECISION = setting("cost.precision", known.PRECISION, default="auto")
BATCH = setting("workload.0.batch", WholeNumber(), default=1)
SYMBOL = option("size of a symbolic dimension", parameters.SYMBOL, metavar="NAME=SIZE")
SEED = setting("seed", WholeNumber())
ENGINE = option("auto (default): compiled once its machine code is available", known.ENGINE, default="auto")
WORKERS = option(
    "number of processes, at most one per core; results do not depend on it",
    COUNT,
    default=1,
    callback=at_most_cores,
)
DASK = option(
    "address of a Dask scheduler to run on, e.g. tcp://host:8786 (needs nona-planner[dask])",
    metavar="ADDRESS",
)
STORE = option(
    "folder of the saved items (default: that of $NONA_STORE, or your own folder for data)",
    FILE,
    metavar="FOLDER",
)
CSV = option("also write one row per simulated point", OUTPUT, metavar="FILE")
SETTINGS = option(
    "an option of a policy, e.g. optimus.fitted=true; repeat for several",
    parameters.SETTING,
    flags=("--set",),
    metavar="NAME.OPTION=VALUE",
)
SHIPPED = option("show the shipped results without simulating")
HTML = option("also write the report as one HTML file", OUTPUT, metavar="FILE")


def opened(name: str, values: Mapping[str, object] = MappingProxyType({})) -> OpenedScenario:
    """Return the scenario, with ``values`` at places of it, and where its files are found."""
    from nona.queries.sweeps.numbers import with_values
    from nona.scenario.opening import OpenedScenario, open_scenario

    scenario, sources = open_scenario(scenario_path(name))
    return OpenedScenario(with_values(scenario, values) if values else scenario, sources)


def scenario_path(name: str) -> Path:
    """Return the file of a scenario: of a shipped one by its name."""
    from nona.scenario import sample_files as samples

    if name in samples.scenario_names():
        return samples.scenario_path(name)
    path = Path(name)
    if not path.is_file() and path.suffix == "":
        raise ScenarioError(
            [
                f"Scenario {name!r}: no such file or shipped scenario; choose one of "
                f"{', '.join(samples.scenario_names())}, or name a file."
            ]
        )
    return path
