"""The inputs of tasks: which are missing, and when the last one arrives.

Where the delivery of a message is known when it is requested, the task needs one event, at the
latest delivery, however many messages it waits for. Deliveries at one instant are ordered by
(job, input), so the event carries the number of the last.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

from nona.simulation.reference.jobs import Job
from nona.simulation.reference.kernel import ITEM_MASK, LeanEnvironment


class Inputs:
    """Counts inputs down; the task joins its executor's queue with the last."""

    def __init__(self, environment: LeanEnvironment) -> None:
        self.environment, self.heap = environment, environment.heap
        self.callbacks: list[Callable[[Any], None]] = [self._joins]

    def _joins(self, job: Job) -> None:
        """The event of a job: which input has arrived is in its key."""
        task = job.plan.readers[self.environment.key & ITEM_MASK]
        job.executor[task].join(self.environment._now, job, task)

    def here(self, now: float, job: Job, task: int) -> None:
        """One input of ``task`` is on its server ``now``."""
        missing = job.missing
        if missing[task] > 1:
            missing[task] -= 1
        elif job.latest_s[task] > now:
            self.wait(job, task)
        else:
            missing[task] = 0
            job.latest_s[task] = now
            job.executor[task].join(now, job, task)

    def later(self, delivered_s: float, job: Job, task: int, number: int) -> None:
        """Input ``number`` of the job, which ``task`` reads, will be there at ``delivered_s``."""
        if delivered_s > job.latest_s[task]:
            job.latest_s[task] = delivered_s
            job.latest_number[task] = number
        elif delivered_s == job.latest_s[task]:
            job.latest_number[task] = max(job.latest_number[task], number)
        if job.missing[task] > 1:
            job.missing[task] -= 1
        else:
            self.wait(job, task)

    def wait(self, job: Job, task: int) -> None:
        """All inputs of ``task`` are there or on their way: let it join with the last."""
        job.missing[task] = 0
        key = job.message_key + job.latest_number[task]
        heappush(self.heap, (job.latest_s[task], key, 0, job))
