"""What a task gets besides its specification: how to report, when to stop, its caches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nona.study.cache import StudyCache


def _go_on() -> None:
    return None


@dataclass(frozen=True)
class Desk:
    """``emit`` sends a line to the waiting session; ``check`` raises ``Cancelled`` when none waits."""

    emit: Callable[[dict[str, Any]], None]
    check: Callable[[], None] = _go_on
    cache: StudyCache = field(default_factory=StudyCache)
