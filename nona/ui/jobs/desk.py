"""What a task gets besides its specification: how to report, when to stop, its caches, its processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nona.experiments.workers import cores
from nona.study.cache import StudyCache

MOST_PROCESSES = 4
EVERY = 5  # placements looked at between two lines of progress


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


class LookedAt:
    """Counts what a search evaluates, and says so: between two better placements many seconds may pass."""

    def __init__(self, desk: Desk, text: str) -> None:
        self._desk, self._text, self._count = desk, text, 0

    def check(self) -> None:
        """One more; raises what the desk raises when the job is cancelled."""
        self._desk.check()
        self._count += 1
        if self._count % EVERY == 0:
            self._desk.emit({"text": f"{self._text}, {self._count} placements looked at"})
