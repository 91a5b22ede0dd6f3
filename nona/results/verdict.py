"""The verdict on a target: kept, missed, or not yet known."""

from __future__ import annotations

from typing import Literal

Verdict = Literal["keeps", "misses", "open"]
