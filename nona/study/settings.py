"""Settings that people may choose of a study, each declared once: option, help, bounds."""

from __future__ import annotations

import shlex
from dataclasses import Field, field, fields
from typing import Any

from nona.errors import SimulationError
from nona.units import Dimension, quantity_text


def choice(default: Any, text: str, **words: Any) -> Any:
    """A field of a study's settings that people may choose; ``text`` explains it.

    ``words``: ``option`` (its name, where it is not the field's), ``least`` and ``most``, ``of`` (what a name
    names), ``dimension`` (of a quantity), ``metavar``. Fields without this are for tests and programs.
    """
    return field(default=default, metadata={"text": text, **words})


def choices(settings: Any) -> list[Field[Any]]:
    """The fields that people may choose, of settings or of their class."""
    return [one for one in fields(settings) if "text" in one.metadata]


def option_name(one: Field[Any]) -> str:
    """The option that sets a field, ``--at-once``."""
    return "--" + str(one.metadata.get("option", one.name)).replace("_", "-")


def check_least(settings: Any) -> None:
    """Refuse a number below its least.

    Raises ``SimulationError`` naming the field, the value and the bound.
    """
    for one in choices(settings):
        value, least = getattr(settings, one.name), one.metadata.get("least")
        if least is not None and isinstance(value, int) and value < least:
            raise SimulationError(
                f"Study: {one.name}={value} must be at least {least}; give a larger number."
            )


def command_line(study: str, settings: Any) -> str:
    """The command that makes a study's results again.

    >>> from studies.network_views import NetworkViewSettings
    >>> command_line("network-views", NetworkViewSettings(jobs=900, schedulers=("nona", "spread")))
    'nona study network-views --json --jobs 900 --scheduler nona --scheduler spread'
    """
    words = ["nona", "study", study, "--json"]
    for one in choices(settings):
        value, dimension = getattr(settings, one.name), one.metadata.get("dimension")
        if value == one.default:
            continue
        for part in value if isinstance(value, tuple) else (value,):
            words += [option_name(one)] if part is True else [option_name(one), _text(part, dimension)]
    return shlex.join(words)


def _text(value: Any, dimension: Dimension | None) -> str:
    if dimension:
        return str(quantity_text(value, dimension))
    return f"{value:g}" if isinstance(value, float) else str(value)
