"""Settings that people may choose of a study, each declared once: option, help, bounds."""

from __future__ import annotations

from dataclasses import Field, field, fields
from typing import Any


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
