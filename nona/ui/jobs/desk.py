"""What a task is handed besides its specification: how to tell, when to stop, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nona.study.cache import StudyCache


def _go_on() -> None:
    return None


@dataclass(frozen=True)
class Desk:
    """``emit`` sends a line to whoever waits; ``check`` raises ``Cancelled`` when nobody does any more."""

    emit: Callable[[dict[str, Any]], None]
    check: Callable[[], None] = _go_on
    cache: StudyCache = field(default_factory=StudyCache)
