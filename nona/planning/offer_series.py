"""Series of options: what rules one out, the predicted order, counts of one offer.

Load: with p_c(v) the seconds of task v on class c, n_c executors of class c and background ρ₀, any weights
w ≥ 0 give a bound. Of the work x_c(v) ≥ 0 that is done on class c,

    Σ_j λ_j Σ_v min_c w_c p_c(v)  ≤  Σ_c w_c · (seconds of class c in use)  ≤  Σ_c w_c n_c (1 − ρ₀),

so that the left divided by the right must be below 1. Two weights are tried: equal ones, and 1/(seconds of
all work on class c), which count every class by its speed. Idle time: a job takes at least its longest chain
of tasks on the fastest class. Memory: some class must hold the weights of each model.

A cluster is taken for one line before all its executors (schedulers that look at queues), or for one line
before each (those that draw). With c executors, load ρ, and mean m and squared variation v of a job's
seconds, a job waits longer than t with probability

    C(c, cρ) · exp(−2 c (1−ρ) t / (m (1+v))),

C by Erlang: exact for M/M/c, and for others scaled as Lee and Longton do. A target with bound b is then kept
for the share of jobs whose wait is at most b less their own time: the longest chain of tasks where a
scheduler splits queries, all tasks else.

Source: Lee and Longton, Queueing processes associated with airline passenger check-in, Operational Research
Quarterly 10, 1959.

Along a series only the count of one offer grows, so its options can be halved to the least that keeps. A pure
series has one offer. A mixed series has a fixed number of servers of a slower offer beside those of a faster
one: more of the faster are taken to do no harm, which more of the slower might.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.count_search import edge, halfway, run_search, smallest_count
from nona.core.errors import PlacementError
from nona.core.queueing import erlang_c
from nona.core.units import format_number, format_size, format_time
from nona.planning.offers import Option
from nona.planning.question import MILLE, PlanQuestion
from nona.planning.results import By
from nona.queries.placement.capacity import check_feasible
from nona.queries.placement.fixed import local_placement, spread_placement
from nona.queries.placement.result import Placement
from nona.queries.schedulers.sampling import NONA
from nona.queries.schedulers.sampling_tables import build_tables
from nona.queries.simulation.collected import ROUNDING, in_time
from nona.queries.simulation.run import RunOptions, job_times
from nona.queries.system import QueryClass, System
from nona.queries.workflows.cache import PreparationCache
from nona.queries.workflows.placements import place
from nona.queries.workflows.preparation import BatchMemoryError, check_counted
from nona.scenario.plan import BatchOfferSpec


@dataclass(frozen=True, slots=True)
class ExcludedOption:
    """Reason for which an option needs no simulation."""

    by: By
    reason: str


class Bounds:
    """Bounds for the options of a question, from one cluster that has one server of every offer."""

    def __init__(self, question: PlanQuestion, cache: PreparationCache | None = None) -> None:
        self.question = question
        self._systems: dict[BatchOfferSpec | None, System] = {}
        self._too_large: dict[BatchOfferSpec | None, str] = {}
        for number, planned in enumerate(question.schedulers):
            if planned.batches not in self._systems and planned.batches not in self._too_large:
                one = Option((1,) * len(question.offers), number)
                try:
                    prepared = question.prepared_of(one, cache=cache)
                except BatchMemoryError as error:
                    self._too_large[planned.batches] = str(error).removesuffix(".")
                    if len(self._too_large) == len({w.batches for w in question.schedulers}):
                        raise  # all that are on offer
                    continue
                check_counted(prepared)
                self._systems[planned.batches] = prepared.system
        self.system: System = next(iter(self._systems.values()))
        self._systems |= dict.fromkeys(self._too_large, self.system)
        classes = len(self.system.class_names)
        self.executors = np.zeros((len(question.offers), classes), dtype=np.int64)
        """(offers, classes) Executors of each class on a server of each offer."""
        np.add.at(self.executors, (self.system.executor_server, self.system.executor_class), 1)
        self.rates: Floats = np.array([q.rate for q in self.system.queries])
        self._work = {
            batches: np.array([q.load_s.sum(axis=1) for q in system.queries])
            for batches, system in self._systems.items()
        }
        self.series: Floats = np.array(
            [
                [q.tasks.dag.critical_path(q.tasks.compute_s[c].tolist())[0] for c in range(classes)]
                for q in self.system.queries
            ]
        )
        """(models, classes) Seconds of the longest chain of tasks."""
        stream = self.system.background_compute
        self.background = stream.rate * stream.mean

    def system_of(self, option: Option) -> System:
        """One server of every offer, with the batches of an option."""
        return self._systems[self.question.schedulers[option.scheduler].batches]

    def work(self, option: Option) -> Floats:
        """(models, classes) Seconds that all tasks of a job take of executors, in full batches."""
        return self._work[self.question.schedulers[option.scheduler].batches]

    def classes(self, option: Option) -> Ints:
        """(classes,) Executors of each class that an option has."""
        counts: Ints = np.array(option.counts) @ self.executors
        return counts

    def load(self, option: Option) -> float:
        """Return the least utilisation that any scheduler can reach; from 1 on there is no steady state."""
        counts = self.classes(option)
        used = np.flatnonzero(counts)
        speed = 1 / (self.rates @ self.work(option))[used]
        queries = self.system_of(option).queries
        return max(self._load(queries, counts, used, w) for w in (np.ones(len(used)), speed))

    def full_at(self, option: Option) -> float | None:
        """Return the factor on the traffic that loads the executors to their capacity.

        ``None`` where none does.
        """
        busy = self.load(option) - self.background
        return (1 - self.background) / busy if busy > 0 else None

    def _load(
        self,
        queries: Sequence[QueryClass],
        counts: Ints,
        used: Ints,
        weights: Floats,
    ) -> float:
        done = sum(q.rate * float((weights[:, None] * q.load_s[used]).min(axis=0).sum()) for q in queries)
        return self.background + done / float(weights @ counts[used])

    def excluded(self, option: Option, load: int = MILLE) -> ExcludedOption | None:
        """Find why an option misses at ``load`` thousandths of the traffic; ``None`` if it may keep."""
        used = np.flatnonzero(self.classes(option)).tolist()
        if (why := self._too_large.get(self.question.schedulers[option.scheduler].batches)) is not None:
            return ExcludedOption("memory", why)
        excluded = self._memory(self.system_of(option), used) or self._idle(used)
        if excluded is not None:
            return excluded
        lowest = self.background + (self.load(option) - self.background) * load / MILLE
        if lowest >= 1:
            return ExcludedOption(
                "load", f"the executors are loaded to at least {format_number(100 * lowest)} %"
            )
        return None

    def _idle(self, used: Sequence[int]) -> ExcludedOption | None:
        names = self.question.scenario.labels
        for target in self.question.targets:
            query = self.system.queries[target.model]
            chain_s = float(
                query.tasks.dag.critical_path(query.tasks.compute_s[used].min(axis=0).tolist())[0]
            )
            if query.service_scv == 0 and chain_s > target.bound_s * (1 + ROUNDING):
                return ExcludedOption(
                    "idle",
                    f"{names[target.model]} takes at least {format_time(chain_s, 4)} of the "
                    f"{format_time(target.bound_s, 4)} even without queueing",
                )
        return None

    def _memory(self, system: System, used: Sequence[int]) -> ExcludedOption | None:
        room = system.class_memory_bytes
        if room is None:
            return None
        most = float(np.asarray(room)[list(used)].max()) * (1 + 1e-12)
        for name, query in zip(self.question.scenario.labels, system.queries, strict=True):
            if query.weight_bytes > most:
                content = (
                    "weights" if query.batching is None else "weights and activations of its largest batch"
                )
                size = format_size(query.weight_bytes)
                return ExcludedOption(
                    "memory", f"{name} has {size} of {content}, an executor {format_size(most)}"
                )
        return None


WHOLE = frozenset({"local", "least-loaded", "least-loaded-d"})  # run all tasks of a job on one executor
DRAWN = frozenset({"nona", "local", "spread", "random"})  # draw servers without a look at queues
MOST_ERLANG = 2000  # executors; with more, no job waits where ρ is clearly below 1


class TargetPrediction:
    """Predicted shares and means of the targets of a question, option by option."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.question = bounds, bounds.question
        stream = bounds.system.background_compute
        self.spread = np.array([q.service_scv for q in bounds.system.queries])
        self.background_rate = stream.rate
        self.background_moment = stream.rate * stream.mean**2 * (1 + stream.scv)

    def margin(self, option: Option, load: int = MILLE) -> float:
        """Return the least predicted share over its target's; from 1 on all are predicted to hold.

        Of a mean: its bound over the predicted mean. 0 without a steady state.
        """
        bounds, name = self.bounds, self.question.schedulers[option.scheduler].scheduler.name
        counts = bounds.classes(option)
        used = np.flatnonzero(counts)
        rates = bounds.rates * load / MILLE
        work = bounds.work(option)
        mean_s = (rates @ work)[used] / rates.sum()  # of a job, by class
        speed = counts[used] / mean_s
        part = speed / speed.sum()  # of the jobs, by class
        executors = float(counts[used].sum())
        busy = rates.sum() * float(part @ (mean_s * part.sum())) / executors
        rho = bounds.background + busy
        if rho >= 1:
            return 0.0
        own = work if name in WHOLE else bounds.series
        whole_s, moment = self._moments(work[:, used], rates, part, executors)
        lines = 1 if name in DRAWN else int(executors)
        waits = erlang_c(lines, lines * rho) if lines <= MOST_ERLANG else 0.0
        decay = 2 * lines * (1 - rho) * whole_s / moment
        margins = []
        for target in self.question.targets:
            if target.share is None:
                margins.append(target.bound_s / float(part @ own[target.model][used] + waits / decay))
                continue
            spare = target.bound_s - own[target.model][used]
            late = np.where(spare < 0, 1.0, waits * np.exp(-decay * np.maximum(spare, 0.0)))
            margins.append(float(1 - part @ late) / target.share)
        return min(margins)

    def _moments(
        self,
        work: Floats,
        rates: Floats,
        part: Floats,
        executors: float,
    ) -> tuple[float, float]:
        """Return the first and second moment of an executor's services: queries, and background."""
        mine = float(rates.sum())
        other = self.background_rate * executors
        first = float(rates @ work @ part) + other * self._background_mean()
        second = float((rates * (1 + self.spread)) @ (work**2) @ part)
        second += self.background_moment * executors
        return first / (mine + other), max(second / (mine + other), 1e-300)

    def _background_mean(self) -> float:
        return self.bounds.background / self.background_rate if self.background_rate else 0.0

    def least_count(self, option: Option, offer: int, low: int, most: int) -> int:
        """Return the least count of ``offer`` predicted to keep, others as in ``option``; else ``most``."""

        def keeps(count: int) -> bool:
            return self.margin(with_count(option, offer, count)) >= 1

        return run_search(smallest_count(most, low, low=low - 1), keeps) or most


def with_count(option: Option, offer: int, count: int) -> Option:
    """Return the option with ``count`` servers of ``offer``.

    >>> with_count(Option((1, 0)), 1, 3).counts
    (1, 3)
    """
    counts = (*option.counts[:offer], count, *option.counts[offer + 1 :])
    return Option(counts, option.scheduler)


CLOSE = 1e-9  # relative: prices this close are equal
SeriesKey = tuple[Option, int]


@dataclass(frozen=True, slots=True)
class OfferSeries:
    """Options with 1 … ``most`` servers of ``offer`` beside ``base``; ``low`` and fewer are ruled out.

    ``guess`` is the least count that is predicted to keep, ``cost`` what that costs per hour.
    """

    base: Option
    offer: int
    low: int
    most: int
    guess: int
    cost: float

    @property
    def key(self) -> SeriesKey:
        """The identity of the series among those of a question."""
        return self.base, self.offer

    def option(self, count: int) -> Option:
        """Return the option with ``count`` servers of the series' offer."""
        return with_count(self.base, self.offer, count)


class SeriesFactory:
    """Makes the series of a question: options in which the count of one offer grows."""

    def __init__(self, bounds: Bounds, prediction: TargetPrediction) -> None:
        self.bounds, self.prediction, self.question = bounds, prediction, bounds.question
        racks = self.question.scenario.cluster.network.racks
        whole = {"nothing": 0, "server": 1, "rack": racks.size if racks else 0}
        self._spare = whole[self.question.spec.survive]  # servers that a failure takes at most

    def pure(self) -> list[OfferSeries]:
        """One series for each growing offer and scheduler, the cheapest by prediction first."""
        question = self.question
        series = [
            self.series(Option(question.fixed_servers, s), k)
            for k in question.growing
            for s in range(len(question.schedulers))
        ]
        return sorted(series, key=lambda c: (c.cost, c.base, c.offer))

    def mixed(self, most_cost: float) -> Iterator[OfferSeries]:
        """Series of two offers that have options below ``most_cost`` which no bound rules out.

        The one with the highest predicted margin at that cost comes first.
        """
        candidates = [
            (-self.prediction.margin(series.option(top)), series.cost, series.base, series)
            for series in self._pairs(most_cost)
            if (top := self.count_below(series, most_cost)) > series.low
        ]
        yield from (series for *_, series in sorted(candidates, key=lambda f: f[:3]))

    def _pairs(self, most_cost: float) -> Iterator[OfferSeries]:
        question = self.question
        speed = self._speeds()
        ranked = sorted(range(len(question.offers)), key=lambda k: (-speed[k], k))
        for i, fast in enumerate(ranked):
            for slow in ranked[i + 1 :]:
                for s in range(len(question.schedulers)):
                    none = Option((0,) * len(question.offers), s)
                    for count in _steps(question.offers[slow].most, most_cost):
                        base = with_count(none, slow, count)
                        if question.cost(base) + question.offers[fast].price >= most_cost:
                            break
                        yield self.series(base, fast)

    def series(self, base: Option, offer: int) -> OfferSeries:
        """Return the series of ``offer`` beside ``base``, with its bound and its guess."""
        most = self.question.offers[offer].most
        low = self._ruled_out(base, offer, most)
        guess = most if low >= most else self.prediction.least_count(base, offer, low + 1, most)
        guess = min(most, guess + self._spare)
        return OfferSeries(base, offer, low, most, guess, self.question.cost(with_count(base, offer, guess)))

    def count_below(self, series: OfferSeries, cost: float) -> int:
        """Return the largest count of a series that is cheaper than ``cost``; 0 where there is none."""
        if not math.isfinite(cost):
            return series.most
        price = self.question.offers[series.offer].price
        rest = cost - self.question.cost(series.base)
        if price <= 0:
            return series.most if rest > 0 else 0
        count = min(series.most, max(0, math.ceil(rest / price * (1 - CLOSE)) - 1))
        while count and self.question.cost(series.option(count)) >= cost * (1 - CLOSE):
            count -= 1
        return count

    def _ruled_out(self, base: Option, offer: int, most: int) -> int:
        """Return the largest count that bounds rule out; they hold for all smaller ones too."""
        if self.bounds.excluded(with_count(base, offer, 1)) is None:
            return 0

        def excluded(count: int) -> bool:
            return self.bounds.excluded(with_count(base, offer, count)) is not None

        last, _ = run_search(edge(1, most + 1, halfway), excluded)
        return last

    def _speeds(self) -> list[float]:
        """Jobs per second of the mix on the quickest executor of each offer."""
        bounds = self.bounds
        first = Option((0,) * len(self.question.offers))
        seconds = bounds.rates @ bounds.work(first) / bounds.rates.sum()
        return [float((1 / seconds)[bounds.executors[k] > 0].max()) for k in range(len(self.question.offers))]


PLACED = {"local": local_placement, "spread": spread_placement}
JOBS, ROUNDS = 4000, 2
_FIRST = 4_000_000  # number of the replication: no other run uses these random numbers


def simulated_guess(question: PlanQuestion, series: OfferSeries, check: Callable[[], None]) -> int:
    """Return a closer guess for a scheduler that draws configurations, by one run a count.

    Else that of the series.

    The placement at the guess is simulated with other counts until the least that keeps is the one for which
    it was found. Where none keeps, the guess is the most.
    """
    name, guess = question.schedulers[series.base.scheduler].scheduler.name, series.guess
    if name not in {"nona", *PLACED}:
        return guess
    cache = PreparationCache()
    for _ in range(ROUNDS):
        prepared = question.prepared_of(series.option(guess), cache=cache)
        try:
            placement = (
                PLACED[name](prepared.system) if name in PLACED else place(prepared, check=check, quick=True)
            )
        except PlacementError:  # the executors are overloaded
            return guess
        keeps = partial(_run_keeps, question, series, placement, cache, check)
        before, guess = (
            guess,
            run_search(smallest_count(series.most, guess, low=series.low), keeps) or series.most,
        )
        if guess == before:
            break
    return guess


def _run_keeps(
    question: PlanQuestion,
    series: OfferSeries,
    placement: Placement,
    cache: PreparationCache,
    check: Callable[[], None],
    count: int,
) -> bool:
    check()
    system = question.prepared_of(series.option(count), cache=cache).system
    try:
        check_feasible(system, placement.class_shares)
    except PlacementError:
        return False
    tables = build_tables(system, placement.queries, shares=placement.class_shares)
    options = RunOptions(jobs=JOBS, replication=_FIRST, tail_jobs=JOBS)
    query, times_s, state = job_times(system, NONA, tables, options)
    if state == "overloaded":
        return False
    return all(
        times_s[query == t.model].mean() <= t.bound_s
        if t.share is None
        else in_time(times_s[query == t.model], t.bound_s).mean() >= t.share
        for t in question.targets
    )


def _steps(most: int, most_cost: float) -> Sequence[int]:
    """Count of the offer that stays: all, or while nothing is known to keep, halves of the largest.

    >>> list(_steps(4, 9.0)), list(_steps(20, math.inf))
    ([1, 2, 3, 4], [1, 2, 5, 10, 20])
    """
    if math.isfinite(most_cost):
        return range(1, most + 1)
    return sorted({max(1, most >> shift) for shift in range(most.bit_length())})
