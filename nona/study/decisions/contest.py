"""Schedulers on the same jobs, repeated until the order is clear enough.

Effort goes where it decides: what a short run shows to have no steady state, or one run to be far
behind, is not repeated. The others are, in rounds, until each :class:`Question` has a ratio that is known
well enough (:func:`is_precise`) or :attr:`Effort.most` runs are done. Stopping at a narrow interval costs
it a little coverage, so no round is shorter than :attr:`Effort.replications`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nona.results.studies.decisions import Entrant
from nona.schedulers.base import Prepared, Scheduler
from nona.simulation.records.run import Records
from nona.simulation.run import RunOptions, simulate_run
from nona.simulation.statistics.intervals import mean_interval
from nona.simulation.statistics.measured import Measured
from nona.simulation.statistics.ratio import Ratio, paired_ratio
from nona.system import System

PRECISE, SHARE = 0.005, 0.1  # half-width of a ratio: this, or this share of its distance from 1
BEHIND = 1.25  # times the best in the first run: not repeated
PILOT_JOBS, PILOT_WARMUP = 200, 50


@dataclass(frozen=True, slots=True)
class Effort:
    """Jobs of a run, before it, and after it until it is cut off; runs of a round; most runs; the engine."""

    jobs: int
    warmup: int
    tail: int
    replications: int
    most: int
    engine: str = "auto"


@dataclass(frozen=True, slots=True)
class Question:
    """The ratio of the mean JCT of ``who`` to that of the best of its ``rivals``."""

    who: str
    rivals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The rival with the least mean, and the ratio to it on the same jobs."""

    best: str
    ratio: Ratio


def is_precise(ratio: Ratio) -> bool:
    """Whether the half-width is at most half a per cent, or a tenth of the distance from 1.

    >>> is_precise(Ratio(1.9, 1.85, 1.95, 5)), is_precise(Ratio(1.01, 1.0, 1.02, 5))
    (True, False)
    """
    return (ratio.high - ratio.low) / 2 <= max(PRECISE, SHARE * abs(ratio.value - 1.0))


def reason(records: Records) -> str:
    """Why a run has no steady state, in a few words."""
    executors, link = records.offered
    if max(executors, link) >= 1:
        return f"offered to {'the link' if link > executors else 'executors'}: {max(executors, link):.2f}"
    return "jobs left behind"


@dataclass(eq=False)
class Contest:
    """The runs so far: scheduler → mean JCT of each run; schedulers without a steady state → the reason."""

    system: System
    chosen: Mapping[str, tuple[Scheduler, Prepared]]
    effort: Effort
    questions: Sequence[Question]
    means_s: dict[str, list[float]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    _first_half_s: dict[str, float] = field(default_factory=dict)

    def hold(self) -> None:
        """Run it all."""
        asked = [q.who for q in self.questions]
        for name in self.chosen:
            if name in asked or self._survives(name):
                self._repeat(name, 1)
        kept, count = self._worth_repeating(), self.effort.replications
        while kept:
            for name in kept:
                self._repeat(name, count)
            count += self.effort.replications
            kept = self._undecided() if count <= self.effort.most else []

    def entrant(self, name: str) -> Entrant:
        """The mean of a scheduler with Student's interval over its runs, or by batch means for one run."""
        if name in self.reasons:
            return Entrant(reason=self.reasons[name])
        found = mean_interval(self.means_s[name])
        half = found.half_width if found.n > 1 else self._first_half_s[name]
        return Entrant(mean_s=found.mean, half_width_s=half, runs=found.n)

    def answer(self, question: Question) -> Answer | None:
        """``None`` where ``who`` or all of its rivals have no steady state."""
        rivals = [r for r in question.rivals if self._is_steady(r)]
        if not rivals or not self._is_steady(question.who):
            return None
        most = max(len(self.means_s[r]) for r in rivals)
        best = min((r for r in rivals if len(self.means_s[r]) == most), key=self._mean)
        return Answer(best, self._ratio(question.who, best))

    def _worth_repeating(self) -> list[str]:
        """Schedulers that a question is about, and those near to the best rival in the first run."""
        kept = set()
        for question in self.questions:
            rivals = [r for r in question.rivals if self._is_steady(r)]
            least = min((self.means_s[r][0] for r in rivals), default=math.inf)
            kept |= {r for r in rivals if self.means_s[r][0] <= BEHIND * least}
            kept |= {question.who} if self._is_steady(question.who) else set()
        return [name for name in self.chosen if name in kept]

    def _undecided(self) -> list[str]:
        """Those whose further runs may change an answer that is not yet precise."""
        kept = set()
        for question in self.questions:
            answer = self.answer(question)
            if answer is not None and not is_precise(answer.ratio):
                close = [r for r in question.rivals if self._is_steady(r) and len(self.means_s[r]) > 1]
                kept |= {r for r in close if not self._ratio(r, answer.best).low > 1}
                kept |= {question.who, answer.best}
        return [name for name in self.chosen if name in kept]

    def _ratio(self, a: str, b: str) -> Ratio:
        both = min(len(self.means_s[a]), len(self.means_s[b]))
        return paired_ratio(self.means_s[a][:both], self.means_s[b][:both])

    def _mean(self, name: str) -> float:
        return float(np.mean(self.means_s[name]))

    def _is_steady(self, name: str) -> bool:
        return name in self.means_s and name not in self.reasons

    def _survives(self, name: str) -> bool:
        """Whether a short run does not show that the scheduler gets more than it can serve."""
        records = self._run(name, PILOT_JOBS, PILOT_WARMUP, self.effort.tail, 0)
        unfinished = records.jobs - int(records.tally.completed.sum())
        if max(records.offered) >= 1 or unfinished:
            self.reasons[name] = reason(records)
        return name not in self.reasons

    def _repeat(self, name: str, until: int) -> None:
        """Runs of ``name`` up to the number ``until``; the first without a steady state ends them."""
        means = self.means_s.setdefault(name, [])
        while len(means) < until and name not in self.reasons:
            size = self.effort
            tail = max(size.tail, size.jobs)
            records = self._run(name, size.jobs, size.warmup, tail, len(means))
            if records.state == "overloaded":
                self.reasons[name] = reason(records)
                return
            measured = Measured([records], [None] * len(self.system.queries))
            if not means:
                self._first_half_s[name] = measured.mean_jct().half_width
            means += measured.mean_jcts()

    def _run(self, name: str, jobs: int, warmup: int, tail: int, number: int) -> Records:
        options = RunOptions(
            jobs=jobs, warmup=warmup, tail_jobs=tail, replication=number, engine=self.effort.engine
        )
        return simulate_run(self.system, *self.chosen[name], options)
