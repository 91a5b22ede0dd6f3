"""The results that ship with the program: one run of the study, as ``nona study paper --json`` printed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from nona.report.plain import plain

STORED = Path(__file__).with_name("data") / "paper.json"
DIGITS = 8


@cache
def stored_paper() -> dict[str, Any]:
    """The study's data with its provenance (command, version, date, seed); not to be changed."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
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
