"""Length of a run: warm-up, cohort, the cap on its tail, and the traced jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Ints
from nona.queries.system import System

MARKS = 20  # stretches of the cohort between whose ends the number in the system is looked at
SAMPLES = 64  # jobs whose causality is checked, spread over the cohort
TAIL_WORK = 100.0  # the tail may take this many times the work of the largest job
TAIL_FACTOR = 5  # and this many times the jobs before it
MOST_CYCLE_JOBS = 1_000_000  # of a trace's or a burst's cycle that the tail may take beside
LEAST_UNREPORTED = 10  # a report takes longer than ten jobs do
MOST_UNREPORTED = 8000  # jobs: a long run should be seen to move


@dataclass(frozen=True, slots=True)
class RunSize:
    """The measured cohort is jobs ``first`` … ``first + jobs − 1`` in order of arrival.

    Arrivals go on until the cohort is complete. The run is cut off when ``tail_jobs`` more jobs
    have arrived and ``tail_s`` seconds have passed since the cohort's last arrival, and in any case
    after ``TAIL_FACTOR`` times ``tail_jobs``: no stable system takes so long, while an overloaded
    or starved one might take for ever. At most ``record_jobs`` measured jobs are recorded one by one;
    of ``sampled_jobs``, spread over the cohort, the intervals are recorded, by which a run checks itself.
    """

    first: int
    jobs: int
    replication: int
    run_on: bool
    timeline_jobs: int
    tail_jobs: int
    tail_s: float
    record_jobs: int = 1_000_000
    sampled_jobs: int = SAMPLES

    @property
    def last(self) -> int:
        """Number of the last measured job."""
        return self.first + self.jobs - 1

    def marks(self) -> Ints:
        """(21,) Jobs first + round(k·(jobs−1)/20), k = 0 … 20, halves up: they cut the cohort evenly."""
        steps = np.arange(MARKS + 1, dtype=np.int64)
        return self.first + (2 * steps * (self.jobs - 1) + MARKS) // (2 * MARKS)

    def too_long(self, number: int, since_last_s: float) -> bool:
        """Return whether to stop before job ``number``, which arrives ``since_last_s`` after the cohort."""
        late = number - self.first - self.jobs
        return late >= self.tail_jobs and (since_last_s > self.tail_s or late >= TAIL_FACTOR * self.tail_jobs)

    def traced(self) -> Ints:
        """Jobs whose intervals are recorded, for the timeline or as a sample, in ascending order."""
        timeline = np.arange(min(self.timeline_jobs, self.jobs), dtype=np.int64)
        if not self.sampled_jobs:
            return self.first + timeline
        sample = np.arange(0, self.jobs, -(-self.jobs // self.sampled_jobs), dtype=np.int64)
        return self.first + np.union1d(timeline, sample)

    @property
    def report_every(self) -> int:
        """Arrivals between two reports of progress."""
        return max(LEAST_UNREPORTED, min((self.first + self.jobs) // 200, MOST_UNREPORTED))


def auto_warmup(jobs: int) -> int:
    """Jobs of the warm-up when none is given: a fifth of ``jobs``, at least the lesser of 1000 and ``jobs``.

    A rule that looks at the output would give every scheduler a cohort of its own; with a fixed one
    all are measured on the same jobs.

    >>> auto_warmup(20_000), auto_warmup(2_000), auto_warmup(50)
    (4000, 1000, 50)
    """
    return max(jobs // 5, min(1000, jobs))


def largest_job_s(system: System) -> float:
    """Seconds of the largest job on its slowest executors with all its tensors sent, one by one."""
    largest = 0.0
    for query in system.queries:
        compute = float(query.tasks.compute_s.max(axis=0).sum())
        transfer = float(query.tasks.tensor_bytes.sum()) / float(system.link_capacity.min())
        hops = len(query.tasks.edge_target) * system.latency_s
        largest = max(largest, compute + transfer + hops)
    return largest
