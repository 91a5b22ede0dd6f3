"""Jobs that keep their GPUs, records of their runs, and published results."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from nona.arrays import Ints
from nona.simulation.records import Check
from nona.training.rows import Line, TextTable

COLUMNS = ("name", "arrival_s", "gpus", "duration_s")
SHIPPED = "tiresias"
MOST_JOBS = 10_000
MOST_SECONDS = 10**9
MOST_GPUS = 10_000


@dataclass(frozen=True, slots=True)
class CountedJob:
    """Needs ``gpus`` GPUs for ``duration_s`` seconds, in one piece or several."""

    name: str
    arrival_s: int
    gpus: int
    duration_s: int


@cache
def tiresias_jobs() -> tuple[CountedJob, ...]:
    """The 60 jobs that ship with Tiresias' public simulator.

    >>> len(tiresias_jobs()), tiresias_jobs()[1]
    (60, CountedJob(name='vgg11-1', arrival_s=30, gpus=8, duration_s=147))

    Source: Gu et al., Tiresias, NSDI 2019, public simulator.
    """
    data = files("studies.counting").joinpath("data/tiresias.csv").read_bytes()
    return read_counted_jobs(data, "Tiresias' jobs")


def read_counted_jobs(data: bytes, what: str) -> tuple[CountedJob, ...]:
    """Jobs from CSV with the columns ``name, arrival_s, gpus, duration_s``, by arrival; whole seconds.

    Jobs of one time stay in the order of the file.
    """
    names = set[str]()

    def job(line: Line) -> CountedJob:
        name = line.name("name")
        if name in names:
            line.add(f"name={name[:40]!r} is taken; rename it.")
        names.add(name)
        arrival_s = line.whole("arrival_s", MOST_SECONDS, 0)
        gpus, duration_s = line.whole("gpus", MOST_GPUS), line.whole("duration_s", MOST_SECONDS)
        return CountedJob(name, arrival_s, gpus, duration_s)

    table = TextTable(data, what, MOST_JOBS)
    jobs = table.read(COLUMNS, (), job, "it has no jobs; give at least one row.")
    return tuple(sorted(jobs, key=lambda job: job.arrival_s))


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
        jct_s: Ints = self.completion_s - np.array([job.arrival_s for job in self.jobs])
        return jct_s

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


class Published(NamedTuple):
    """In seconds."""

    mean_jct_s: float
    makespan_s: float


@cache
def published() -> dict[tuple[str, int], Published]:
    """Figures of Tiresias' own simulator on its jobs, by schedule and number of GPUs.

    >>> published()["fifo", 8].makespan_s
    5747.0
    """
    text = files("studies.counting").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        (row["schedule"], int(row["gpus"])): Published(float(row["mean_jct_s"]), float(row["makespan_s"]))
        for row in csv.DictReader(text.splitlines())
    }
