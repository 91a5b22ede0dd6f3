"""The search: series of options side by side, simulated in parallel until each verdict stands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nona.core.count_search import BESIDE, Search, smallest_count
from nona.core.experiments import Key, Pool, RunListener, do_nothing, run_work
from nona.core.points import MissingRuns, PointCache
from nona.core.verdict import FIRST, looks_within, replications_at
from nona.planning.candidates import (
    CandidateEvidence,
    CandidateProgress,
    OptionRuns,
    PlanCandidate,
    Run,
    excluded_evidence,
    is_final,
    with_look,
    with_runs_long_enough,
)
from nona.planning.offer_series import (
    CLOSE,
    DRAWN,
    Bounds,
    OfferSeries,
    SeriesFactory,
    TargetPrediction,
    simulated_guess,
)
from nona.planning.offers import Option
from nona.planning.question import MILLE, PlanQuestion, losses
from nona.queries.workflows.cache import PreparationCache

RunPool = Pool[CandidateProgress, tuple[Run, ...]]
OnProgress = Callable[[float, str], None]
PARALLEL = 4  # series that are searched side by side, whatever the number of processes


@dataclass(eq=False)
class SeriesSearch:
    """A series whose search is under way, and the count that it wants judged."""

    series: OfferSeries
    search: Search
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class SearchedSeries:
    """A series whose search has ended: the least count that keeps, or ``None``."""

    series: OfferSeries
    found: int | None


class PlanSearch:
    """Judges the options of a question; what is known so far can be read at any time.

    ``question``: what is asked.
    ``pool``: where the simulations run; by default in this process. Nothing but the time depends on it.
    ``check``: called now and then; what it raises (``Cancelled``) ends the work and comes out.
    """

    def __init__(
        self,
        question: PlanQuestion,
        pool: RunPool | None = None,
        check: Callable[[], None] = do_nothing,
    ) -> None:
        self.question, self.check = question, check
        self._on_progress: OnProgress = do_nothing
        self._left, self._now = 1.0, ""
        self.pool = pool
        self.begin = time.perf_counter()
        self.bounds = Bounds(question, PreparationCache())
        self.prediction = TargetPrediction(self.bounds)
        self.series = SeriesFactory(self.bounds, self.prediction)
        self.pure = self.series.pure()
        self.work = OptionRuns(question)
        self.points = PointCache[PlanCandidate, Run](is_final)
        self.known: dict[PlanCandidate, CandidateEvidence] = {}
        self.asked: set[Option] = set()
        self.searched: list[SearchedSeries] = []
        self.series_known = 0
        self.best: Option | None = None
        self.complete = False

    @property
    def cost_limit(self) -> float:
        """The cost of the cheapest option that keeps, so far; none where each series has its own answer."""
        if self.best is None or self.question.spec.group is not None:
            return math.inf
        return self.question.cost(self.best)

    def follow(self, on_progress: OnProgress) -> None:
        """Call ``on_progress`` from now on with the state in words and a guess of the share done.

        The number of looks is not known ahead: each fills a fifth of what is left of the search for the
        present series.
        """
        self._on_progress, self._left, self._now = on_progress, 1.0, ""

    def _report(self, text: str) -> None:
        self._now = text
        self._on_progress(1 - self._left, text)

    def _report_runs(self, ended: int, of: int) -> None:
        self._on_progress(
            1 - self._left * (1 - ended / of / 5), f"{self._now}, run {min(ended + 1, of)} of {of}"
        )
        self._left *= 0.8 if ended == of else 1.0

    def _finish(self, series: OfferSeries, found: int | None) -> None:
        self.searched.append(SearchedSeries(series, found))
        self._left = 1.0

    def guess_closer(self) -> None:
        """Guess the counts again, by jobs walked among random waits: that takes seconds for each series."""
        for place, series in enumerate(self.pure):
            self._report(f"Predicting {self.servers(PlanCandidate(series.option(series.guess), MILLE))}")
            self.pure[place] = replace(series, guess=simulated_guess(self.question, series, self.check))

    def search(self) -> None:
        """Find the cheapest option that keeps, first of one offer, then of two."""
        self._run(self.pure)
        if self.question.spec.mixed and len(self.question.offers) > 1 and self.question.spec.group is None:
            if self.best is None:  # perhaps there are too few servers of each offer alone
                self._run(self.series.mixed(math.inf))
            if self.best is not None:
                self._run(self.series.mixed(self.cost_limit))
        self.complete = True

    def evidence_on(self, option: Option) -> CandidateEvidence:
        """Return the evidence on an option with its present traffic."""
        return self.known.get(PlanCandidate(option, MILLE), CandidateEvidence())

    def judged(self, option: Option) -> CandidateEvidence:
        """Return the evidence on an option and on its remains after failures that it must survive."""
        own = self._bounded_evidence(option)
        rests = [
            (loss.text, self._bounded_evidence(loss.rest))
            for loss in losses(self.question, option, self.question.spec.survive)
        ]
        for verdict in ("misses", "open"):
            if own.verdict == verdict:
                return own
            for text, evidence in rests:
                if evidence.verdict == verdict:
                    reason = f"without {text}: {evidence.reason or 'not simulated'}"
                    return replace(
                        own,
                        verdict=evidence.verdict,
                        by=evidence.by,
                        reason=reason,
                        hopeless=evidence.hopeless,
                        likely=evidence.likely and own.verdict == "keeps",
                    )
        return own

    def is_enough(self, option: Option) -> bool:
        """Return whether an option keeps; where one group grows an open one counts by what is likelier."""
        evidence = self.judged(option)
        counts = self.question.spec.group is not None and evidence.likely and not self.undecided(option)
        return evidence.verdict == "keeps" or counts

    def undecided(self, option: Option, most: int | None = None) -> list[PlanCandidate]:
        """List the candidates that the verdict on an option, with its failures, still needs."""
        if self.judged(option).verdict == "misses":
            return []
        survived = [loss.rest for loss in losses(self.question, option, self.question.spec.survive)]
        return [
            PlanCandidate(o, MILLE)
            for o in (option, *survived)
            if not self.is_decided(self.evidence_on(o), most)
        ]

    def _bounded_evidence(self, option: Option) -> CandidateEvidence:
        """Return the evidence on an option, which bounds may rule out before anything else."""
        if not option.used:
            return CandidateEvidence(verdict="misses", by="load", reason="no server is left")
        candidate = PlanCandidate(option, MILLE)
        if candidate not in self.known and (excluded := self.bounds.excluded(option)) is not None:
            self.known[candidate] = excluded_evidence(excluded)
        return self.evidence_on(option)

    def _run(self, series: Iterable[OfferSeries]) -> None:
        every_series = tuple(series)
        self.series_known += len(every_series)
        waiting = iter(every_series)
        searches: list[SeriesSearch] = []
        while True:
            searches += self._start_searches(waiting, PARALLEL - len(searches))
            if not searches:
                return
            self.simulate_more(
                t for current in searches for t in self.undecided(current.series.option(current.wanted))
            )
            searches = [current for current in searches if self._continues(current)]

    def _start_searches(self, waiting: Iterator[OfferSeries], room: int) -> list[SeriesSearch]:
        """Start up to ``room`` more series whose first count needs a simulation."""
        searches: list[SeriesSearch] = []
        while len(searches) < room:
            series = next(waiting, None)
            if series is None:
                break
            current = self._start_search(series)
            if current is not None:
                searches.append(current)
        return searches

    def _start_search(self, series: OfferSeries) -> SeriesSearch | None:
        top = self.series.count_below(series, self.cost_limit)
        if series.low >= series.most:
            self._rule_out(series)
            self._finish(series, None)
            return None
        if series.low:
            self._rule_out(series)
        start = max(series.low + 1, min(series.guess, top))
        search = smallest_count(series.most, start, low=series.low, beside=self._neighbours(series))
        current = SeriesSearch(
            series, search if self.question.spec.group is not None else self._confirm(series, search)
        )
        current.wanted = next(current.search)
        return current if self._needs_simulation(current) else None

    def _neighbours(self, series: OfferSeries) -> int:
        """Return how many counts on both sides of an answer are judged, if the scheduler sees queues."""
        question = self.question
        drawn = question.schedulers[series.base.scheduler].scheduler.name in DRAWN
        return 0 if question.spec.group is None or question.times != "stated" or drawn else BESIDE

    def _confirm(self, series: OfferSeries, search: Search) -> Search:
        """Search, then try the counts below the result until one misses: open ones prove nothing."""
        fewest = yield from search  # where not even the most servers keep, fewer are taken not to keep either
        for count in range((fewest or 1) - 1, series.low, -1):
            if self.judged(series.option(count)).verdict == "open":
                yield count
            if self.judged(series.option(count)).verdict == "misses":
                break
        return fewest

    def _rule_out(self, series: OfferSeries) -> None:
        option = series.option(min(series.low, series.most))
        excluded = self.bounds.excluded(option)
        if excluded is not None and series.base.counts == self.question.fixed_servers:
            self.known[PlanCandidate(option, MILLE)] = excluded_evidence(excluded)
            self.asked.add(option)

    def _continues(self, current: SeriesSearch) -> bool:
        """Return whether a search still needs simulations; note the cheapest option that keeps."""
        option = current.series.option(current.wanted)
        better = self.best is None or self._order(option) < self._order(self.best)
        if better and self.is_enough(option):
            self.best = option
        return self._needs_simulation(current)

    def _order(self, option: Option) -> tuple[float, int]:
        return self.question.cost(option), sum(option.counts)

    def _needs_simulation(self, current: SeriesSearch) -> bool:
        """Return whether the next count must be simulated; those that need not be are answered here.

        A count that costs as much as the cheapest that keeps counts as kept: the search then ends below it.
        """
        while True:
            option = current.series.option(current.wanted)
            if self.question.cost(option) >= self.cost_limit * (1 - CLOSE):
                answer = True
            else:
                self.asked.add(option)
                if self.undecided(option):
                    return True
                answer = self.is_enough(option)
            if not self._advance(current, answer):
                return False

    def _advance(self, current: SeriesSearch, answer: bool) -> bool:
        """Send a count's answer to its search; return whether it wants another one."""
        try:
            current.wanted = current.search.send(answer)
        except StopIteration as end:
            self._finish(current.series, end.value)
            return False
        return True

    def is_decided(self, evidence: CandidateEvidence, most: int | None = None) -> bool:
        """Return whether a verdict stands, or no more looks are allowed or of use."""
        looks = looks_within(most or self.question.spec.replications)
        return evidence.verdict != "open" or evidence.hopeless or evidence.looks >= looks

    def simulate_more(self, candidates: Iterable[PlanCandidate]) -> None:
        """Simulate more replications of each candidate, all in parallel."""
        chosen = list(dict.fromkeys(candidates))
        for first in chosen[:1]:
            self._report(f"Simulating {self.servers(first)}")
        wanted = {t: replications_at(self.known.get(t, CandidateEvidence()).looks + 1) for t in chosen}
        self.points.extend(wanted, self._simulate)
        for candidate in chosen:
            after = with_look(
                self.question, self.known.get(candidate, CandidateEvidence()), self.points.runs(candidate)
            )
            self.known[candidate] = with_runs_long_enough(
                self.bounds, candidate.option, candidate.load, after
            )
            self._report(self.text(candidate))

    def _simulate(self, missing: Sequence[MissingRuns[PlanCandidate]]) -> list[tuple[Run, ...]]:
        """Quarters of four replications, all in parallel."""
        numbers = [self.work.numbers.number(m.point) for m in missing]
        parts = [range(m.first // FIRST, (m.first + m.count) // FIRST) for m in missing]
        keys: list[Key] = [(n, part) for n, of in zip(numbers, parts, strict=True) for part in of]
        shares: dict[Key, float] = {}

        def report(key: Key, ended: CandidateProgress) -> None:
            self.check()
            if shares.get(key) != ended.fraction:
                shares[key] = ended.fraction
                self._report_runs(int(FIRST * sum(shares.values())), FIRST * len(keys))

        done = run_work(self.work, keys, RunListener(report), 1, self.pool)
        self._report_runs(FIRST * len(keys), FIRST * len(keys))
        return [
            tuple(run for part in of for run in done[n, part]) for n, of in zip(numbers, parts, strict=True)
        ]

    def text(self, candidate: PlanCandidate) -> str:
        """Return the state of a candidate in words: its servers, its verdict and its number of runs."""
        evidence = self.known[candidate]
        return f"{self.servers(candidate)}: {evidence.verdict} after {len(evidence.summaries)} runs"

    def servers(self, candidate: PlanCandidate) -> str:
        """Return the servers of a candidate in words."""
        counts = enumerate(candidate.option.counts)
        servers = " + ".join(f"{n} × {self.question.offers[k].text}" for k, n in counts if n)
        load = "" if candidate.load == MILLE else f", {candidate.load / MILLE:g} × the traffic"
        return f"{servers}, {self.question.schedulers[candidate.option.scheduler].text}{load}"

    def all_known(self) -> Iterator[tuple[Option, CandidateEvidence]]:
        """Yield the options of which something is known with the traffic as it is, the cheapest first.

        Where failures must be survived, those that were only looked at as the rest of another are left out.
        """
        pairs = ((t.option, k) for t, k in self.known.items() if t.load == MILLE)
        if self.question.spec.survive != "nothing":
            pairs = ((o, self.judged(o)) for o in self.asked)
        yield from sorted(pairs, key=lambda pair: (self.question.cost(pair[0]), pair[0]))
