"""The results that ship with the program: one run of ``nona study serverless --json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("data") / "serverless.json"


@cache
def stored_serverless() -> dict[str, Any]:
    """The study's data with its provenance (command, version, date, seed); not to be changed."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found
