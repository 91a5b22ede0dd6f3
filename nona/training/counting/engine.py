"""Time from event to event, in whole seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.errors import SimulationError
from nona.options import Options
from nona.training.counting.job import CountedJob
from nona.training.counting.records import CountedRecords, Span
from nona.training.counting.schedules import Event, Planner, Present, Schedule

MOST_EVENTS = 2_000_000


def simulate_counted(
    jobs: Sequence[CountedJob], gpus: int, schedule: Schedule, options: Options | None = None
) -> CountedRecords:
    """Run a schedule until all jobs are complete.

    GPUs are only counted: nodes do not matter, and preemption costs nothing. Events are arrivals and ends,
    together if at one time, and times at which a schedule asked to be asked again, if strictly earlier.

    Raises
    ------
    SimulationError
        For no jobs, a job with more GPUs than there are, an unknown option, or a run that does not end.

    Examples
    --------
    >>> from nona.training.counting.job import tiresias_jobs
    >>> from nona.training.counting.schedules import SCHEDULES
    >>> run = simulate_counted(tiresias_jobs(), 8, SCHEDULES["fifo"])
    >>> round(float(run.jct_s.mean()), 4), run.makespan_s
    (1556.4833, 5747)

    Source: Gu et al., Tiresias, NSDI 2019, public simulator.
    """
    if not jobs:
        raise SimulationError("Counted jobs: there are none; give a workload.")
    for job in jobs:
        if job.gpus > gpus:
            raise SimulationError(
                f"Counted jobs: job {job.name!r} asks for {job.gpus} GPUs of {gpus}; ask for fewer, "
                "or give more."
            )
    by_arrival = tuple(sorted(jobs, key=lambda job: job.arrival_s))
    return _Run(by_arrival, gpus, schedule, schedule.prepare(by_arrival, gpus, options or {})).finish()


class _Run:
    def __init__(self, jobs: tuple[CountedJob, ...], gpus: int, schedule: Schedule, planner: Planner) -> None:
        self.jobs, self.gpus, self.schedule, self.planner = jobs, gpus, schedule, planner
        self.left = [job.duration_s for job in jobs]
        self.completion = [0] * len(jobs)
        self.preemptions = [0] * len(jobs)
        self.present: list[int] = []
        self.running: frozenset[int] = frozenset()
        self.since: dict[int, int] = {}
        self.spans: list[Span] = []
        self.now = self.came = self.present_s = 0

    def finish(self) -> CountedRecords:
        again, events = math.inf, 0
        while self.came < len(self.jobs) or self.present:
            passed = self._next(again) - self.now
            self._pass(passed)
            again = self._ask(passed)
            events += 1
            if events > MOST_EVENTS:
                raise SimulationError(
                    f"Schedule {self.schedule.name!r}: {len(self.present)} jobs are not complete after "
                    f"{MOST_EVENTS} events; give fewer jobs or more GPUs."
                )
        return CountedRecords(
            schedule=self.schedule.name,
            gpus=self.gpus,
            jobs=self.jobs,
            completion_s=np.array(self.completion, np.int64),
            preemptions=np.array(self.preemptions, np.int64),
            spans=tuple(self.spans),
            present_s=self.present_s,
        )

    def _next(self, again: float) -> int:
        times = [self.now + self.left[n] for n in self.running]
        times += [self.jobs[self.came].arrival_s] if self.came < len(self.jobs) else []
        at = min(times, default=math.inf)
        found = min(at, again)
        if math.isinf(found):
            raise SimulationError(
                f"Schedule {self.schedule.name!r}: nobody runs and nobody comes; correct it."
            )
        return int(found)

    def _pass(self, seconds: int) -> None:
        """Time passes; who ended leaves; who came is there."""
        self.now += seconds
        self.present_s += seconds * len(self.present)
        for n in self.running:
            self.left[n] -= seconds
            if not self.left[n]:
                self.completion[n] = self.now
        for n in [n for n in self.present if not self.left[n]]:
            self.present.remove(n)
            self._close(n)
        self.running &= frozenset(self.present)
        while self.came < len(self.jobs) and self.jobs[self.came].arrival_s <= self.now:
            self.present.append(self.came)
            self.came += 1

    def _ask(self, passed: int) -> float:
        """Ask the schedule; the time at which it wants to be asked again."""
        seen = tuple(Present(n, self.jobs[n], self.left[n], n in self.running) for n in self.present)
        decision = self.planner.decide(Event(passed, seen))
        for n in sorted(self.running - decision.running):
            self._close(n)
            self.preemptions[n] += 1
        for n in sorted(decision.running - self.running):
            self.since[n] = self.now
        self.running = decision.running
        return math.inf if decision.again_s is None else self.now + decision.again_s

    def _close(self, n: int) -> None:
        self.spans.append(Span(n, self.since.pop(n), self.now))
