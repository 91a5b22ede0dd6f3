"""The central list of ready tasks, kept in arrays as tasks come and go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.base import Ready
from nona.simulation.reference.jobs import Job

_JOB, _QUERY, _TASK, _RUNNING, _HOME, _FIRST, _SIZE, _BASE = range(8)


class ReadyList:
    """Ready tasks in the order in which they became ready.

    ``jobs[i]`` is the job of entry i; the arrays of :meth:`table` say the same in numbers. ``places`` says
    where the tasks of all jobs in the system are, see :class:`~nona.schedulers.base.Ready`.
    """

    def __init__(self) -> None:
        self._numbers: NDArray[np.int64] = np.zeros((8, 64), dtype=np.int64)
        self._since_s, self._draw = np.zeros(64), np.zeros(64)
        self.jobs: list[Job] = []
        self.places: NDArray[np.int64] = np.full(64, -1)
        self._used, self._left = 0, dict[int, list[int]]()

    def __len__(self) -> int:
        return len(self.jobs)

    def enter(self, job: Job) -> None:
        """Give the job's tasks their part of ``places``: that of a job which has left, or a new one."""
        tasks, left = job.plan.tasks, self._left.setdefault(job.plan.tasks, [])
        if left:
            job.base = left.pop()
        else:
            job.base, self._used = self._used, self._used + tasks
            if self._used > len(self.places):
                self.places = np.concatenate([self.places, np.full(self._used, -1)])
        self.places[job.base : job.base + tasks] = -1

    def leave(self, job: Job) -> None:
        """The job is complete."""
        self._left[job.plan.tasks].append(job.base)

    def append(self, job: Job, task: int, now: float, home: int) -> None:
        """``task`` of ``job`` has become ready; ``home`` is where its last predecessor ran."""
        n = len(self.jobs)
        if n == self._numbers.shape[1]:
            self._numbers = np.concatenate([self._numbers, np.zeros_like(self._numbers)], axis=1)
            self._since_s = np.concatenate([self._since_s, np.zeros(n)])
            self._draw = np.concatenate([self._draw, np.zeros(n)])
        self._numbers[:, n] = (job.number, job.query, task, job.running, home, task, 1, job.base)
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
            base=rows[_BASE],
            places=self.places,
        )
