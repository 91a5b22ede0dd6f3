"""The central list of ready tasks, kept in arrays as tasks come and go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Ready
from nona.simulation.reference.jobs import Job

_JOB, _QUERY, _TASK, _RUNNING, _HOME, _FIRST, _SIZE = range(7)


class ReadyList:
    """Ready tasks in the order in which they became ready.

    ``jobs[i]`` is the job of entry i; the arrays of :meth:`table` say the same in numbers.
    """

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.zeros((7, 64), dtype=np.int64)
        self._since_s, self._draw = np.zeros(64), np.zeros(64)
        self.jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self.jobs)

    def append(self, job: Job, task: int, now: float, home: int) -> None:
        """``task`` of ``job`` has become ready; ``home`` is where its last predecessor ran."""
        n = len(self.jobs)
        if n == self._numbers.shape[1]:
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)], axis=1)
            self._since_s = np.concatenate([self._since_s, np.zeros(n)])
            self._draw = np.concatenate([self._draw, np.zeros(n)])
        self._numbers[:, n] = (job.number, job.query, task, job.running, home, task, 1)
        self._since_s[n], self._draw[n] = now, job.draw
        self.jobs.append(job)

    def close_batch(self, size: int) -> None:
        """The last ``size`` entries have become ready together."""
        n = len(self.jobs)
        if size:
            self._numbers[_FIRST, n - size : n] = self._numbers[_TASK, n - size]
            self._numbers[_SIZE, n - size : n] = size

    def remove(self, place: int) -> tuple[Job, int]:
        """Take out entry ``place``: its job and task."""
        n = len(self.jobs)
        task = int(self._numbers[_TASK, place])
        self._numbers[:, place : n - 1] = self._numbers[:, place + 1 : n]
        self._since_s[place : n - 1] = self._since_s[place + 1 : n]
        self._draw[place : n - 1] = self._draw[place + 1 : n]
        return self.jobs.pop(place), task

    def running_changed(self, job: Job) -> None:
        """``job`` holds more or fewer executors than before."""
        n = len(self.jobs)
        if n:
            self._numbers[_RUNNING, :n][self._numbers[_JOB, :n] == job.number] = job.running

    def table(self, open_jobs: int) -> Ready:
        """The list as arrays of its length."""
        n = len(self.jobs)
        rows = self._numbers[:, :n]
        return Ready(
            n=n,
            job=rows[_JOB],
            query=rows[_QUERY],
            task=rows[_TASK],
            since_s=self._since_s[:n],
            job_running=rows[_RUNNING],
            home=rows[_HOME],
            open_jobs=open_jobs,
            batch_first=rows[_FIRST],
            batch_size=rows[_SIZE],
            job_draw=self._draw[:n],
        )
