"""What a run of counted jobs leaves, and what it tests on itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.problem import Ints
from nona.simulation.records.run import Check
from nona.training.counting.job import CountedJob


@dataclass(frozen=True, slots=True)
class Span:
    """A job had its GPUs from ``start_s`` to ``end_s``."""

    job: int
    start_s: int
    end_s: int


@dataclass(frozen=True, eq=False, slots=True)
class CountedRecords:
    """A run: jobs by number (M,), and who ran when."""

    schedule: str
    gpus: int
    jobs: tuple[CountedJob, ...]
    completion_s: Ints
    preemptions: Ints
    spans: tuple[Span, ...]
    present_s: int

    @property
    def jct_s(self) -> Ints:
        """(M,) completion − arrival."""
        found: Ints = self.completion_s - np.array([job.arrival_s for job in self.jobs])
        return found

    @property
    def makespan_s(self) -> int:
        """The last completion, from time 0, as the public simulator counts it."""
        return int(self.completion_s.max())

    @property
    def utilization(self) -> float:
        """GPU-seconds of jobs / (GPUs · makespan)."""
        return sum(job.gpus * job.duration_s for job in self.jobs) / (self.gpus * self.makespan_s)


def counted_checks(records: CountedRecords) -> tuple[Check, ...]:
    """Capacity, work done, causality, Little's law."""
    jobs, changes = records.jobs, dict[int, int]()
    done = [0] * len(jobs)
    early = 0
    for span in records.spans:
        done[span.job] += span.end_s - span.start_s
        early += span.start_s < jobs[span.job].arrival_s or span.end_s > records.completion_s[span.job]
        changes[span.start_s] = changes.get(span.start_s, 0) + jobs[span.job].gpus
        changes[span.end_s] = changes.get(span.end_s, 0) - jobs[span.job].gpus
    most = int(max(np.cumsum([changes[at] for at in sorted(changes)])))
    wrong = sum(a != job.duration_s for a, job in zip(done, jobs, strict=True))
    there = int(records.jct_s.sum())
    return (
        Check("allocation within capacity", most <= records.gpus, f"at most {most} of {records.gpus} GPUs"),
        Check("time run = duration", not wrong, f"{wrong} jobs differ"),
        Check("no run before arrival, none after completion", not early, f"{early} spans are outside"),
        Check(
            "Little's law", there == records.present_s, f"{records.present_s} s of jobs, {there} s of JCTs"
        ),
    )
