"""Who runs until the next event: the schedules of Tiresias' simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from nona.errors import SimulationError
from nona.options import Options, check_known, number, switch_of
from nona.registry import Registry
from nona.training.counting.gittins import GittinsRank
from nona.training.counting.job import CountedJob
from nona.training.counting.queues import AttainedQueues, limits_of


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
    """Who runs from now on; after ``again_s`` without another event the schedule is asked again."""

    running: frozenset[int]
    again_s: float | None = None


class Planner(Protocol):
    """A schedule in one run."""

    def decide(self, event: Event) -> Decision:
        """Who runs."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule's declaration; ``prepare(jobs, gpus, options)`` makes the planner of a run."""

    name: str
    title: str
    summary: str
    prepare: Callable[[tuple[CountedJob, ...], int, Options], Planner]
    defaults: Options = field(default_factory=dict)
    option_help: Mapping[str, str] = field(default_factory=dict)


def first_fit(jobs: Iterable[tuple[int, int]], free: int, *, blocking: bool = False) -> frozenset[int]:
    """Of (number, GPUs) in order those that fit; ``blocking``: the first that does not ends it.

    >>> sorted(first_fit([(0, 3), (1, 4), (2, 1)], 4))
    [0, 2]
    """
    found = set[int]()
    for n, gpus in jobs:
        if gpus <= free:
            found.add(n)
            free -= gpus
        elif blocking:
            break
    return frozenset(found)


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
        return Decision(kept | first_fit(waiting, free, blocking=self.blocking))


@dataclass
class Smallest:
    """The smallest by a key first, preemptive; of equals as at the last event."""

    gpus: int
    key: Callable[[Present], int]
    _order: list[int] = field(default_factory=list)

    def decide(self, event: Event) -> Decision:
        """Sort again, first fit."""
        jobs = {present.number: present for present in event.jobs}
        known = set(self._order)
        self._order = [n for n in self._order if n in jobs] + [n for n in jobs if n not in known]
        self._order.sort(key=lambda n: self.key(jobs[n]))
        return Decision(first_fit(((n, jobs[n].job.gpus) for n in self._order), self.gpus))


@dataclass
class Attained:
    """Least attained service in queues, preemptive."""

    gpus: int
    queues: AttainedQueues
    late: bool

    def decide(self, event: Event) -> Decision:
        """Jobs join, sink and rise; then first fit through the queues."""
        jobs = {present.number: present for present in event.jobs}
        self.queues.keep(jobs)
        old = [n for n in jobs if n in self.queues]
        for n, present in jobs.items():
            if n not in self.queues:
                self.queues.join(n, present.job.gpus, present.job.arrival_s)
        self.queues.advance(old, event.passed_s, {n for n in old if jobs[n].runs})
        running = first_fit(((n, jobs[n].job.gpus) for n in self.queues.order()), self.gpus)
        self.queues.running_first(running)
        return Decision(running, self.queues.next_move_s(running, late=self.late))


def _in_order(name: str, *, blocking: bool) -> Callable[[tuple[CountedJob, ...], int, Options], Planner]:
    def prepare(_: tuple[CountedJob, ...], gpus: int, options: Options) -> Planner:
        check_known(f"Schedule {name!r}", options, ())
        return InOrder(gpus, blocking)

    return prepare


def _smallest(
    name: str, key: Callable[[Present], int]
) -> Callable[[tuple[CountedJob, ...], int, Options], Planner]:
    def prepare(_: tuple[CountedJob, ...], gpus: int, options: Options) -> Planner:
        check_known(f"Schedule {name!r}", options, ())
        return Smallest(gpus, key)

    return prepare


def _attained(name: str, defaults: Options) -> Callable[[tuple[CountedJob, ...], int, Options], Planner]:
    def prepare(jobs: tuple[CountedJob, ...], gpus: int, options: Options) -> Planner:
        owner, chosen = f"Schedule {name!r}", {**defaults, **options}
        check_known(owner, options, defaults)
        ranks = None
        if "step_gpu_s" in defaults:
            sizes = (job.gpus * job.duration_s for job in jobs)
            ranks = GittinsRank.of(sizes, number(owner, chosen, "step_gpu_s", 1.0))
        limits = limits_of(owner, chosen["limits_gpu_s"])
        late = switch_of(owner, chosen, "late_moves")
        queues = AttainedQueues(limits, number(owner, chosen, "starvation"), ranks)
        return Attained(gpus, queues, late)

    return prepare


_QUEUES: Options = {"limits_gpu_s": "3250, 7200", "starvation": 0.0, "late_moves": True}
_QUEUES_HELP = {
    "limits_gpu_s": "GPU-seconds after which a job moves to the next queue, one for each queue but the last",
    "starvation": "a preempted job returns to the first queue after waiting this many times what it "
    "executed; 0: never",
    "late_moves": "move jobs with several GPUs as late as the public simulator does; off: at the limit",
}
_GITTINS: Options = {**_QUEUES, "step_gpu_s": 3250.0}

SCHEDULES: Registry[Schedule] = Registry(
    "Schedule",
    (
        Schedule(
            "fifo",
            "FIFO",
            "By arrival; the first that does not fit blocks.",
            _in_order("fifo", blocking=True),
        ),
        Schedule(
            "fjf", "First fit", "By arrival; who fits passes who does not.", _in_order("fjf", blocking=False)
        ),
        Schedule(
            "sjf",
            "Fewest GPUs first",
            "Fewest GPUs first, preemptive.",
            _smallest("sjf", lambda p: p.job.gpus),
        ),
        Schedule(
            "shortest",
            "Shortest first",
            "Shortest remaining time first, preemptive.",
            _smallest("shortest", lambda p: p.left_s),
        ),
        Schedule(
            "shortest-gpu",
            "Least remaining service first",
            "Fewest remaining GPU-seconds first, preemptive.",
            _smallest("shortest-gpu", lambda p: p.left_s * p.job.gpus),
        ),
        Schedule(
            "dlas-gpu",
            "Tiresias-L",
            "Least attained service in queues, by arrival inside them; sizes are unknown.",
            _attained("dlas-gpu", _QUEUES),
            _QUEUES,
            _QUEUES_HELP,
        ),
        Schedule(
            "dlas-gpu-gittins",
            "Tiresias-G",
            "The same, inside queues by Gittins rank; the distribution of sizes is known.",
            _attained("dlas-gpu-gittins", _GITTINS),
            _GITTINS,
            {**_QUEUES_HELP, "step_gpu_s": "GPU-seconds that the rank looks ahead (default recollected)"},
        ),
    ),
    SimulationError,
)
"""All of them; names as in the public simulator."""
