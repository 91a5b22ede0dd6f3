"""Options of policies on the command line: ``--set NAME.OPTION=VALUE``."""

from __future__ import annotations

from collections.abc import Iterable

import click

from nona.cli.parameters import flag
from nona.errors import NonaError
from nona.options import Option


class Setting(click.ParamType[tuple[str, str, Option]]):
    """NAME.OPTION=VALUE: an option of one of several policies; a value is true, false, a number or a text."""

    name = "name.option=value"

    def convert(
        self,
        value: str | tuple[str, str, Option],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, str, Option]:
        """Policy, option and value; :class:`NonaError` for anything else."""
        if isinstance(value, tuple):
            return value
        place, equals, text = value.partition("=")
        owner, dot, option = place.partition(".")
        if not (owner and dot and option and equals and text.strip()):
            raise NonaError(
                f"{flag(param)} {value!r} must be NAME.OPTION=VALUE, e.g. optimus.fitted=true; correct it."
            )
        return owner, option, _option(text.strip())


def _option(text: str) -> Option:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def settings_by_name(
    found: Iterable[tuple[str, str, Option]], names: Iterable[str]
) -> dict[str, dict[str, Option]]:
    """Options by policy.

    Raises
    ------
    NonaError
        For a policy that is not run.

    >>> settings_by_name([("a", "x", 1), ("a", "y", 2)], ["a", "b"])
    {'a': {'x': 1, 'y': 2}}
    """
    known, options = list(names), dict[str, dict[str, Option]]()
    for owner, option, value in found:
        if owner not in known:
            raise NonaError(f"--set {owner}.{option}: {owner!r} is not run; choose from {', '.join(known)}.")
        options.setdefault(owner, {})[option] = value
    return options
