"""Types of the command line's values: checked, explained in a line, completed.

The names of registries are read when they are needed, so that what a program registered later counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import click
from click.shell_completion import CompletionItem

from nona.core.errors import NonaError
from nona.core.options import Option
from nona.core.units import Dimension, parse_quantity


def share(option: str, text: str) -> float:
    """Parse a share strictly between 0 and 1, written as 0.99 or 99%.

    >>> share("--hit", "99%")
    0.99
    >>> share("--hit", "100%")
    Traceback (most recent call last):
    nona.core.errors.NonaError: --hit '100%' must lie between 0 and 1; write 0.99 or 99%.
    """
    try:
        value = parse_quantity(text, "fraction")
    except ValueError as error:
        raise NonaError(f"{option}: {error}.") from None
    if not 0 < value < 1:
        raise NonaError(f"{option} {text!r} must lie between 0 and 1; write 0.99 or 99%.")
    return value


Names = Callable[[], Iterable[str]]
T = TypeVar("T")


def flag(parameter: click.Parameter | None) -> str:
    """Return an option as people type it, ``--workers``; an argument in capitals.

    >>> flag(click.Option(["-w", "--workers"])), flag(click.Argument(["model"]))
    ('--workers', 'MODEL')
    """
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name if parameter else "value"


class OutputFile(click.Path):
    """A file that a command writes; one that exists is overwritten with ``--force`` only."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)


class WholeNumber(click.IntRange):
    """A whole number, within bounds if they are given."""

    name = "n"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """``N``; the help text says the rest."""
        return "N"

    def _describe_range(self) -> str:
        return ""  # not in help: the bounds are those that anyone expects

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; raise a usage error that names the option, the value and the bound."""
        try:
            number = int(value)
        except ValueError:
            raise click.UsageError(
                f"{flag(param)} {value!r} must be a whole number; write digits only", ctx
            ) from None
        if self.min is not None and number < self.min:
            raise click.UsageError(
                f"{flag(param)} {number} must be at least {self.min}; give a larger number", ctx
            )
        if self.max is not None and number > self.max:
            raise click.UsageError(
                f"{flag(param)} {number} must be at most {self.max}; give a smaller number", ctx
            )
        return number


class Name(click.ParamType[str]):
    """A name of a registry.

    ``kind``: first word of errors: ``Engine``.
    ``names``: gives the names that are known now.
    ``check``: raises :class:`NonaError` for a name that cannot be taken; by default, for one that ``names``
        lacks.
    ``listed``: True if help lists the names.
    ``files``: True if a file may be named instead; it is completed where no name fits.
    """

    def __init__(
        self,
        kind: str,
        names: Names,
        check: Callable[[str], object] | None = None,
        *,
        listed: bool = False,
        files: bool = False,
    ) -> None:
        self.name, self.names, self.listed, self.files = kind.lower(), names, listed, files
        self.check = check or (lambda value: _one_of(kind, value, names()))

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """Return the names, divided by bars, where help lists them."""
        return f"[{'|'.join(self.names())}]" if self.listed else None

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, if it is known; while a shell completes, any."""
        if ctx is None or not ctx.resilient_parsing:
            self.check(value)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        """Return the names that begin so; else files, where one may be named."""
        completions = [CompletionItem(name) for name in self.names() if name.startswith(incomplete)]
        return completions if completions or not self.files else [CompletionItem(incomplete, type="file")]


def unchecked(value: str) -> None:
    """Take any name: the command itself says what is wrong with it, and where."""


def _one_of(kind: str, value: str, names: Iterable[str]) -> None:
    choices = tuple(names)
    if value not in choices:
        raise NonaError(f"{kind} {value!r} is not known; choose one of {', '.join(choices)}.")


class ParsedParameter(click.ParamType[T]):
    """A value with a form of its own: ``parse`` gives ``None`` for a text that breaks the ``rule``.

    ``usage``: such a text is an error of usage, after which help is named.
    """

    def __init__(self, name: str, parse: Callable[[str], T | None], rule: str, usage: bool = False) -> None:
        self.name, self.parse, self.rule, self.usage = name, parse, rule, usage

    def convert(self, value: str | T, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the value; an error that names the option, the text and the rule for anything else."""
        if not isinstance(value, str):
            return value
        parsed = self.parse(value)
        if parsed is None:
            text = f"{flag(param)} {value!r} must be {self.rule}"
            raise click.UsageError(text, ctx) if self.usage else NonaError(f"{text}.")
        return parsed


def sizes(most: int = 4096) -> ParsedParameter[tuple[int, ...]]:
    """Whole numbers from 1 to ``most``, with commas between them."""

    def parse(text: str) -> tuple[int, ...] | None:
        words = text.replace(",", " ").split()
        whole = all(w.isascii() and w.isdigit() and 0 < int(w[:9]) <= most for w in words)
        return tuple(map(int, words)) if words and whole else None

    return ParsedParameter("sizes", parse, f"whole numbers from 1 to {most}; write them as 1,2,4", usage=True)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _symbol(text: str) -> tuple[str, int] | None:
    name, _, size = text.partition("=")
    named = name and size.isascii() and size.isdigit() and len(size) < 11 and int(size) > 0
    return (name, int(size)) if named else None


def _assigned(text: str) -> tuple[str, str] | None:
    name, _, given = text.partition("=")
    return (name.strip(), given.strip()) if name.strip() and given.strip() else None


def _price(text: str) -> tuple[str, float] | None:
    name, _, amount = text.partition("=")
    price = _number(amount)
    return (name, price) if name and price is not None and price >= 0 else None


def _setting(text: str) -> tuple[str, str, Option] | None:
    place, _, value = text.partition("=")
    owner, _, option = place.partition(".")
    return (owner, option, _option(value.strip())) if owner and option and value.strip() else None


def _option(text: str) -> Option:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


DECIMAL = ParsedParameter("number", _number, "a number; write it as 25 or 2.5", usage=True)
SYMBOL = ParsedParameter("name=size", _symbol, "NAME=SIZE with a size of at least 1, e.g. batch=8")
ASSIGNED = ParsedParameter("name=value", _assigned, "NAME=VALUE; write both", usage=True)
PRICE = ParsedParameter("device=number", _price, "DEVICE=NUMBER, at least 0, e.g. t4=0.35")
SETTING = ParsedParameter(
    "name.option=value", _setting, "NAME.OPTION=VALUE, e.g. optimus.fitted=true; correct it"
)


class ShareParameter(click.ParamType[float]):
    """A share strictly between 0 and 1: 0.99 or 99%."""

    name = "share"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share; :class:`NonaError` for anything else."""
        return value if isinstance(value, float) else share(flag(param), value)


class Quantity(click.ParamType[float]):
    """A number with a unit of one dimension, in SI units."""

    def __init__(self, dimension: Dimension) -> None:
        self.name, self.dimension = str(dimension), dimension

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the quantity in SI units; :class:`NonaError` for a text that is not a quantity."""
        try:
            return parse_quantity(value, self.dimension)
        except ValueError as error:
            raise NonaError(f"{flag(param)}: {error}.") from error


def settings_by_name(
    choices: Iterable[tuple[str, str, Option]], names: Iterable[str]
) -> dict[str, dict[str, Option]]:
    """Options by policy.

    >>> settings_by_name([("a", "x", 1), ("a", "y", 2)], ["a", "b"])
    {'a': {'x': 1, 'y': 2}}
    """
    owners, options = list(names), dict[str, dict[str, Option]]()
    for owner, option, value in choices:
        if owner not in owners:
            raise NonaError(f"--set {owner}.{option}: {owner!r} is not run; choose from {', '.join(owners)}.")
        options.setdefault(owner, {})[option] = value
    return options
