"""Results of studies that ship with the program, and when a result was made."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nona.results.document import Document


def now_text() -> str:
    """Date and time of day in UTC, to the minute, as exports state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


D = TypeVar("D", bound=Document)


def shipped_path(study: str) -> Path:
    """Return the path of a study's result, by its name; the file may be missing."""
    return Path(__file__).parent / "data" / f"{study}.json"


@cache
def shipped_file(study: str) -> dict[str, Any]:
    """The file of a study as plain data; not to be changed.

    >>> shipped_file("paper")["command"].split()[:3]
    ['nona', 'study', 'paper']
    """
    content: dict[str, Any] = json.loads(shipped_path(study).read_text(encoding="utf-8"))
    return content


@cache
def stored_result(kind: type[D]) -> D:
    """The stored result of that type, with its provenance (command, version, date, seed).

    >>> from nona.results.studies import PredictionMap
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
    "Story": "network_story",
    "PlanOutcome": "demo_plan",
}
