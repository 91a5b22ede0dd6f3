"""Results of studies that ship with the program: one run of each, as its command printed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nona.report.plain import plain

DIGITS = 8


def shipped_path(study: str) -> Path:
    """Where the result of a study lies, by the name of its package; it may be missing."""
    return Path(__file__).parent / study / "data" / f"{study}.json"


@cache
def shipped(study: str) -> dict[str, Any]:
    """The data of a study with its provenance (command, version, date, seed); not to be changed.

    >>> shipped("paper")["command"].split()[:3]
    ['nona', 'study', 'paper']
    """
    found: dict[str, Any] = json.loads(shipped_path(study).read_text(encoding="utf-8"))
    return found


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
