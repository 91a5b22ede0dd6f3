"""How long jobs take: what recent ones of their kind took, and what running ones say of themselves."""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence

from nona.ui.jobs.job import Job
from nona.ui.jobs.line import wait_s

RECENT = 8
LEAST_S = 0.5  # what work that takes longer than expected is still given


class Durations:
    """The seconds that the latest jobs of every kind took.

    >>> durations = Durations()
    >>> durations.note("simulate", 4.0)
    >>> durations.note("simulate", 6.0)
    >>> durations.typical("simulate"), durations.typical("sweep") is None
    (5.0, True)
    """

    def __init__(self) -> None:
        self._took: dict[str, deque[float]] = {}

    def note(self, kind: str, seconds: float) -> None:
        """Note that a job has ended by itself."""
        self._took.setdefault(kind, deque(maxlen=RECENT)).append(seconds)

    def typical(self, kind: str, running: Sequence[Job] = ()) -> float | None:
        """The median of the latest jobs of a kind, else of those that run now; ``None`` if there are none."""
        took = self._took.get(kind)
        if took:
            return statistics.median(took)
        told = [j.elapsed_s + j.remaining_s for j in running if j.kind == kind and j.remaining_s is not None]
        return statistics.median(told) if told else None

    def remaining_s(self, job: Job, running: Sequence[Job] = ()) -> float | None:
        """Seconds that a running job still takes: its own estimate, else what is typical; or ``None``."""
        left = job.remaining_s
        if left is not None or job.open_ended or job.best is not None:
            return left
        usual = self.typical(job.kind, running)
        return None if usual is None else max(LEAST_S, usual - job.elapsed_s)

    def wait_s(self, running: Sequence[Job], ahead: Sequence[Job], places: int) -> float | None:
        """Seconds until the job behind ``ahead`` starts; ``None`` if nobody can tell."""
        return wait_s(
            [self.remaining_s(job, running) for job in running],
            [self.typical(job.kind, running) for job in ahead],
            places,
        )
