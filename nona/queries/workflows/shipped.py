"""Studies: results that ship with the program, when one was made, and the settings that people may choose."""

from __future__ import annotations

import json
from dataclasses import Field, field, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from nona.core.document import Document


def now_text() -> str:
    """Date and time of day in UTC, to the minute, as exports state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


D = TypeVar("D", bound="Document")


def shipped_path(study: str) -> Path:
    """Return the path of a study's result, by its name; the file may be missing."""
    return Path(__file__).parent / "data" / f"{study}.json"


@cache
def shipped_file(study: str) -> dict[str, Any]:
    """Return the file of a study as plain data; not to be changed.

    >>> shipped_file("paper")["command"].split()[:3]
    ['nona', 'study', 'paper']
    """
    content: dict[str, Any] = json.loads(shipped_path(study).read_text(encoding="utf-8"))
    return content


@cache
def stored_result(kind: type[D]) -> D:
    """Return the stored result of that type, with its provenance (command, version, date, seed).

    >>> from nona.queries.study_results import PredictionMap
    >>> stored_result(PredictionMap).about.command.split()[:3]
    ['nona', 'study', 'prediction']
    """
    return kind.from_json(shipped_file(FILES[kind.__name__]))


PLANNED = "a100s_sliced_or_l4s"
"""The scenario whose plan ships, for the demo: its search takes minutes."""
FILES = {
    "DecisionStudy": "decisions",
    "PredictionMap": "prediction_map",
    "PaperStudy": "paper",
    "ServerlessStudy": "serverless",
    "TrainingStudy": "training",
    "ElasticStudy": "elastic",
    "LinkLoadExample": "network_story",
    "PlanOutcome": "demo_plan",
}


def choice(default: Any, text: str, **words: Any) -> Any:
    """Return a field of a study's settings that people may choose; ``text`` explains it.

    ``words``: ``option`` (its name, where it is not the field's), ``least`` and ``most``, ``of`` (what a name
    names), ``dimension`` (of a quantity), ``metavar``. Fields without this are for tests and programs.
    """
    return field(default=default, metadata={"text": text, **words})


def choices(settings: Any) -> list[Field[Any]]:
    """Return the fields that people may choose, of settings or of their class."""
    return [one for one in fields(settings) if "text" in one.metadata]


def option_name(one: Field[Any]) -> str:
    """Return the option that sets a field, ``--at-once``."""
    return "--" + str(one.metadata.get("option", one.name)).replace("_", "-")
