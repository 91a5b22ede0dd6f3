"""The results that ship with the program: one run of ``nona study decisions --json``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

STORED = Path(__file__).with_name("data") / "decisions.json"


@cache
def stored_decisions() -> dict[str, Any]:
    """The study's data with its provenance (command, version, date, seed); not to be changed."""
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found
