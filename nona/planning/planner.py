"""The search: chains side by side, simulated in parallel until each verdict stands."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nona.core.count_search import BESIDE, Search, smallest_count
from nona.core.experiments import Key, Pool, RunListener, do_nothing, run_work
from nona.core.points import Missing, PointCache
from nona.core.verdict import FIRST, looks_within, replications_at
from nona.planning.chains import CLOSE, DRAWN, Bounds, Chains, OfferSeries, TargetPrediction, simulated_guess
from nona.planning.offers import Option
from nona.planning.question import MILLE, PlanQuestion, losses
from nona.planning.trials import (
    Ended,
    OptionRuns,
    PlanCandidate,
    Run,
    TrialEvidence,
    ends,
    looked_at,
    ruled_out,
    with_runs_long_enough,
)
from nona.queries.study.cache import StudyCache

RunPool = Pool[Ended, tuple[Run, ...]]
Tell = Callable[[float, str], None]
LANES = 4  # chains that are searched side by side, whatever the number of processes


@dataclass(eq=False)
class SeriesSearch:
    """A chain whose search is under way, and the count that it wants judged."""

    chain: OfferSeries
    search: Search
    wanted: int = 0


@dataclass(frozen=True, slots=True)
class SearchedSeries:
    """A chain whose search has ended: the least count that keeps, or ``None``."""

    chain: OfferSeries
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
        self._tell: Tell = do_nothing
        self._left, self._now = 1.0, ""
        self.pool = pool
        self.begin = time.perf_counter()
        self.bounds = Bounds(question, StudyCache())
        self.prediction = TargetPrediction(self.bounds)
        self.chains = Chains(self.bounds, self.prediction)
        self.pure = self.chains.pure()
        self.work = OptionRuns(question)
        self.points = PointCache[PlanCandidate, Run](ends)
        self.known: dict[PlanCandidate, TrialEvidence] = {}
        self.asked: set[Option] = set()
        self.settled: list[SearchedSeries] = []
        self.chains_known = 0
        self.best: Option | None = None
        self.complete = False

    @property
    def bar(self) -> float:
        """The cost of the cheapest option that keeps, so far; none where each chain has its own answer."""
        if self.best is None or self.question.spec.group is not None:
            return math.inf
        return self.question.cost(self.best)

    def follow(self, tell: Tell) -> None:
        """From now on call ``tell`` with what goes on, and a guess of the share that is done.

        Nobody knows how many looks it takes: each fills a fifth of what is left, of a search up to the next
        chain that is settled.
        """
        self._tell, self._left, self._now = tell, 1.0, ""

    def _known(self, text: str) -> None:
        self._now = text
        self._tell(1 - self._left, text)

    def _ran(self, ended: int, of: int) -> None:
        self._tell(1 - self._left * (1 - ended / of / 5), f"{self._now}, run {min(ended + 1, of)} of {of}")
        self._left *= 0.8 if ended == of else 1.0

    def _settle(self, chain: OfferSeries, found: int | None) -> None:
        self.settled.append(SearchedSeries(chain, found))
        self._left = 1.0

    def guess_closer(self) -> None:
        """Guess the counts again, by jobs walked among random waits: that takes seconds for each chain."""
        for place, chain in enumerate(self.pure):
            self._known(f"Predicting {self.servers(PlanCandidate(chain.option(chain.guess), MILLE))}")
            self.pure[place] = replace(chain, guess=simulated_guess(self.question, chain, self.check))

    def search(self) -> None:
        """Find the cheapest option that keeps, first of one offer, then of two."""
        self._run(self.pure)
        if self.question.spec.mixed and len(self.question.offers) > 1 and self.question.spec.group is None:
            if self.best is None:  # perhaps there are too few servers of each offer alone
                self._run(self.chains.mixed(math.inf))
            if self.best is not None:
                self._run(self.chains.mixed(self.bar))
        self.complete = True

    def of(self, option: Option) -> TrialEvidence:
        """Return the evidence on an option with its present traffic."""
        return self.known.get(PlanCandidate(option, MILLE), TrialEvidence())

    def judged(self, option: Option) -> TrialEvidence:
        """Return the evidence on an option and on its remains after failures that it must survive."""
        own = self._bounded(option)
        rests = [
            (loss.text, self._bounded(loss.rest))
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

    def enough(self, option: Option) -> bool:
        """Return whether an option keeps; where one group grows an open one counts by what is likelier."""
        evidence = self.judged(option)
        counts = self.question.spec.group is not None and evidence.likely and not self.undecided(option)
        return evidence.verdict == "keeps" or counts

    def undecided(self, option: Option, most: int | None = None) -> list[PlanCandidate]:
        """List the trials that the verdict on an option, with its failures, still needs."""
        if self.judged(option).verdict == "misses":
            return []
        survived = [loss.rest for loss in losses(self.question, option, self.question.spec.survive)]
        return [PlanCandidate(o, MILLE) for o in (option, *survived) if not self.decided(self.of(o), most)]

    def _bounded(self, option: Option) -> TrialEvidence:
        """Return the evidence on an option, which bounds may rule out before anything else."""
        if not option.used:
            return TrialEvidence(verdict="misses", by="load", reason="no server is left")
        trial = PlanCandidate(option, MILLE)
        if trial not in self.known and (excluded := self.bounds.excluded(option)) is not None:
            self.known[trial] = ruled_out(excluded)
        return self.of(option)

    def _run(self, chains: Iterable[OfferSeries]) -> None:
        every_chain = tuple(chains)
        self.chains_known += len(every_chain)
        waiting = iter(every_chain)
        lanes: list[SeriesSearch] = []
        while True:
            lanes += self._started(waiting, LANES - len(lanes))
            if not lanes:
                return
            self.look(t for lane in lanes for t in self.undecided(lane.chain.option(lane.wanted)))
            lanes = [lane for lane in lanes if self._stepped(lane)]

    def _started(self, waiting: Iterator[OfferSeries], room: int) -> list[SeriesSearch]:
        """Up to ``room`` more chains whose first count needs a simulation."""
        lanes: list[SeriesSearch] = []
        while len(lanes) < room:
            chain = next(waiting, None)
            if chain is None:
                break
            lane = self._lane(chain)
            if lane is not None:
                lanes.append(lane)
        return lanes

    def _lane(self, chain: OfferSeries) -> SeriesSearch | None:
        top = self.chains.below(chain, self.bar)
        if chain.low >= chain.most:
            self._rule_out(chain)
            self._settle(chain, None)
            return None
        if chain.low:
            self._rule_out(chain)
        start = max(chain.low + 1, min(chain.guess, top))
        search = smallest_count(chain.most, start, low=chain.low, beside=self._beside(chain))
        lane = SeriesSearch(
            chain, search if self.question.spec.group is not None else self._confirmed(chain, search)
        )
        lane.wanted = next(lane.search)
        return lane if self._needs_simulation(lane) else None

    def _beside(self, chain: OfferSeries) -> int:
        """Count that are looked at on both sides of a chain's own answer, if its scheduler sees queues."""
        question = self.question
        drawn = question.ways[chain.base.scheduler].scheduler.name in DRAWN
        return 0 if question.spec.group is None or question.times != "stated" or drawn else BESIDE

    def _confirmed(self, chain: OfferSeries, search: Search) -> Search:
        """Search, then try the counts below the result until one misses: open ones prove nothing."""
        fewest = yield from search  # where not even the most servers keep, fewer are taken not to keep either
        for count in range((fewest or 1) - 1, chain.low, -1):
            if self.judged(chain.option(count)).verdict == "open":
                yield count
            if self.judged(chain.option(count)).verdict == "misses":
                break
        return fewest

    def _rule_out(self, chain: OfferSeries) -> None:
        option = chain.option(min(chain.low, chain.most))
        excluded = self.bounds.excluded(option)
        if excluded is not None and chain.base.counts == self.question.stay:
            self.known[PlanCandidate(option, MILLE)] = ruled_out(excluded)
            self.asked.add(option)

    def _stepped(self, lane: SeriesSearch) -> bool:
        """Return whether a lane still needs simulations; note the cheapest option that keeps."""
        option = lane.chain.option(lane.wanted)
        better = self.best is None or self._order(option) < self._order(self.best)
        if better and self.enough(option):
            self.best = option
        return self._needs_simulation(lane)

    def _order(self, option: Option) -> tuple[float, int]:
        return self.question.cost(option), sum(option.counts)

    def _needs_simulation(self, lane: SeriesSearch) -> bool:
        """Return whether the lane's next count must be simulated; counts that need not be are answered here.

        A count that costs as much as the cheapest that keeps counts as kept: the search then ends below it.
        """
        while True:
            option = lane.chain.option(lane.wanted)
            if self.question.cost(option) >= self.bar * (1 - CLOSE):
                answer = True
            else:
                self.asked.add(option)
                if self.undecided(option):
                    return True
                answer = self.enough(option)
            if not self._advanced(lane, answer):
                return False

    def _advanced(self, lane: SeriesSearch, answer: bool) -> bool:
        """Send a count's answer to the lane's search; return whether it wants another one."""
        try:
            lane.wanted = lane.search.send(answer)
        except StopIteration as end:
            self._settle(lane.chain, end.value)
            return False
        return True

    def decided(self, evidence: TrialEvidence, most: int | None = None) -> bool:
        """Return whether a verdict stands, or no more looks are allowed or of use."""
        looks = looks_within(most or self.question.spec.replications)
        return evidence.verdict != "open" or evidence.hopeless or evidence.looks >= looks

    def look(self, trials: Iterable[PlanCandidate]) -> None:
        """One more look at each of these trials, all in parallel."""
        chosen = list(dict.fromkeys(trials))
        for first in chosen[:1]:
            self._known(f"Simulating {self.servers(first)}")
        wanted = {t: replications_at(self.known.get(t, TrialEvidence()).looks + 1) for t in chosen}
        self.points.extend(wanted, self._simulated)
        for trial in chosen:
            after = looked_at(self.question, self.known.get(trial, TrialEvidence()), self.points.runs(trial))
            self.known[trial] = with_runs_long_enough(self.bounds, trial.option, trial.load, after)
            self._known(self.text(trial))

    def _simulated(self, missing: Sequence[Missing[PlanCandidate]]) -> list[tuple[Run, ...]]:
        """Quarters of four replications, all in parallel."""
        numbers = [self.work.numbering.number(m.at) for m in missing]
        parts = [range(m.first // FIRST, (m.first + m.count) // FIRST) for m in missing]
        keys: list[Key] = [(n, part) for n, of in zip(numbers, parts, strict=True) for part in of]
        shares: dict[Key, float] = {}

        def heard(key: Key, ended: Ended) -> None:
            self.check()
            if shares.get(key) != ended.fraction:
                shares[key] = ended.fraction
                self._ran(int(FIRST * sum(shares.values())), FIRST * len(keys))

        done = run_work(self.work, keys, RunListener(heard), 1, self.pool)
        self._ran(FIRST * len(keys), FIRST * len(keys))
        return [
            tuple(run for part in of for run in done[n, part]) for n, of in zip(numbers, parts, strict=True)
        ]

    def text(self, trial: PlanCandidate) -> str:
        """Return the state of a candidate in words: its servers, its verdict and its number of runs."""
        evidence = self.known[trial]
        return f"{self.servers(trial)}: {evidence.verdict} after {len(evidence.seen)} runs"

    def servers(self, trial: PlanCandidate) -> str:
        """Return the servers of a candidate in words."""
        counts = enumerate(trial.option.counts)
        servers = " + ".join(f"{n} × {self.question.offers[k].text}" for k, n in counts if n)
        load = "" if trial.load == MILLE else f", {trial.load / MILLE:g} × the traffic"
        return f"{servers}, {self.question.ways[trial.option.scheduler].text}{load}"

    def all_known(self) -> Iterator[tuple[Option, TrialEvidence]]:
        """Yield the options of which something is known with the traffic as it is, the cheapest first.

        Where failures must be survived, those that were only looked at as the rest of another are left out.
        """
        pairs = ((t.option, k) for t, k in self.known.items() if t.load == MILLE)
        if self.question.spec.survive != "nothing":
            pairs = ((o, self.judged(o)) for o in self.asked)
        yield from sorted(pairs, key=lambda pair: (self.question.cost(pair[0]), pair[0]))
