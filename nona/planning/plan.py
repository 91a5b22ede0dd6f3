"""A plan from beginning to end: search, headroom, failures, servers by hour."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from nona.core.count_search import edge, halfway, run_search, smallest_count
from nona.core.errors import ScenarioError
from nona.core.experiments import ProcessPool, do_nothing
from nona.models.times_report import LEVEL
from nona.planning import written as planning_written
from nona.planning.candidates import CandidateEvidence, PlanCandidate, excluded_evidence, models_of, shares_of
from nona.planning.offer_series import OfferSeries, SeriesKey, with_count
from nona.planning.offers import Option
from nona.planning.planner import OnProgress, PlanSearch, RunPool
from nona.planning.question import MILLE, losses, question_now, question_of, same_option
from nona.planning.results import (
    CountRange,
    PlanFailure,
    PlanLoad,
    PlanOption,
    PlanOutcome,
    PlanReport,
    PlanWeek,
)
from nona.planning.week import WeekProfile, schedule_hours
from nona.queries.workflows.facts import provenance_of
from nona.queries.workflows.preparation import PreparedSystem
from nona.scenario.lookup import Sources
from nona.scenario.schema import Scenario

PlanStage = Literal["search", "times", "present", "headroom", "failures", "week"]
_WORDS: dict[PlanStage, str] = {
    "search": "",
    "times": "If task times are wrong: ",
    "present": "The present cluster: ",
    "headroom": "More traffic: ",
    "failures": "Failures: ",
    "week": "Servers by hour: ",
}
_BEGINS = {"search": 0.0, "times": 0.7, "present": 0.7, "headroom": 0.75, "failures": 0.85, "week": 0.9}


@dataclass(frozen=True, slots=True)
class PlanProgress:
    """A report during a plan.

    ``stage``: ``search``: for the cheapest option; the same if ``times`` are off, where one group grows;
        the ``present`` cluster; then what is asked of the answer: its ``headroom``, what ``failures`` leave,
        and the ``week``.
    ``last``: what was looked at last, with its verdict.
    ``settled``, ``of``: kinds of cluster whose search has ended, and all that are known to be searched.
    ``share``: a guess of how much of the next one, or of a later stage, is done.
    """

    stage: PlanStage
    last: str = ""
    settled: int = 0
    of: int = 0
    share: float = 0.0

    @property
    def text(self) -> str:
        """The report in words.

        >>> PlanProgress("search", "3 × l4, nona: keeps after 16 runs", 2, 7).text
        '3 × l4, nona: keeps after 16 runs; 2 of 7 kinds of cluster settled'
        """
        if self.stage != "search":
            return f"{_WORDS[self.stage]}{self.last or 'begins'}"
        if not self.of:
            return self.last or "Options are ordered by prediction"
        left = f"{self.settled} of {self.of} kinds of cluster settled"
        return "; ".join(part for part in (self.last, left) if part)

    @property
    def whole(self) -> float:
        """A guess of the share that is done: the number of runs of a verdict is not known ahead.

        >>> PlanProgress("search", "", 1, 3, 0.5).whole, PlanProgress("week", share=0.5).whole
        (0.35, 0.95)
        """
        if self.stage == "search":
            return _BEGINS["times"] * min(1.0, (self.settled + self.share) / max(self.of, 1))
        begin = _BEGINS[self.stage]
        return begin + (min((b for b in _BEGINS.values() if b > begin), default=1.0) - begin) * self.share


CLOSE = 1.02  # the headroom is known to 2 %
MOST_LOAD = 1000  # times the traffic, where no load of the executors bounds it
AROUND = 1.1  # the first two factors lie so far around the predicted edge
DOWN = 64  # a factor without a lower one that keeps: the next is the root of this part of it
MOST_RUNS = 16  # replications of a factor, or twice as many as the answer's own verdict took,
LIMIT = 128  # but no more than these


def headroom(planner: PlanSearch, option: Option) -> float:
    """Return the largest factor on the traffic, to 2 %, at which the option was seen to keep all.

    It ends at the load of the executors: above that nothing keeps. From 1 downwards where the option does not
    keep as it is. 0 where no factor down to a thousandth keeps.
    """

    def keeps(load: int) -> bool:
        (evidence,) = judged(planner, [PlanCandidate(option, load)])
        return evidence.verdict == "keeps"

    now = planner.evidence_on(option).verdict == "keeps"
    low, high = (MILLE, _ruled_out(planner, option)) if now else (0, MILLE)
    predicted, _ = run_search(
        edge(1, high, halfway), lambda load: planner.prediction.margin(option, load) >= 1
    )
    found, _ = run_search(edge(low, high, partial(_factor_between, predicted)), keeps)
    return found / MILLE


def _factor_between(predicted: int, low: int, high: int) -> int | None:
    """Return a factor on either side of the predicted edge, then the geometric middle of two, in thousandths.

    >>> _factor_between(1500, 1000, 4000), _factor_between(1500, 1000, 1650)
    (1650, 1364)
    >>> _factor_between(1500, 1364, 1650)
    1500
    >>> _factor_between(1500, 1000, 1020) is None
    True
    """
    if high - low <= 1 or high <= CLOSE * low:
        return None
    around = (round(predicted * AROUND), round(predicted / AROUND))
    middle = round(math.sqrt(max(low, high / DOWN) * high))
    return next((load for load in around if low < load < high), min(max(middle, low + 1), high - 1))


def _ruled_out(planner: PlanSearch, option: Option) -> int:
    """Return the least factor that loads the executors to their capacity, in thousandths.

    Else the most to try.
    """
    full_at = planner.bounds.full_at(option)
    return MOST_LOAD * MILLE if full_at is None else max(MILLE + 1, math.ceil(MILLE * full_at))


def judged(planner: PlanSearch, candidates: Sequence[PlanCandidate]) -> list[CandidateEvidence]:
    """Look at these candidates until each verdict stands or looks are used up; return the evidence."""
    for candidate in candidates:
        excluded = planner.bounds.excluded(candidate.option, candidate.load)
        if candidate not in planner.known and excluded is not None:
            planner.known[candidate] = excluded_evidence(excluded)
    most = _most_runs(planner)
    while True:
        left = [
            t for t in candidates if not planner.is_decided(planner.known.get(t, CandidateEvidence()), most)
        ]
        if not left:
            return [planner.known[t] for t in candidates]
        planner.simulate_more(left)


def _most_runs(planner: PlanSearch) -> int:
    """Return the replications of a candidate: near its targets it gets no fewer than the answer."""
    own = 0 if planner.best is None else len(planner.evidence_on(planner.best).summaries)
    return min(max(MOST_RUNS, min(2 * own, LIMIT)), planner.question.spec.replications)


def loads_of(planner: PlanSearch, option: Option) -> tuple[PlanLoad, ...]:
    """Return the factors that were looked at, ascending."""
    rate = planning_written.queries_per_s(planner.bounds)
    rows = sorted(
        ((t.load, k) for t, k in planner.known.items() if t.option == option and k.summaries),
        key=lambda pair: pair[0],
    )
    return tuple(
        PlanLoad(
            factor=load / MILLE,
            verdict=evidence.verdict,
            models=models_of(planner.question, evidence),
            cost_per_million=planning_written.cost_per_million(
                planner.question, option, evidence.moved, rate * load / MILLE
            ),
            shares=shares_of(planner.question, evidence),
            replications=len(evidence.summaries),
        )
        for load, evidence in rows
    )


def failures(planner: PlanSearch, option: Option) -> tuple[PlanFailure, ...]:
    """Return the option without one server of each offer, and without one rack where there are racks."""
    question = planner.question
    rows = []
    for loss in (*losses(question, option, "server"), *losses(question, option, "rack")):
        if not loss.rest.used or not question.has_every_stage(loss.rest):
            rows.append(PlanFailure(lost=loss.text, servers=(), verdict="misses"))
            continue
        (evidence,) = judged(planner, [PlanCandidate(loss.rest, MILLE)])
        rows.append(
            PlanFailure(
                lost=loss.text,
                servers=planning_written.servers_of(question, loss.rest),
                verdict=evidence.verdict,
                shares=shares_of(question, evidence),
            )
        )
    return tuple(rows)


class PresentCluster:
    """The cluster as it is, judged as an option is."""

    def __init__(self, planner: PlanSearch, asked: Scenario) -> None:
        question, counts = question_now(planner.question, asked)
        self.planner = PlanSearch(question, planner.pool, planner.check)
        self._whole = planner
        options = [Option(counts, s) for s in range(len(question.schedulers))]
        self._options = sorted(options, key=lambda o: -self.planner.prediction.margin(o))
        """One for each scheduler, those with the best prediction first."""

    def predicted(self) -> PlanOption:
        """Return the row before any run."""
        return planning_written.option_row(self.planner, self._options[0], CandidateEvidence())

    def judged(self) -> PlanOption:
        """Return the row under the first scheduler that keeps; without one under the best by verdict."""
        rows = []
        for option in self._options:
            rows.append(planning_written.option_row(self.planner, option, self._evidence(option)))
            if rows[-1].verdict == "keeps":
                break
        return min(rows, key=lambda row: ("keeps", "open", "misses").index(row.verdict))

    def _evidence(self, option: Option) -> CandidateEvidence:
        """Return the evidence of the search if this is one of its options, else that of own runs."""
        own = same_option(self._whole.question, self.planner.question, option)
        if own is not None and own in self._whole.asked and not self._whole.undecided(own):
            return self._whole.judged(own)
        while left := self.planner.undecided(option, _most_runs(self.planner)):
            self.planner.simulate_more(left)
        return self.planner.judged(option)


LEVELS = 8  # steps of traffic between none and the peak: each hour is served as its step's upper end


def _week_of(planner: PlanSearch, option: Option, profile: WeekProfile) -> PlanWeek:
    """Cost of a week with the answer all the time, and with as many servers as each hour needs.

    The count of the offer that costs most in the answer varies, the others stay. Hours are served in eight
    steps of traffic; a step needs the least count that was seen to keep all targets at its upper end.
    """
    question = planner.question
    growing = [k for k in option.used if k in question.growing]
    varied = max(growing, key=lambda k: (option.counts[k] * question.offers[k].price, k))
    steps = [max(1, math.ceil(LEVELS * f / profile.peak - 1e-9)) for f in profile.factors]
    needed = _counts(planner, option, varied, sorted(set(steps), reverse=True))
    counts = [needed[step] for step in steps]
    startup_h = question.spec.startup / 3600
    price = question.offers[varied].price
    rest = question.cost(with_count(option, varied, 0))
    whole = question.cost(option)
    return PlanWeek(
        factors=profile.factors,
        peak=profile.peak,
        gpu=question.offers[varied].gpu,
        mig=question.offers[varied].mig,
        servers=tuple(counts),
        startup_s=question.spec.startup,
        constant_cost=len(counts) * whole,
        schedule_cost=len(counts) * rest + price * schedule_hours(counts, startup_h),
    )


def _counts(planner: PlanSearch, option: Option, varied: int, steps: list[int]) -> dict[int, int]:
    """Return the least count for each step of the traffic, from the peak downwards."""
    counts: dict[int, int] = {}
    most = option.counts[varied]
    for step in steps:
        load = math.ceil(MILLE * step / LEVELS)
        if step < LEVELS:
            most = _least(planner, option, varied, most, load)
        counts[step] = most
    return counts


def _least(planner: PlanSearch, option: Option, varied: int, most: int, load: int) -> int:
    """Return the least count that keeps at a load; ``most`` is enough for a higher one."""
    floor = 1 if len(option.used) == 1 else 0  # the others alone may do
    start = max(1, math.ceil(most * load / MILLE) - floor + 1)

    def survives(wanted: int) -> bool:
        return _survives(planner, with_count(option, varied, wanted + floor - 1), load)

    found = run_search(smallest_count(most - floor, start), survives)
    return most if found is None else found + floor - 1


def _survives(planner: PlanSearch, option: Option, load: int) -> bool:
    """Return whether an option was seen to keep at a load, with the failures that it must survive."""
    rests = [loss.rest for loss in losses(planner.question, option, planner.question.spec.survive)]
    if not all(rest.used for rest in rests):
        return False
    return all(
        k.verdict == "keeps" for k in judged(planner, [PlanCandidate(o, load) for o in (option, *rests)])
    )


_NO_SOURCES = Sources()
OnTable = Callable[[PlanReport, PlanProgress], None]


def plan(
    scenario: Scenario,
    sources: Sources = _NO_SOURCES,
    *,
    workers: int = 1,
    pool: RunPool | None = None,
    check: Callable[[], None] = do_nothing,
    on_table: OnTable = do_nothing,
    further: bool = True,
) -> PlanReport:
    """Return the cheapest servers and scheduler that keep the targets of the scenario's part ``plan``.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    sources : Sources, optional
        Where its files are; by default the shipped samples only.
    workers : int, default 1
        Processes; results do not depend on their number.
    pool : RunPool, optional
        Runs the simulations in place of ``workers``.
    check : callable, optional
        Called now and then; an exception that it raises (``Cancelled``) ends the work.
    on_table : callable, optional
        Gets the report so far and the progress: first the predicted options, then a report after each test of
        an option. After a cancellation the last report is still valid.
    further : bool, default True
        Also compute the answer's headroom, its failures and its week.

    Returns
    -------
    PlanReport
        Every option with its verdict and price per hour; ``best`` is the recommended one.

    Raises
    ------
    NonaError
        For a question that cannot be answered, in one line.
    """
    question = question_of(scenario, sources)
    if pool is None and workers > 1:
        with ProcessPool(workers) as processes:
            return plan(scenario, sources, pool=processes, check=check, on_table=on_table, further=further)
    planner = PlanSearch(question, pool, check)
    written = planning_written.PlanReports(planner)

    def begin(stage: PlanStage, of: PlanSearch = planner) -> OnProgress:
        def report_progress(share: float, last: str) -> None:
            progress = PlanProgress(stage, last, len(planner.searched), planner.series_known, share)
            on_table(written.report(), progress)

        of.follow(report_progress)
        report_progress(0.0, "")
        return report_progress

    present = _present(planner, scenario)
    if present is not None:
        written.present = present.predicted()
    begin("search")
    if question.spec.group is not None:
        planner.guess_closer()
    planner.search()
    ranges = {}
    if question.spec.group is not None:
        ranges = _if_times_off(planner, begin("times"))
    if present is not None:
        begin("present", present.planner)
        written.present = present.judged()
    if planner.best is None or not further:
        return written.report(planning_written.ExtraResults(ranges=ranges))
    begin("headroom")
    factor = headroom(planner, planner.best)
    begin("failures")
    lost = failures(planner, planner.best)
    week = None
    if question.profile is not None:
        begin("week")
        week = _week_of(planner, planner.best, question.profile)
    loads = loads_of(planner, planner.best)
    return written.report(planning_written.ExtraResults(factor, loads, lost, week, ranges))


RANGED = 32  # runs, at most, of an option with times that are off


def _if_times_off(planner: PlanSearch, report_progress: OnProgress) -> dict[SeriesKey, CountRange]:
    """Return the fewest servers with all modelled times at either end of their intervals."""
    kept = {s.series: s.found for s in planner.searched if s.found is not None}
    low, high = (_counts_if_off(planner, kept, times, report_progress) for times in ("short", "long"))
    return {key: CountRange(low=low[key], high=high[key], level=LEVEL) for key in low}


def _counts_if_off(
    planner: PlanSearch,
    kept: Mapping[OfferSeries, int],
    times: Literal["short", "long"],
    report_progress: OnProgress,
) -> dict[SeriesKey, int | None]:
    """Return the result of the same search with other times; empty where no time is modelled."""
    question = planner.question
    runs = min(RANGED, question.spec.replications)
    spec = question.spec.model_copy(update={"replications": runs})
    off = PlanSearch(replace(question, times=times, spec=spec), planner.pool, planner.check)
    off.follow(lambda share, last: report_progress(0.0, f"{times} times, {last}"))
    if np.array_equal(off.bounds.work(Option(())), planner.bounds.work(Option(()))):
        return {}
    guesses = {c.key: _scaled(planner, off, c.option(count), count) for c, count in kept.items()}
    off.pure = [replace(c, guess=guesses[c.key]) for c in off.pure if c.key in guesses]
    off.search()
    return {s.series.key: s.found for s in off.searched}


def _scaled(planner: PlanSearch, off: PlanSearch, option: Option, count: int) -> int:
    return math.ceil(count * off.bounds.load(option) / planner.bounds.load(option))


def _present(planner: PlanSearch, scenario: Scenario) -> PresentCluster | None:
    """Return the cluster as it is; ``None`` where it has no price, or is one of the options."""
    if planner.question.spec.group is not None:
        return None
    try:
        return PresentCluster(planner, scenario)
    except ScenarioError:
        return None


def plan_outcome(prepared: PreparedSystem, report: PlanReport, made_at: str) -> PlanOutcome:
    """Return a plan with its provenance."""
    return PlanOutcome(about=provenance_of(prepared, made_at), report=report, models=prepared.scenario.labels)
