"""Time from event to event, the schedules (who runs until the next event), and one workload under several."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from nona.errors import ScenarioError, SimulationError
from nona.options import Options, Setting
from nona.registry import Registry, Strategy
from nona.simulation.records import checked
from nona.training.attained_service import STARVATION, AttainedQueues, GittinsRank, limits_of
from nona.training.metrics import jct_of
from studies.counting.jobs import (
    SHIPPED,
    CountedJob,
    CountedRecords,
    Published,
    Span,
    counted_checks,
    published,
    read_counted_jobs,
    tiresias_jobs,
)
from studies.counting.report import CountedJobOutcome, CountedOutcome, CountedReport, CountedSetting


class Present(NamedTuple):
    """A job that came and is not complete; ``runs``: whether it ran until now."""

    number: int
    job: CountedJob
    left_s: int
    runs: bool


class Event(NamedTuple):
    """An arrival, an end or a change of queue; ``passed_s`` since the last one; ``jobs`` by arrival."""

    passed_s: int
    jobs: tuple[Present, ...]


class Decision(NamedTuple):
    """Jobs that run from now on; after ``again_s`` without another event the schedule is asked again."""

    running: frozenset[int]
    again_s: float | None = None


class Planner(Protocol):
    """A schedule in one run."""

    def decide(self, event: Event) -> Decision:
        """Choose the jobs that run after an event."""


Build = Callable[[tuple[CountedJob, ...], int, Mapping[str, Any]], Planner]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Strategy):
    """A schedule's declaration; ``build(jobs, gpus, options)`` makes the planner of a run."""

    called: ClassVar[str] = "Schedule"

    build: Build

    def prepare(self, jobs: tuple[CountedJob, ...], gpus: int, options: Options) -> Planner:
        """The planner of a run; raises :class:`~nona.errors.SimulationError` for a wrong option."""
        return self.build(jobs, gpus, self.chosen(options))


def _first_fit(jobs: Iterable[tuple[int, int]], free: int, *, blocking: bool = False) -> frozenset[int]:
    """Return the jobs that fit, of (number, GPUs) in order; ``blocking``: the first that does not ends it.

    >>> sorted(_first_fit([(0, 3), (1, 4), (2, 1)], 4))
    [0, 2]
    """
    fitting = set[int]()
    for n, gpus in jobs:
        if gpus <= free:
            fitting.add(n)
            free -= gpus
        elif blocking:
            break
    return frozenset(fitting)


@dataclass(frozen=True)
class InOrder:
    """By arrival, never preempted; ``blocking``: nobody passes the first that does not fit."""

    gpus: int
    blocking: bool

    def decide(self, event: Event) -> Decision:
        """Those that run go on; others follow by arrival."""
        kept = frozenset(present.number for present in event.jobs if present.runs)
        free = self.gpus - sum(present.job.gpus for present in event.jobs if present.runs)
        waiting = [(present.number, present.job.gpus) for present in event.jobs if not present.runs]
        return Decision(kept | _first_fit(waiting, free, blocking=self.blocking))


@dataclass
class Smallest:
    """The smallest by a key first, preemptive; of equals as at the last event."""

    gpus: int
    key: Callable[[Present], int]
    _order: list[int] = field(default_factory=list)

    def decide(self, event: Event) -> Decision:
        """Sort again, first fit."""
        jobs = {present.number: present for present in event.jobs}
        ordered = set(self._order)
        self._order = [n for n in self._order if n in jobs] + [n for n in jobs if n not in ordered]
        self._order.sort(key=lambda n: self.key(jobs[n]))
        return Decision(_first_fit(((n, jobs[n].job.gpus) for n in self._order), self.gpus))


@dataclass
class Attained:
    """Least attained service in queues, preemptive."""

    gpus: int
    queues: AttainedQueues
    late: bool

    def decide(self, event: Event) -> Decision:
        """Jobs join, sink and rise; then first fit through the queues."""
        jobs = {present.number: present for present in event.jobs}
        present = {n: (p.job.gpus, p.job.arrival_s) for n, p in jobs.items()}
        self.queues.follow(present, event.passed_s, {n for n, p in jobs.items() if p.runs})
        running = _first_fit(((n, jobs[n].job.gpus) for n in self.queues.order()), self.gpus)
        self.queues.running_first(running)
        return Decision(running, self.queues.next_move_s(running, late=self.late))


def _attained(jobs: tuple[CountedJob, ...], gpus: int, options: Mapping[str, Any]) -> Attained:
    ranks = None
    if "step_gpu_s" in options:
        sizes = (job.gpus * job.duration_s for job in jobs)
        ranks = GittinsRank.of(sizes, options["step_gpu_s"])
    limits = limits_of("Schedule", options["limits_gpu_s"])
    return Attained(gpus, AttainedQueues(limits, options["starvation"], ranks), options["late_moves"])


_QUEUES = {
    "limits_gpu_s": Setting(
        "3250, 7200",
        "GPU-seconds after which a job moves to the next queue, one for each queue but the last",
        kind=object,
    ),
    "starvation": STARVATION,
    "late_moves": Setting(
        True, "move jobs with several GPUs as late as the public simulator does; off: at the limit"
    ),
}
_SOURCE = "Gu et al., Tiresias, NSDI 2019, and its public simulator"


def _schedule(name: str, title: str, summary: str, build: Build, **settings: Setting) -> Schedule:
    return Schedule(
        name=name,
        title=title,
        summary=summary,
        source=_SOURCE,
        adaptation="GPUs are counted only.",
        build=build,
        settings=settings,
    )


SCHEDULES: Registry[Schedule] = Registry(
    "Schedule",
    (
        _schedule(
            "fifo",
            "FIFO",
            "By arrival; a job that does not fit blocks the next.",
            lambda _, gpus, __: InOrder(gpus, blocking=True),
        ),
        _schedule(
            "fjf",
            "First fit",
            "By arrival; jobs that fit overtake those that do not.",
            lambda _, gpus, __: InOrder(gpus, blocking=False),
        ),
        _schedule(
            "sjf",
            "Fewest GPUs first",
            "Fewest GPUs first, preemptive.",
            lambda _, gpus, __: Smallest(gpus, lambda p: p.job.gpus),
        ),
        _schedule(
            "shortest",
            "Shortest first",
            "Shortest remaining time first, preemptive.",
            lambda _, gpus, __: Smallest(gpus, lambda p: p.left_s),
        ),
        _schedule(
            "shortest-gpu",
            "Least remaining service first",
            "Fewest remaining GPU-seconds first, preemptive.",
            lambda _, gpus, __: Smallest(gpus, lambda p: p.left_s * p.job.gpus),
        ),
        _schedule(
            "dlas-gpu",
            "Tiresias-L",
            "Least attained service in queues, by arrival inside them; sizes are unknown.",
            _attained,
            **_QUEUES,
        ),
        _schedule(
            "dlas-gpu-gittins",
            "Tiresias-G",
            "The same, inside queues by Gittins rank; the distribution of sizes is known.",
            _attained,
            **_QUEUES,
            step_gpu_s=Setting(
                3250.0, "GPU-seconds that the rank looks ahead (default recollected)", least=1.0
            ),
        ),
    ),
    SimulationError,
)
"""All of them; names as in the public simulator."""

MOST_EVENTS = 2_000_000


def simulate_counted(
    jobs: Sequence[CountedJob], gpus: int, schedule: Schedule, options: Options | None = None
) -> CountedRecords:
    """Run a schedule until all jobs are complete.

    GPUs are only counted: nodes do not matter, and preemption costs nothing. Events are arrivals and ends,
    together if at one time, and times at which a schedule asked to be asked again, if strictly earlier.

    Raises ``SimulationError`` for no jobs, a job with more GPUs than there are, an unknown option, or a
    run that does not end.

    >>> from studies.counting.jobs import tiresias_jobs
    >>> from studies.counting.engine import SCHEDULES
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
        next_s = min(at, again)
        if math.isinf(next_s):
            raise SimulationError(
                f"Schedule {self.schedule.name!r}: nobody runs and nobody comes; correct it."
            )
        return int(next_s)

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


@dataclass(frozen=True)
class CountedRequest:
    """Request of runs: jobs that ship, or a name and its CSV in ``jobs``; no ``schedules``: all."""

    workload: str = SHIPPED
    jobs: bytes | None = None
    schedules: tuple[str, ...] = ()
    gpus: int = 8
    options: Mapping[str, Options] = field(default_factory=dict)


def simulate_counted_jobs(request: CountedRequest) -> CountedReport:
    """Run every schedule on the same jobs.

    >>> report = simulate_counted_jobs(CountedRequest(schedules=("fifo",)))
    >>> report.schedules["fifo"].makespan_s, report.schedules["fifo"].published_makespan_s
    (5747.0, 5747.0)
    """
    begin = time.perf_counter()
    if request.jobs is None and request.workload != SHIPPED:
        raise ScenarioError(
            [f"Workload {request.workload!r} does not ship; choose {SHIPPED}, or give a CSV file."]
        )
    own = request.jobs
    jobs = tiresias_jobs() if own is None else read_counted_jobs(own, f"Workload {request.workload!r}")
    names = [SCHEDULES.find(name).name for name in dict.fromkeys(request.schedules)] or list(SCHEDULES)
    options = {name: request.options.get(name, {}) for name in names}
    runs = {name: simulate_counted(jobs, request.gpus, SCHEDULES[name], options[name]) for name in names}
    usual = {name: own is None and not options[name] for name in names}
    published_rows = {name: published().get((name, request.gpus)) if usual[name] else None for name in names}
    setting = CountedSetting(
        workload=request.workload,
        jobs=len(jobs),
        gpus=request.gpus,
        options={name: {**SCHEDULES[name].defaults, **options[name]} for name in names},
    )
    passed, failed = checked({name: counted_checks(records) for name, records in runs.items()})
    return CountedReport(
        schedules={name: _outcome(records, published_rows[name]) for name, records in runs.items()},
        checks=passed,
        failed_checks=failed,
        seconds=time.perf_counter() - begin,
        setting=setting,
    )


def _outcome(records: CountedRecords, by_authors: Published | None) -> CountedOutcome:
    return CountedOutcome(
        title=SCHEDULES[records.schedule].title,
        jct_s=jct_of(records.jct_s.astype(np.float64)),
        published_jct_s=None if by_authors is None else by_authors.mean_jct_s,
        published_makespan_s=None if by_authors is None else by_authors.makespan_s,
        makespan_s=float(records.makespan_s),
        utilization=records.utilization,
        preemptions=float(records.preemptions.mean()),
        jobs=tuple(
            CountedJobOutcome.like(
                job,
                jct_s=int(records.jct_s[n]),
                waited_s=int(records.jct_s[n]) - job.duration_s,
                preemptions=int(records.preemptions[n]),
            )
            for n, job in enumerate(records.jobs)
        ),
    )
