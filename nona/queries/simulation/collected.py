"""Records of a run's jobs: one by one, or added up with a quantile sketch.

Jobs lie in blocks of consecutive numbers. A block is folded into the sums, and dropped, once all
before it are folded and nothing more can change it. So the outcome does not depend on the pieces in
which arrivals and completions come, and memory grows with what is recorded and what is in flight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import SimulationError
from nona.queries.simulation.sizes import RunSize
from nona.queries.system import System

RELATIVE_ERROR = 0.005
_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA = math.log(_GAMMA)


@dataclass(frozen=True, eq=False)
class QuantileSketch:
    """Counts of values in buckets whose borders grow by a constant factor.

    Bucket i counts the values in (γ^(i−1), γ^i], γ = (1+α)/(1−α), α = :data:`RELATIVE_ERROR`, and
    stands for 2γ^i/(γ+1): no value in it is further away than α times itself. So every order
    statistic is known to a relative error of α, and so is every mean of two of them.

    ``zeros``: how many values were 0. ``low``: number of the first bucket in ``counts``. ``counts`` (K,):
    values in buckets ``low`` … ``low + K − 1``.

    >>> sketch = QuantileSketch().added([0.0, 1.0, 2.0]).merged(QuantileSketch().added([3.0, 4.0]))
    >>> sketch.count, abs(sketch.quantile(0.5) - 2.0) <= 0.005 * 2.0
    (5, True)

    Source: Masson, Rim and Lee, DDSketch: a fast and fully-mergeable quantile sketch with
    relative-error guarantees, VLDB 2019, section 2.
    """

    zeros: int = 0
    low: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def count(self) -> int:
        """The number of values."""
        return self.zeros + int(self.counts.sum())

    def added(self, values: ArrayLike) -> QuantileSketch:
        """Return this sketch with more values, which must be finite and at least 0."""
        x = np.asarray(values, dtype=float).ravel()
        positive = x[x > 0]
        if not len(positive):
            return QuantileSketch(self.zeros + len(x), self.low, self.counts)
        place = np.ceil(np.log(positive) / _LOG_GAMMA).astype(np.int64)
        low = int(place.min())
        return self.merged(QuantileSketch(len(x) - len(positive), low, np.bincount(place - low)))

    def merged(self, other: QuantileSketch) -> QuantileSketch:
        """Return the sketch of the values of both: exactly what one sketch of all would be."""
        parts = [s for s in (self, other) if len(s.counts)]
        if not parts:
            return QuantileSketch(self.zeros + other.zeros)
        low = min(s.low for s in parts)
        counts = np.zeros(max(s.low + len(s.counts) for s in parts) - low, dtype=np.int64)
        for s in parts:
            counts[s.low - low : s.low - low + len(s.counts)] += s.counts
        return QuantileSketch(self.zeros + other.zeros, low, counts)

    def quantile(self, p: float) -> float:
        """Return the ``p``-quantile, 0 ≤ p ≤ 1, to :data:`RELATIVE_ERROR`; ``nan`` without values.

        Linear between order statistics as in :func:`~nona.core.statistics.percentile`.
        """
        n = self.count
        if n == 0:
            return math.nan
        h = p * (n - 1)
        low = math.floor(h)
        return self._ordered(low) * (1 - (h - low)) + self._ordered(min(low + 1, n - 1)) * (h - low)

    def above(self, value: float) -> int:
        """Count the values above ``value``, to :data:`RELATIVE_ERROR`: those in later buckets.

        >>> QuantileSketch().added([1.0, 2.0, 4.0]).above(2.0)
        1
        """
        if value <= 0:
            return self.count - self.zeros if value == 0 else self.count
        place = math.ceil(math.log(value) / _LOG_GAMMA) - self.low
        return int(self.counts[max(place + 1, 0) :].sum())

    def _ordered(self, rank: int) -> float:
        """Estimate of the value with ``rank`` smaller or equal ones before it."""
        if rank < self.zeros:
            return 0.0
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank - self.zeros, side="right"))
        return 2 * math.exp((self.low + bucket) * _LOG_GAMMA) / (_GAMMA + 1)


# What a job completion time consists of, in the order of every array of parts.
# Waits at servers are split: while the executor runs another task of the same job, while it stands idle until
# the batch is large or old enough, and all others.
PARTS = ("compute", "transfer", "link_wait", "server_wait", "own_wait", "fill_wait")
ROUNDING = 1e-7  # relative: what a completion time may be off, as a difference of two late instants


@dataclass(frozen=True, eq=False)
class JobSums:
    """Sums by query class, each of length Q (parts: Q × 6), over the measured jobs.

    ``arrived`` and ``completed`` count jobs; ``hits`` those within their SLO (0 without one);
    ``total_s`` and ``squares_s2`` are Σ JCT and Σ JCT² of the completed ones, ``parts_s`` the sums
    of their :data:`PARTS`, ``sketches`` their distributions.
    """

    arrived: Ints
    completed: Ints
    hits: Ints
    total_s: Floats
    squares_s2: Floats
    parts_s: Floats
    sketches: tuple[QuantileSketch, ...]

    @staticmethod
    def empty(classes: int) -> JobSums:
        """Return the tally of no jobs.

        >>> JobSums.empty(2).mean_s.tolist()
        [nan, nan]
        """
        whole = np.zeros(classes, dtype=np.int64)
        real = np.zeros(classes)
        none = (QuantileSketch(),) * classes
        return JobSums(whole, whole, whole, real, real, np.zeros((classes, len(PARTS))), none)

    @property
    def mean_s(self) -> Floats:
        """(Q,) Mean JCT of each class; ``nan`` where no job is complete."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.total_s / self.completed
        return mean

    @property
    def mean_parts_s(self) -> Floats:
        """(Q, 5) Mean parts of each class; ``nan`` where no job is complete."""
        with np.errstate(invalid="ignore"):
            mean: Floats = self.parts_s / self.completed[:, None]
        return mean

    def sketch(self) -> QuantileSketch:
        """Return the distribution of the JCT of all classes together."""
        total = QuantileSketch()
        for one in self.sketches:
            total = total.merged(one)
        return total

    def merged(self, other: JobSums) -> JobSums:
        """Return the sums of both."""
        return JobSums(
            self.arrived + other.arrived,
            self.completed + other.completed,
            self.hits + other.hits,
            self.total_s + other.total_s,
            self.squares_s2 + other.squares_s2,
            self.parts_s + other.parts_s,
            tuple(a.merged(b) for a, b in zip(self.sketches, other.sketches, strict=True)),
        )


def in_time(times_s: Floats, bound_s: float | Floats) -> Bools:
    """Return, by time, whether it is at most the bound; none is late by rounding alone.

    >>> took_s = np.array([3.12, 3.121]) - 3.1
    >>> (took_s <= 0.02).tolist(), in_time(took_s, 0.02).tolist()
    ([False, False], [True, False])
    """
    within: Bools = times_s <= bound_s * (1 + ROUNDING)
    return within


def over_bound(times_s: Floats, bound_s: Floats) -> Floats:
    """Return times of jobs over their bounds: above 1 where :func:`in_time` fails, ``inf`` if unfinished.

    Jobs without a bound (``nan``) are left out.

    >>> over_bound(np.array([1.0, np.nan, 3.0]), np.array([np.nan, 2.0, 2.0])).round(3).tolist()
    [inf, 1.5]
    """
    asked = ~np.isnan(bound_s)
    return np.nan_to_num(times_s[asked] / (bound_s[asked] * (1 + ROUNDING)), nan=np.inf, posinf=np.inf)


def tally_of(query: Ints, jct_s: Floats, parts_s: Floats, slo_s: Sequence[float | None]) -> JobSums:
    """Return the tally of jobs given one by one.

    ``query``, ``jct_s`` (n,): class and completion time of each; ``nan`` where it is not complete.
    ``parts_s`` (n, 6): parts of the completion times.
    ``slo_s``: of each class, or none.

    >>> t = tally_of(np.array([0, 0]), np.array([1.0, np.nan]), np.zeros((2, 6)), [1.0])
    >>> t.arrived.tolist(), t.completed.tolist(), t.hits.tolist()
    ([2], [1], [1])
    """
    classes = len(slo_s)
    limit = np.array([-np.inf if s is None else s for s in slo_s])
    done = ~np.isnan(jct_s)
    of, jct, parts = query[done], jct_s[done], parts_s[done]

    def count(values: Ints) -> Ints:
        return np.bincount(values, minlength=classes).astype(np.int64)

    def total(weights: Floats) -> Floats:
        return np.bincount(of, weights=weights, minlength=classes).astype(np.float64)

    return JobSums(
        arrived=count(query),
        completed=count(of),
        hits=count(of[in_time(jct, limit[of])]),
        total_s=total(jct),
        squares_s2=total(jct * jct),
        parts_s=np.stack([total(parts[:, k]) for k in range(len(PARTS))], axis=1),
        sketches=tuple(QuantileSketch().added(jct[of == q]) for q in range(classes)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Busy:
    """Shares of the time so far, from the empty start on, that each executor and each link was busy.

    Background included; both are empty where that was not told.
    """

    executors: Floats
    links: Floats

    @property
    def known(self) -> bool:
        """True where shares were reported."""
        return len(self.executors) > 0


UNKNOWN = Busy(np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The progress of a run.

    The share of its jobs that have left, measured jobs that left since the last call, and loads; ``waiting``
    (Q,): measured jobs that are there.
    """

    fraction: float
    query: Ints
    arrival_s: Floats
    completion_s: Floats
    busy: Busy = UNKNOWN
    waiting: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def busy_shares(executor_busy_s: Floats, link_busy_s: Floats, now_s: float) -> Busy:
    """Shares of the time up to ``now_s`` that executors and links were busy.

    >>> busy_shares(np.array([1.0, 3.0]), np.array([0.5]), 4.0).executors.tolist()
    [0.25, 0.75]
    """
    return UNKNOWN if now_s <= 0 else Busy(executor_busy_s / now_s, link_busy_s / now_s)


OnProgress = Callable[[RunProgress], None]


@dataclass(frozen=True, eq=False)
class Collected:
    """The outcome.

    ``first``, ``jobs``, ``every``: number of the first measured job, how many are measured; every how manyth
        is recorded.
    ``query``, ``arrival_s``, ``completion_s`` (M,): the recorded jobs, in order of arrival; ``nan`` where
        unfinished.
    ``parts_s`` (M, 6): their parts, in the order of :data:`~nona.queries.simulation.collected.PARTS`; ``nan``
        where unfinished.
    ``tally``: sums over all measured jobs.
    ``arrived``, ``left``, ``filled``: jobs of the whole run; those that left, counted
        one by one; jobs that have an instant at which they left.
    ``early``: those that left before their arrival: 0 unless something is wrong.
    ``inside_s``: Σ |[arrival, instant of leaving] ∩ window| over all jobs.
    ``window_s``: arrival of the first and of the last measured job.
    ``traced``, ``traced_arrival_s`` (K,): numbers and arrivals of the jobs whose intervals are recorded.
    """

    first: int
    jobs: int
    every: int
    query: Ints
    arrival_s: Floats
    completion_s: Floats
    parts_s: Floats
    tally: JobSums
    arrived: int
    left: int
    filled: int
    early: int
    inside_s: float
    window_s: tuple[float, float]
    traced: Ints
    traced_arrival_s: Floats


BLOCK = 4096


class _Block:
    """``BLOCK`` consecutive jobs, of which ``arrived`` are there and ``done`` complete."""

    __slots__ = ("arrival_s", "arrived", "completion_s", "done", "latest_s", "parts_s", "query")

    def __init__(self) -> None:
        self.query = np.zeros(BLOCK, dtype=np.int64)
        self.arrival_s = np.zeros(BLOCK)
        self.completion_s = np.full(BLOCK, math.nan)
        self.parts_s = np.full((BLOCK, len(PARTS)), math.nan)
        self.arrived = self.done = 0
        self.latest_s = -math.inf


class JobCollector:
    """Takes the jobs of one run; ``watched``: :meth:`progress` will be asked for.

    ``blocks`` holds what is not folded yet, by number of the block.
    """

    def __init__(self, system: System, size: RunSize, watched: bool = False) -> None:
        self.size, self.slo_s = size, [q.slo_s for q in system.queries]
        self.blocks: dict[int, _Block] = {}
        self._folded = 0
        self._watched = watched
        self._fresh: list[tuple[Ints, Floats, Floats]] = []
        self._arrived = self._left = self._measured = self._filled = self._early = 0
        self._latest_arrival_s = -math.inf
        self._waiting = np.zeros(len(self.slo_s), dtype=np.int64)
        self._window = [math.inf, math.inf]
        self._inside_s = 0.0
        self._tally = JobSums.empty(len(self.slo_s))
        self.every = -(-size.jobs // size.record_jobs)
        rows = -(-size.jobs // self.every)
        self._query = np.zeros(rows, dtype=np.int64)
        self._arrival_s, self._completion_s = np.full(rows, math.nan), np.full(rows, math.nan)
        self._parts_s = np.full((rows, len(PARTS)), math.nan)
        self._traced = size.traced()
        self._traced_arrival_s = np.full(len(self._traced), math.nan)

    def arrivals(self, first_number: int, query: Ints, arrival_s: Floats) -> None:
        """Jobs ``first_number``, ``first_number + 1``, … have arrived, in this order.

        Raises ``SimulationError`` when a number is left out or comes twice.
        """
        if first_number != self._arrived:
            raise SimulationError(
                f"Collector: arrivals from job {first_number} must continue from job {self._arrived}; hand "
                "over each job once, in order."
            )
        at = 0
        while at < len(query):
            number, place = divmod(self._arrived, BLOCK)
            block = self.blocks[number] if place else self._new(number)
            n = min(BLOCK - place, len(query) - at)
            block.query[place : place + n] = query[at : at + n]
            block.arrival_s[place : place + n] = arrival_s[at : at + n]
            block.arrived += n
            self._arrived += n
            at += n
        if len(query):
            measured = query[self._is_measured(first_number + np.arange(len(query)))]
            self._waiting += np.bincount(measured, minlength=len(self._waiting))
            self._note_window(first_number, arrival_s)
            self._latest_arrival_s = float(arrival_s[-1])
        self._fold_what_is_ready()

    def _new(self, number: int) -> _Block:
        self.blocks[number] = block = _Block()
        return block

    def _note_window(self, first_number: int, arrival_s: Floats) -> None:
        for k, number in enumerate((self.size.first, self.size.last)):
            if first_number <= number < first_number + len(arrival_s):
                self._window[k] = float(arrival_s[number - first_number])

    def completions(self, number: Ints, completion_s: Floats, parts_s: Floats) -> None:
        """Jobs leave, each after its arrival was handed over.

        ``parts_s`` is (n, 6).

        Raises ``SimulationError`` for a job that has not arrived, or was complete before.
        """
        blocks = number // BLOCK
        for b in np.unique(blocks).tolist():
            mine = blocks == b
            place = number[mine] - b * BLOCK
            block = self.blocks.get(b)
            if block is None or place.max() >= block.arrived or block.done + len(place) > BLOCK:
                raise SimulationError(
                    f"Collector: a job from {b * BLOCK} on is complete before its arrival was handed over, "
                    "or twice; hand over each job once."
                )
            block.completion_s[place] = completion_s[mine]
            block.parts_s[place] = parts_s[mine]
            block.done += len(place)
            block.latest_s = max(block.latest_s, float(completion_s[mine].max()))
            self._note_fresh(block, b, place)
        self._left += len(number)
        self._fold_what_is_ready()

    def _note_fresh(self, block: _Block, b: int, place: Ints) -> None:
        measured = place[self._is_measured(place + b * BLOCK)]
        self._measured += len(measured)
        self._waiting -= np.bincount(block.query[measured], minlength=len(self._waiting))
        if self._watched and len(measured):
            of = block.query[measured], block.arrival_s[measured], block.completion_s[measured]
            self._fresh.append(of)

    def _is_measured(self, number: Ints) -> Bools:
        measured: Bools = (number >= self.size.first) & (number <= self.size.last)
        return measured

    def progress(self, busy: Busy = UNKNOWN) -> RunProgress:
        """Return the progress of the run, with the measured jobs completed since the last call."""
        size, fresh = self.size, self._fresh
        self._fresh = []
        share = (min(size.first, self._left) + self._measured) / (size.first + size.jobs)
        empty = (np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
        query, arrival_s, completion_s = (np.concatenate(c) for c in zip(empty, *fresh, strict=True))
        return RunProgress(min(1.0, share), query, arrival_s, completion_s, busy, self._waiting.copy())

    def _fold_what_is_ready(self) -> None:
        """Fold the blocks that nothing can change, not even where the window begins and ends."""
        while (block := self.blocks.get(self._folded)) is not None and block.done == BLOCK:
            if self._window[1] == math.inf and block.latest_s > self._latest_arrival_s:
                return
            self._fold(block)

    def _fold(self, block: _Block) -> None:
        base, n = self._folded * BLOCK, block.arrived
        arrival_s, completion_s = block.arrival_s[:n], block.completion_s[:n]
        leaves = np.where(np.isnan(completion_s), np.inf, completion_s)
        inside = np.minimum(leaves, self._window[1]) - np.maximum(arrival_s, self._window[0])
        self._inside_s += float(np.sum(inside[inside > 0]))
        self._filled += int(np.count_nonzero(~np.isnan(completion_s)))
        self._early += int(np.count_nonzero(completion_s < arrival_s))
        low, high = max(self.size.first - base, 0), min(self.size.last + 1 - base, n)
        if low < high:
            self._record(block, base, low, high)
        del self.blocks[self._folded]
        self._folded += 1

    def _record(self, block: _Block, base: int, low: int, high: int) -> None:
        """Rows ``low`` to ``high`` of the block are measured: add them up, keep every k-th."""
        query, arrival_s = block.query[low:high], block.arrival_s[low:high]
        completion_s, parts_s = block.completion_s[low:high], block.parts_s[low:high]
        tally = tally_of(query, completion_s - arrival_s, parts_s, self.slo_s)
        self._tally = self._tally.merged(tally)
        offset = base + low - self.size.first
        begin = -offset % self.every
        rows = slice((offset + begin) // self.every, (offset + high - low - 1) // self.every + 1)
        self._query[rows] = query[begin :: self.every]
        self._arrival_s[rows] = arrival_s[begin :: self.every]
        self._completion_s[rows] = completion_s[begin :: self.every]
        self._parts_s[rows] = parts_s[begin :: self.every]
        begin, end = np.searchsorted(self._traced, [base + low, base + high])
        self._traced_arrival_s[begin:end] = block.arrival_s[self._traced[begin:end] - base]

    def finish(self) -> Collected:
        """Fold the rest; the run must have reached the last measured arrival."""
        while self._folded in self.blocks:
            self._fold(self.blocks[self._folded])
        return Collected(
            first=self.size.first,
            jobs=self.size.jobs,
            every=self.every,
            query=self._query,
            arrival_s=self._arrival_s,
            completion_s=self._completion_s,
            parts_s=self._parts_s,
            tally=self._tally,
            arrived=self._arrived,
            left=self._left,
            filled=self._filled,
            early=self._early,
            inside_s=self._inside_s,
            window_s=(self._window[0], self._window[1]),
            traced=self._traced,
            traced_arrival_s=self._traced_arrival_s,
        )
