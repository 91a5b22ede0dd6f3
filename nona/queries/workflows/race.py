"""Candidates compared by simulation: a race of short runs with common random numbers.

All candidates meet the same jobs, arrivals and background (common random numbers: Law, Simulation Modeling
and Analysis, 5th ed. 2015, section 11.2), so differences are taken job by job. In each round every candidate
that is left has one run, twice as long as the one before. After a round a candidate leaves

* that has no steady state, or did not complete the jobs that it was given,
* whose mean is worse than the best one's at a confidence of :data:`CLEAR`, or differs from it by less than
  :data:`SAME`, or
* that is in the worse half of more than :data:`FEW` (successive halving: Karnin, Koren and Somekh, Almost
  optimal exploration in multi-armed bandits, ICML 2013), so that a round of many costs no more than the one
  before.

The race ends with the last candidate, after a number of rounds, or at a limit, which counts events and not
seconds: equal inputs give equal results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from nona.core.arrays import Floats
from nona.core.errors import SimulationError
from nona.core.experiments import do_nothing
from nona.core.statistics import Interval, overlapping_batch_means
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.simulation.collected import over_bound
from nona.queries.simulation.run import AUTO, RunOptions, RunTimes, engine_named, job_times
from nona.queries.simulation.workload import Kept, Workload
from nona.queries.system import System

Goal = Literal["mean-jct", "slo"]
CLEAR = 0.99  # confidence of a paired difference
SAME: dict[Goal, float] = {"mean-jct": 0.003, "slo": 0.0003}  # of the mean; share of the jobs
NEAR = 0.01  # late jobs that count as much as the whole time up to the SLO
ROUNDS = 5
EVENTS = 16_000  # tasks and background arrivals of a run of the first round, about
FEWEST = 400  # jobs of a run
FEW = 6  # candidates: so many are not halved
MOST = 2_000_000  # events that one race may spend
BACKGROUND = 0.3  # of the work of a task: that of a background arrival, about
START = 8_000  # events that a run's start costs as much as, about
EXECUTOR = 100  # and to start the background of one executor
SLOWER = 25  # times as long as the compiled engine takes SimPy for a run, about
_FIRST = 1_000_000  # number of the first replication: nobody else uses these random numbers


@dataclass(frozen=True, eq=False)
class Contender:
    """A candidate: a scheduler with its tables."""

    scheduler: Scheduler
    prepared: SchedulerTables


@dataclass(slots=True)
class EventBudget:
    """The work that is left, in events: task starts and background arrivals."""

    whole: float
    left: float = field(init=False)

    def __post_init__(self) -> None:
        self.left = self.whole

    @property
    def spent(self) -> float:
        """The share that is spent, 0 to 1."""
        return min(max(1.0 - self.left / self.whole, 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class RaceCandidate:
    """A candidate, and its runs, round after round, of which ``goal`` counts the jobs.

    ``slo_s``: of each query class, ``nan`` where it has none.
    """

    contender: Contender
    goal: Goal
    slo_s: Floats
    runs: list[RunTimes] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether a run had no steady state, or did not complete its jobs."""
        return not all(run.steady for run in self.runs)

    @property
    def values(self) -> Floats:
        """Of each job that counts its completion time, or 1 where it is late and 0 where not."""
        return self._counted() if self.goal == "mean-jct" else (self._counted() > 1).astype(float)

    @property
    def scores(self) -> Floats:
        """What ranks: the same, late jobs with :data:`NEAR`: where none is late the quicker one wins."""
        return self.values if self.goal == "mean-jct" else self.values + NEAR * np.minimum(self._counted(), 1)

    def _counted(self) -> Floats:
        """Completion times, or these over the SLOs of those that have one, run after run."""
        if self.goal == "mean-jct":
            return np.concatenate([run.times_s for run in self.runs])
        return np.concatenate([over_bound(run.times_s, self.slo_s[run.query]) for run in self.runs])

    @property
    def mean(self) -> float:
        """Mean over all jobs; infinite without a steady state."""
        return math.inf if self.failed or not len(self.values) else float(self.values.mean())

    @property
    def score(self) -> float:
        """Mean score over all jobs; infinite without a steady state."""
        return math.inf if self.failed or not len(self.scores) else float(self.scores.mean())

    def gain_over(self, other: RaceCandidate, level: float = 0.95) -> Interval:
        """By how much the score of this one is better, with its interval, by the jobs that both have."""
        return _difference(other.scores, self.scores, level)


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The candidates, the best first, the others by when they left; ``first`` was given first."""

    order: tuple[RaceCandidate, ...]
    first: RaceCandidate

    @property
    def best(self) -> RaceCandidate:
        """The winner."""
        return self.order[0]

    def is_first_beaten(self, level: float) -> bool:
        """Whether the winner's score is better than that of the first one by an interval of this level."""
        if self.best is self.first or self.best.failed:
            return False
        return self.first.failed or self.best.gain_over(self.first, level).low > 0

    @property
    def lead(self) -> Interval | None:
        """By how much the winner is better than the next one; ``None`` without a next one that ends."""
        if len(self.order) < 2 or self.order[1].failed:
            return None
        return _difference(self.order[1].values, self.best.values, 0.95)


def _difference(a: Floats, b: Floats, level: float) -> Interval:
    jobs = min(len(a), len(b))
    return overlapping_batch_means(a[:jobs] - b[:jobs], level=level)


class Race:
    """Races of candidates of one ``system``; all draw on one ``budget``.

    ``goal``: the least mean completion time, or the smallest share of late jobs.
    ``check`` is called before every run; what it raises comes out. ``on_run`` is called after it.
    """

    def __init__(
        self,
        system: System,
        budget: EventBudget,
        goal: Goal = "mean-jct",
        check: Callable[[], None] = do_nothing,
        on_run: Callable[[], None] = do_nothing,
    ) -> None:
        self.system, self.budget, self.goal = system, budget, goal
        self.check, self.on_run = check, on_run
        self.engine = engine_named(AUTO)
        slower = SLOWER if self.engine == "simpy" else 1
        events = events_per_job(system)
        self._cost = slower * events
        drawn_for = system.executors if system.background_compute.rate > 0 else 0
        self._start = START + slower * EXECUTOR * drawn_for
        self._first_jobs = max(round(EVENTS / slower / events), FEWEST)
        self._races = 0

    def run(self, contenders: Sequence[Contender], rounds: int = ROUNDS) -> RaceResult:
        """Let these candidates race for ``rounds`` at most, with random numbers of their own.

        Raises ``SimulationError`` without a candidate.
        """
        if not contenders:
            raise SimulationError("Race: there is no candidate; give at least one.")
        trials, gone = (
            [RaceCandidate(c, self.goal, self.system.slo_s) for c in contenders],
            list[RaceCandidate](),
        )
        first = trials[0]
        self._races += 1
        floor = max(self.budget.left - MOST, 0.0)
        for number in range(rounds):
            replication, drawn = _FIRST + 64 * self._races + number, Kept()
            for trial in trials:
                self._add(trial, self._first_jobs * 2**number, replication, drawn)
            trials.sort(key=lambda trial: trial.score)
            kept = self._kept(trials)
            gone = [trial for trial in trials if trial not in kept] + gone
            trials = kept
            if len(trials) == 1 or self.budget.left <= floor:
                break
        return RaceResult((*trials, *gone), first)

    def _add(self, trial: RaceCandidate, jobs: int, replication: int, drawn: Kept) -> None:
        self.check()
        warmup = min(jobs // 2, 1000)
        options = RunOptions(
            jobs=jobs,
            warmup=warmup,
            replication=replication,
            engine=self.engine,
            tail_jobs=jobs + warmup,
        )
        scheduler, prepared = trial.contender.scheduler, trial.contender.prepared
        workload = Workload(self.system, replication, prepared.uniforms_per_job, drawn)
        trial.runs.append(job_times(self.system, scheduler, prepared, options, workload))
        self.budget.left -= self._start + self._cost * (jobs + warmup)
        self.on_run()

    def _kept(self, trials: Sequence[RaceCandidate]) -> list[RaceCandidate]:
        """Return the best, and those of the better half that may still turn out to be better."""
        best = trials[0]
        kept = [best]
        for trial in trials[1 : max((len(trials) + 1) // 2, FEW)]:
            if trial.failed:
                break
            gain = best.gain_over(trial, CLEAR)
            if math.isnan(gain.half_width) or (gain.low <= 0 and gain.high > self.same(best.mean)):
                kept.append(trial)
        return kept

    def is_far_behind(self, trial: RaceCandidate, best: RaceCandidate) -> bool:
        """Whether a candidate certainly is worse than the best one by more than three times :meth:`same`."""
        return trial.failed or best.gain_over(trial, CLEAR).low > 3 * self.same(best.mean)

    def same(self, value: float) -> float:
        """Return the difference that does not matter beside ``value``."""
        return SAME[self.goal] * (value if self.goal == "mean-jct" else 1.0)


def events_per_job(system: System) -> float:
    """Tasks of a job, and background arrivals while one job arrives, which are less work each."""
    rate = system.total_rate
    if rate <= 0:
        return float(max((len(q.tasks) for q in system.queries), default=1))
    tasks = sum(q.rate * len(q.tasks) for q in system.queries) / rate
    background = sum(stream.rate for _, stream in system.link_streams)
    return tasks + BACKGROUND * (background + system.executors * system.background_compute.rate) / rate
