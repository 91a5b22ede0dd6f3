"""What a command prints: one JSON object with ``--json``, else text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeVar

from nona.cli.options import ListOptions
from nona.results.document import Document

D = TypeVar("D", bound=Document)


def emit(arguments: ListOptions, report: D, text: Callable[[D], str]) -> None:
    """Print a result to standard output."""
    print(json.dumps(report.to_json(), allow_nan=False) if arguments.json else text(report))
