"""Simulations of options: four replications of an option are one run of the work that a pool shares out.

All random streams are named after the workload's rows and the scenario's seed, so all options see the same
arrivals and service draws (common random numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nona.errors import PlacementError
from nona.experiments.pool import Key
from nona.planning.offers import Option
from nona.planning.verdict import FIRST
from nona.schedulers.base import Prepared, Scheduler
from nona.schedulers.registry import get_scheduler
from nona.simulation.records.run import Records
from nona.simulation.records.sketch import QuantileSketch
from nona.simulation.records.tally import in_time
from nona.simulation.run import RunOptions, simulate_run
from nona.study.cache import Recent, StudyCache
from nona.study.placing.rehearsal import rehearsed
from nona.study.placing.short_runs import QUICK_RUNS
from nona.study.planning.bounds import Bounds
from nona.study.planning.question import Question
from nona.study.planning.run_length import run_jobs
from nona.study.preparation import Study, prepare
from nona.study.simulating.run import place

KEPT = 6  # prepared options that a process keeps
LONG = 200_000  # jobs of a run that is watched while it goes on: watching costs more than a short run


@dataclass(frozen=True, eq=False)
class Seen:
    """One replication of an option.

    ``arrived``, ``within`` (by its SLO) and ``sketches`` are by model, ``hits`` by target; ``moved`` are
    bytes/s over the link beside the background.
    """

    arrived: tuple[int, ...]
    within: tuple[int, ...]
    hits: tuple[int, ...]
    sketches: tuple[QuantileSketch, ...]
    overloaded: bool
    utilization: float
    moved: float


@dataclass(frozen=True, slots=True)
class Impossible:
    """The option cannot be run: it has no placement with a steady state."""

    reason: str


Outcome = tuple[Seen, ...] | Impossible


@dataclass(frozen=True, slots=True)
class Trial:
    """An option with ``load`` thousandths of the traffic."""

    option: Option
    load: int


@dataclass(frozen=True, slots=True)
class Numbering:
    """Trials as whole numbers, so that keys of a work name them: digits of mixed radix.

    >>> numbering = Numbering(offers=2, schedulers=3, most=100)
    >>> trial = Trial(Option((7, 100), 2, 1), 1310)
    >>> numbering.trial(numbering.number(trial)) == trial
    True
    """

    offers: int
    schedulers: int
    most: int

    def number(self, trial: Trial) -> int:
        """The number of a trial."""
        number = trial.load
        option = trial.option
        for count in reversed(option.counts):
            number = number * (self.most + 1) + count
        return (option.link + number * _LINKS) * self.schedulers + option.scheduler

    def trial(self, number: int) -> Trial:
        """The trial that has the number."""
        number, scheduler = divmod(number, self.schedulers)
        number, link = divmod(number, _LINKS)
        counts = []
        for _ in range(self.offers):
            number, count = divmod(number, self.most + 1)
            counts.append(count)
        return Trial(Option(tuple(counts), scheduler, link), number)


_LINKS = 16


class OptionRuns:
    """The work: key (number of the trial, number of the look's quarter) → four replications.

    A process keeps what it prepared; that is not sent with the work.
    """

    reporting = True

    def __init__(self, question: Question) -> None:
        self.question = question
        self.numbering = numbering_of(question)
        self._start()

    def __getstate__(self) -> Question:
        return self.question

    def __setstate__(self, question: Question) -> None:
        self.question, self.numbering = question, numbering_of(question)
        self._start()

    def _start(self) -> None:
        self._cache = StudyCache()
        self._ready = Recent[Any](KEPT)

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.question, self._cache)

    def run(self, key: Key, on_progress: Callable[[None], None] | None) -> Outcome:
        """The replications 4k … 4k+3 of a trial; fewer where one is overloaded."""
        tell = on_progress or (lambda progress: None)
        trial = self.numbering.trial(key[0])
        try:
            study, scheduler, prepared = self._ready.get(str(key[0]), lambda: self._prepared(trial, tell))
        except PlacementError as error:
            return Impossible(str(error))
        spec = study.scenario.simulation
        jobs = run_jobs(self._bounds, trial.option, trial.load)
        warmup = spec.warmup if isinstance(spec.warmup, int) else None
        found: list[Seen] = []
        for number in range(FIRST * key[1], FIRST * (key[1] + 1)):
            tell(None)
            options = RunOptions(jobs=jobs, warmup=warmup, replication=number)
            watch = (lambda progress: tell(None)) if jobs >= LONG else None
            records = simulate_run(study.system, scheduler, prepared, options, watch)
            found.append(seen_of(self.question, study, records))
            if found[-1].overloaded:
                break
        return tuple(found)

    def _prepared(self, trial: Trial, tell: Callable[[None], None]) -> tuple[Study, Scheduler, Prepared]:
        tell(None)
        question = self.question
        scenario = question.scenario_of(trial.option, trial.load)
        study = prepare(scenario, question.sources, self._cache)
        (entry,) = scenario.schedulers
        scheduler = get_scheduler(entry.name)

        def check() -> None:
            tell(None)

        placement = place(study, check=check, quick=True) if scheduler.needs_placement else None
        return study, *rehearsed(study.system, scheduler, placement, entry.options, check, QUICK_RUNS)


def numbering_of(question: Question) -> Numbering:
    """The numbering of a question's trials."""
    most = max(o.most for o in question.offers)
    return Numbering(len(question.offers), len(question.schedulers), most)


def seen_of(question: Question, study: Study, records: Records) -> Seen:
    """What a run tells of the targets: unfinished jobs count as late."""
    times, tally, system = records.completion_time_s, records.tally, study.system
    hits = []
    for target in question.targets:
        of = times[records.query == target.model]
        hits.append(int(np.count_nonzero(in_time(of, target.bound_s)) * records.every))
    background = system.background_network
    return Seen(
        arrived=tuple(tally.arrived.tolist()),
        within=tuple(tally.hits.tolist()),
        hits=tuple(min(h, int(tally.arrived[t.model])) for h, t in zip(hits, question.targets, strict=True)),
        sketches=tally.sketches,
        overloaded=records.state == "overloaded",
        utilization=records.utilization_compute,
        moved=max(0.0, records.utilization_network * system.capacity - background.rate * background.mean),
    )
