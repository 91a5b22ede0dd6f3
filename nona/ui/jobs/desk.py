"""What a task gets besides its specification: how to report, when to stop, its caches, its processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nona.experiments.workers import cores
from nona.study.cache import StudyCache

MOST_PROCESSES = 4


def processes(work: int, few: int) -> int:
    """Processes for so much work: one, this one, up to ``few``, where others would only cost their start.

    >>> processes(10, 100)
    1
    """
    return 1 if work <= few else min(MOST_PROCESSES, cores())


def _go_on() -> None:
    return None


@dataclass(frozen=True)
class Desk:
    """``emit`` sends a line to the waiting session; ``check`` raises ``Cancelled`` when none waits."""

    emit: Callable[[dict[str, Any]], None]
    check: Callable[[], None] = _go_on
    cache: StudyCache = field(default_factory=StudyCache)
