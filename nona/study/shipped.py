"""Results of studies that ship with the program, and when a result was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from nona.report.text import plain
from nona.results.document import Document


def now_text() -> str:
    """Date and time of day in UTC, to the minute, as exports state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


DIGITS = 8
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


FILES = {
    "DecisionStudy": "decisions",
    "PredictionMap": "prediction_map",
    "PaperStudy": "paper",
    "NetworkViewsStudy": "network_views",
    "SplitStudy": "split_or_batch",
    "ServerlessStudy": "serverless",
    "EstimatorStudy": "estimator",
    "TrainingStudy": "training",
    "ElasticStudy": "elastic",
    "ElasticLinkStudy": "elastic_link",
    "Story": "network_story",
}


def rounded_result(found: D, digits: int = DIGITS) -> D:
    """A result with its floats rounded as :func:`rounded` does it."""
    return type(found).from_json(rounded(found.to_json(), digits))


def rounded(value: Any, digits: int = DIGITS) -> Any:
    """Plain data with floats rounded to a number of significant digits, for files.

    >>> rounded({"a": [1 / 3, 2, None, float("inf")]}, 3)
    {'a': [0.333, 2, None, None]}
    """
    if isinstance(value, Mapping):
        return {str(k): rounded(v, digits) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(v, digits) for v in value]
    if isinstance(value, float):
        kept = plain(value)
        return kept if kept is None else float(f"{kept:.{digits}g}")
    return value
