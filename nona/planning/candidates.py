"""Candidates of a plan: how long a run is, replications, what is known so far.

Near saturation queues take long to grow, and a run that begins empty ends before jobs are late: the option
would seem to keep its targets. The time scale is the relaxation time, that of M/M/1 with the speed of the
whole cluster: 1/(√μ − √λ)². In it λ/(√μ − √λ)² = ρ/(1 − √ρ)² jobs arrive, whatever the rates. Several
servers take longer, so that this is a necessary condition only.

Source of the relaxation time: Abate and Whitt, Transient behavior of the M/M/1 queue: starting at the
origin, Queueing Systems 2, 1987.

All random streams are named after the workload's rows and the scenario's seed, so all options see the same
arrivals and service draws (common random numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nona.core.document import UNKNOWN, Estimate, Verdict, number
from nona.core.errors import PlacementError
from nona.core.experiments import Key
from nona.core.tables import kept_text
from nona.core.units import format_time
from nona.core.verdict import (
    FIRST,
    LEVELS,
    Evidence,
    HitCounts,
    Means,
    estimate_of,
    looks_within,
    of_all,
    replications_needed,
    verdicts,
)
from nona.planning.offer_series import Bounds, ExcludedOption
from nona.planning.offers import Option, Target
from nona.planning.question import MILLE, PlanQuestion
from nona.planning.results import By, PlanModel
from nona.queries.schedulers.base import Scheduler, SchedulerTables
from nona.queries.schedulers.registry import get_scheduler
from nona.queries.simulation.collected import QuantileSketch, in_time
from nona.queries.simulation.records import Records
from nona.queries.simulation.run import RunOptions, simulate_run
from nona.queries.workflows.cache import PreparationCache, RecentEntries
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import PreparedSystem
from nona.queries.workflows.rehearsal import QUICK_ROUNDS, rehearsed

RELAXATIONS = 3  # that a run covers
MOST_JOBS = 50_000  # of a run that is lengthened


def _least_jobs(utilization: float) -> float:
    """Jobs of a run that covers three relaxation times: 3ρ/(1 − √ρ)².

    >>> round(_least_jobs(0.5)), round(_least_jobs(0.95)), _least_jobs(1.0)
    (17, 4445, inf)
    """
    slack = 1 - math.sqrt(min(max(utilization, 0.0), 1.0))
    return RELAXATIONS * utilization / slack**2 if slack > 0 else math.inf


def _run_jobs(bounds: Bounds, option: Option, load: int) -> int:
    """Jobs of a run with ``load`` thousandths of the traffic: the scenario's, more near saturation."""
    asked = bounds.question.scenario.simulation.jobs
    needed = _least_jobs(_utilization_of(bounds, option, load))
    return max(asked, math.ceil(min(needed, MOST_JOBS)))


def _utilization_of(bounds: Bounds, option: Option, load: int) -> float:
    """Return the least utilisation that any scheduler can reach."""
    return bounds.background + (bounds.load(option) - bounds.background) * load / MILLE


KEPT = 6  # prepared options that a process keeps
LONG = 200_000  # jobs of a run that is watched while it goes on: watching costs more than a short run


@dataclass(frozen=True, eq=False)
class ReplicationSummary:
    """One replication of an option.

    ``arrived``, ``within`` (by its SLO), ``means_s`` and ``sketches`` are by model, ``hits`` by target;
    ``moved`` are bytes/s over the link beside the background.
    """

    arrived: tuple[int, ...]
    within: tuple[int, ...]
    means_s: tuple[float, ...]
    hits: tuple[int, ...]
    sketches: tuple[QuantileSketch, ...]
    overloaded: bool
    utilization: float
    moved: float


@dataclass(frozen=True, slots=True)
class NoSteadyState:
    """The option cannot be run: it has no placement with a steady state."""

    reason: str


Run = ReplicationSummary | NoSteadyState


def is_final(run: Run) -> bool:
    """Whether a run decides its option: it cannot keep."""
    return isinstance(run, NoSteadyState) or run.overloaded


@dataclass(frozen=True, slots=True)
class CandidateProgress:
    """The share of a key's replications that have ended."""

    fraction: float


@dataclass(frozen=True, slots=True)
class PlanCandidate:
    """An option with ``load`` thousandths of the traffic."""

    option: Option
    load: int


@dataclass(frozen=True, slots=True)
class CandidateNumbers:
    """Candidates as whole numbers, so that keys of a work name them: digits of mixed radix.

    >>> numbers = CandidateNumbers(offers=2, schedulers=3, most=100)
    >>> candidate = PlanCandidate(Option((7, 100), 2), 1310)
    >>> numbers.candidate(numbers.number(candidate)) == candidate
    True
    """

    offers: int
    schedulers: int
    most: int

    def number(self, candidate: PlanCandidate) -> int:
        """Return the number of a candidate: its counts, load and scheduler as digits."""
        number = candidate.load
        option = candidate.option
        for count in reversed(option.counts):
            number = number * (self.most + 1) + count
        return number * self.schedulers + option.scheduler

    def candidate(self, number: int) -> PlanCandidate:
        """Return the candidate of a number."""
        number, scheduler = divmod(number, self.schedulers)
        counts = []
        for _ in range(self.offers):
            number, count = divmod(number, self.most + 1)
            counts.append(count)
        return PlanCandidate(Option(tuple(counts), scheduler), number)


class OptionRuns:
    """The work: key (number of the candidate, number of the look's quarter) → four replications.

    A process keeps what it prepared; that is not sent with the work.
    """

    reporting = True

    def __init__(self, question: PlanQuestion) -> None:
        self.question = question
        self.numbers = _numbers_of(question)
        self._start()

    def __getstate__(self) -> PlanQuestion:
        return self.question

    def __setstate__(self, question: PlanQuestion) -> None:
        self.question, self.numbers = question, _numbers_of(question)
        self._start()

    def _start(self) -> None:
        self._cache = PreparationCache()
        self._ready = RecentEntries[Any](KEPT)

    @cached_property
    def _bounds(self) -> Bounds:
        return Bounds(self.question, self._cache)

    def run(self, key: Key, on_progress: Callable[[CandidateProgress], None] | None) -> tuple[Run, ...]:
        """Return the replications 4k … 4k+3 of a candidate; fewer where one is overloaded."""

        def report_progress(replications: int) -> None:
            if on_progress is not None:
                on_progress(CandidateProgress(replications / FIRST))

        candidate = self.numbers.candidate(key[0])
        try:
            prepared, scheduler, tables = self._ready.get(
                str(key[0]), lambda: self._prepared(candidate, report_progress)
            )
        except PlacementError as error:
            return (NoSteadyState(str(error)),)
        spec = prepared.scenario.simulation
        jobs = _run_jobs(self._bounds, candidate.option, candidate.load)
        warmup = spec.warmup if isinstance(spec.warmup, int) else None
        seen: list[ReplicationSummary] = []
        for replication in range(FIRST * key[1], FIRST * (key[1] + 1)):
            report_progress(len(seen))
            options = RunOptions(jobs=jobs, warmup=warmup, replication=replication)
            watch = (lambda progress: report_progress(len(seen))) if jobs >= LONG else None
            records = simulate_run(prepared.system, scheduler, tables, options, watch)
            seen.append(_summary_of(self.question, prepared, records))
            if seen[-1].overloaded:
                break
        return tuple(seen)

    def _prepared(
        self, candidate: PlanCandidate, report_progress: Callable[[int], None]
    ) -> tuple[PreparedSystem, Scheduler, SchedulerTables]:
        report_progress(0)
        question = self.question
        prepared = question.prepared_of(candidate.option, candidate.load, self._cache)
        (entry,) = prepared.schedulers
        scheduler = get_scheduler(entry.name)

        def check() -> None:
            report_progress(0)

        placement = place(prepared, check=check, quick=True) if scheduler.needs_placement else None
        return prepared, *rehearsed(prepared.system, scheduler, placement, entry.options, check, QUICK_ROUNDS)


def _numbers_of(question: PlanQuestion) -> CandidateNumbers:
    most = max(o.most for o in question.offers)
    return CandidateNumbers(len(question.offers), len(question.schedulers), most)


def _summary_of(question: PlanQuestion, prepared: PreparedSystem, records: Records) -> ReplicationSummary:
    times, tally, system = records.completion_time_s, records.tally, prepared.system
    hits = []
    for target in question.targets:
        of = times[records.query == target.model]
        hits.append(int(np.count_nonzero(in_time(of, target.bound_s)) * records.every))
    background = system.background_network
    return ReplicationSummary(
        arrived=tuple(tally.arrived.tolist()),
        within=tuple(tally.hits.tolist()),
        means_s=tuple(np.where(tally.completed == tally.arrived, tally.mean_s, np.inf).tolist()),
        hits=tuple(min(h, int(tally.arrived[t.model])) for h, t in zip(hits, question.targets, strict=True)),
        sketches=tally.sketches,
        overloaded=records.state == "overloaded",
        utilization=records.utilization_compute,
        moved=max(0.0, records.utilization_network * system.capacity - background.rate * background.mean),
    )


EARLIEST, FAR = 5, 8  # looks before an open option is given up; times the most replications allowed


@dataclass(frozen=True, eq=False)
class CandidateEvidence:
    """A candidate's replications, its verdict, and the evidence for it."""

    summaries: tuple[ReplicationSummary, ...] = ()
    looks: int = 0
    verdict: Verdict = "open"
    by: By = "prediction"
    reason: str = ""
    hopeless: bool = False
    """Open, and so close to a target that many more replications than are allowed would be needed."""
    likely: bool = False
    """Open, and the shares that were seen keep all targets."""

    @property
    def utilization(self) -> float | None:
        """Mean utilisation of the executors."""
        return number(float(np.mean([s.utilization for s in self.summaries]))) if self.summaries else None

    @property
    def moved(self) -> float:
        """Bytes/s over the link beside the background."""
        return float(np.mean([s.moved for s in self.summaries])) if self.summaries else 0.0

    @property
    def overloaded(self) -> bool:
        """True if some replication had no steady state."""
        return any(s.overloaded for s in self.summaries)


def excluded_evidence(excluded: ExcludedOption) -> CandidateEvidence:
    """Return the evidence of a candidate that a bound rules out."""
    return CandidateEvidence(verdict="misses", by=excluded.by, reason=excluded.reason)


def with_look(question: PlanQuestion, evidence: CandidateEvidence, runs: Sequence[Run]) -> CandidateEvidence:
    """Return the evidence after one more look, by all replications so far."""
    failed = next((r for r in runs if isinstance(r, NoSteadyState)), None)
    if failed is not None:
        return CandidateEvidence(
            looks=evidence.looks + 1, verdict="misses", by="no placement", reason=failed.reason.rstrip(".")
        )
    seen = tuple(r for r in runs if not isinstance(r, NoSteadyState))
    after = replace(evidence, summaries=seen, looks=evidence.looks + 1, by="simulation")
    if after.overloaded:
        return replace(after, verdict="misses", reason="there is no steady state")
    counts = _counts_of(question.targets, seen)
    each = _verdicts(question, counts, after.looks)
    decision = of_all(each)
    hopeless = False
    if decision == "open" and after.looks >= EARLIEST:
        more = replications_needed(counts, question.thresholds, question.alpha)
        hopeless = more is None or more > FAR * question.spec.replications
    seem = decision == "open" and max(_used(question, counts)) <= 1
    reason = _reason(question, counts, each, decision)
    return replace(after, verdict=decision, reason=reason, hopeless=hopeless, likely=seem)


def with_runs_long_enough(
    bounds: Bounds, option: Option, load: int, evidence: CandidateEvidence
) -> CandidateEvidence:
    """Return the evidence, open where an option seems to keep in runs that are too short."""
    if evidence.verdict != "keeps":
        return evidence
    utilization = _utilization_of(bounds, option, load)
    jobs, needed = _run_jobs(bounds, option, load), _least_jobs(utilization)
    if jobs >= needed:
        return evidence
    load_text = f"a load of {100 * utilization:.4g} % (about {math.ceil(needed):,} would do)"
    reason = f"runs of {jobs:,} jobs are too short to see the queues at {load_text}"
    return replace(evidence, verdict="open", reason=reason, hopeless=True)


def _verdicts(question: PlanQuestion, counts: Sequence[Evidence], look: int) -> tuple[Verdict, ...]:
    looks = looks_within(question.spec.replications)
    return verdicts(counts, question.thresholds, question.alpha, look, looks)


def _used(question: PlanQuestion, counts: Sequence[Evidence]) -> list[float]:
    """Return the part that is used of what each target allows."""
    return [t.planned("").used(_mean_seen(each)) for t, each in zip(question.targets, counts, strict=True)]


def _mean_seen(of: Evidence) -> float:
    return of.mean if isinstance(of, Means) else of.share


def verdicts_of(question: PlanQuestion, evidence: CandidateEvidence) -> tuple[Verdict, ...]:
    """Return the verdict on each target, which make that on the option."""
    if evidence.summaries and not evidence.overloaded:
        each = _verdicts(question, _counts_of(question.targets, evidence.summaries), evidence.looks)
        if evidence.verdict in each:  # else the runs are too short to see that targets are kept
            return each
    return (evidence.verdict,) * len(question.targets)


def _counts_of(targets: Sequence[Target], seen: Sequence[ReplicationSummary]) -> list[Evidence]:
    """Return the evidence on each target: its hits, with the levels of their design effect."""
    return [
        Means(tuple(s.means_s[t.model] for s in seen if s.arrived[t.model]))
        if t.share is None
        else _counts(t, t.share, k, seen)
        for k, t in enumerate(targets)
    ]


def _counts(target: Target, asked: float, k: int, seen: Sequence[ReplicationSummary]) -> HitCounts:
    arrived = tuple(s.arrived[target.model] for s in seen)
    hits = tuple(s.hits[k] for s in seen)
    missed = tuple(n - h for n, h in zip(arrived, hits, strict=True))
    whole = QuantileSketch()
    for s in seen:
        whole = whole.merged(s.sketches[target.model])
    late = []
    for factor in LEVELS:
        beyond = min(1.0, factor * (1 - asked))
        if sum(missed) >= beyond * sum(arrived) or not whole.count:
            late.append(missed)
        else:
            level = whole.quantile(1 - beyond)
            late.append(tuple(_above(s, target.model, level) for s in seen))
    return HitCounts(arrived, hits, tuple(late))


def _above(seen: ReplicationSummary, model: int, level: float) -> int:
    sketch = seen.sketches[model]
    return sketch.above(level) + seen.arrived[model] - sketch.count


def _reason(
    question: PlanQuestion, counts: Sequence[Evidence], each: Sequence[Verdict], decision: Verdict
) -> str:
    """Of the targets that make the decision, the one that is furthest from being kept."""
    used, deciding = _used(question, counts), [k for k, one in enumerate(each) if one == decision]
    worst = max(deciding, key=used.__getitem__)
    target, value = question.targets[worst], _mean_seen(counts[worst])
    text = target.text(question.scenario.labels[target.model])
    seen = (
        format_time(value, 4)
        if target.share is None
        else f"{kept_text(value, target.share)} within the bound"
    )
    verb = {"keeps": "kept", "misses": "missed", "open": "open"}[decision]
    return f"{text}: {verb}, {seen}"


def needed(question: PlanQuestion, evidence: CandidateEvidence) -> int | None:
    """Replications that an open verdict would take, as far as one can say."""
    if evidence.verdict != "open" or len(evidence.summaries) < 2:
        return None
    counts = _counts_of(question.targets, evidence.summaries)
    if "open" not in _verdicts(question, counts, evidence.looks):
        return None  # it takes longer runs, not more
    return replications_needed(counts, question.thresholds, question.alpha)


def shares_of(question: PlanQuestion, evidence: CandidateEvidence) -> tuple[Estimate, ...]:
    """For each target the share in time, or the mean, with its interval at 95 %; empty before a run."""
    if not evidence.summaries:
        return ()
    return tuple(map(estimate_of, _counts_of(question.targets, evidence.summaries)))


def models_of(question: PlanQuestion, evidence: CandidateEvidence) -> dict[str, PlanModel]:
    """Share of hits with its interval at 95 %, and p99, of every model."""
    return {name: _model(question, evidence, j) for j, name in enumerate(question.scenario.labels)}


def _model(question: PlanQuestion, evidence: CandidateEvidence, j: int) -> PlanModel:
    seen = evidence.summaries
    if not seen:
        return PlanModel(hit_rate=UNKNOWN, p99_s=None)
    hits = UNKNOWN
    if question.scenario.workload[j].slo is not None:
        counts = HitCounts(tuple(s.arrived[j] for s in seen), tuple(s.within[j] for s in seen))
        hits = estimate_of(counts)
    whole = QuantileSketch()
    for s in seen:
        whole = whole.merged(s.sketches[j])
    share = 0.99 * sum(s.arrived[j] for s in seen) / max(whole.count, 1)  # what was dropped is late
    p99_s = None if evidence.overloaded or share > 1 else number(whole.quantile(share))
    return PlanModel(hit_rate=hits, p99_s=p99_s)
