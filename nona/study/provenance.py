"""When a result was made."""

from __future__ import annotations

from datetime import UTC, datetime


def now_text() -> str:
    """Date and time of day in UTC, to the minute, as exports state it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
