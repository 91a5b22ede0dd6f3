"""What a run of the engines records: its requests, and sums over the steps of the measured window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Floats, Ints

STEP = np.dtype(
    [
        ("engine", np.int64), ("begin_s", np.float64), ("end_s", np.float64), ("decodes", np.int64),
        ("prefill", np.int64), ("kv", np.int64), ("running", np.int64), ("waiting", np.int64),
    ]
)  # fmt: skip
"""One step of a Gantt chart; ``kv`` are the tokens in the cache."""

BINS_AN_OCTAVE, OCTAVES, LEAST_OCTAVE = 256, 44, -23  # of gaps between tokens: from 0.1 us to 2^20 s
REFUSED = -1


@dataclass(frozen=True, eq=False)
class Requests:
    """The requests of one replication; those of open rows in order of (arrival, row).

    ``arrival_s`` is ``inf`` for those of a closed loop that arrive when another of their row is complete:
    they stand last, row by row. ``inputs`` and ``outputs`` are tokens; ``prefix`` is the number of the prefix
    that it begins with (−1: none), of ``shared`` tokens. ``before_s`` is how long before the query came that
    the request follows, 0 where it follows none.
    """

    arrival_s: Floats
    row: Ints
    inputs: Ints
    outputs: Ints
    prefix: Ints
    shared: Ints
    before_s: Floats

    def __len__(self) -> int:
        return len(self.row)

    def first_of_loops(self, rows: int) -> Ints:
        """(rows,) The first request of each row that waits for another of its row to be complete."""
        later = np.flatnonzero(np.isinf(self.arrival_s))
        return np.array([next(iter(later[self.row[later] == r]), len(self)) for r in range(rows)])


@dataclass(frozen=True, slots=True)
class MeasuredWindow:
    """The measured part: ``jobs`` requests from the ``first`` to arrive, and the first ``steps`` by step."""

    jobs: int
    first: int = 0
    replication: int = 0
    steps: int = 0


class RequestTimes(NamedTuple):
    """By request, as they become known.

    ``arrival_s``, ``first_s``, ``end_s``: ``nan`` where it did not happen; ``rank``: how many arrived before;
    ``engine`` that it was sent to (``REFUSED``: it fits none), ``decoder``: where its KV was sent;
    ``preemptions``; ``sent_s``: how long its KV was on its way; ``max_gap_s``: the longest gap between two of
    its tokens, 0 before the second, and ``gap_end_s``, when it first ended.
    """

    arrival_s: Floats
    first_s: Floats
    end_s: Floats
    sent_s: Floats
    rank: Ints
    engine: Ints
    decoder: Ints
    preemptions: Ints
    max_gap_s: Floats
    gap_end_s: Floats

    @classmethod
    def unknown(cls, requests: int) -> RequestTimes:
        """Return the times of ``requests`` requests that have not arrived: ``nan``, −1 and 0."""
        arrival_s, first_s, end_s, gap_end_s = np.full((4, requests), math.nan)
        rank, engine, decoder = np.full((3, requests), -1, dtype=np.int64)
        preemptions = np.zeros(requests, dtype=np.int64)
        sent_s, max_gap_s = np.zeros((2, requests))
        return cls(
            arrival_s, first_s, end_s, sent_s, rank, engine, decoder, preemptions, max_gap_s, gap_end_s
        )


class Sums(NamedTuple):
    """Sums over the steps that begin within the window, by engine and row where two axes stand.

    ``kv_area`` (E, R): token-seconds in the cache; ``kv_most`` (E, R) and ``kv_peak`` (E,): tokens;
    ``gap_s`` (E, R) and ``gaps`` (E, R, bins): time between two tokens of one request; ``made`` (E, R):
    output tokens; ``steps``, ``prefill``, ``decoded``, ``hits``, ``busy_s``, ``running_area``,
    ``waiting_area`` (E,): steps, prompt tokens and decodes computed, prompt tokens that lay in a prefix,
    seconds at work, request-seconds.
    """

    kv_area: Floats
    kv_most: Ints
    kv_peak: Ints
    gap_s: Floats
    gaps: Ints
    made: Ints
    steps: Ints
    prefill: Ints
    decoded: Ints
    hits: Ints
    busy_s: Floats
    running_area: Floats
    waiting_area: Floats

    @classmethod
    def zero(cls, engines: int, rows: int) -> Sums:
        """Return sums that are all 0."""
        both, bins = (engines, rows), BINS_AN_OCTAVE * OCTAVES
        kv_area, gap_s = np.zeros((2, *both))
        kv_most, made = np.zeros((2, *both), dtype=np.int64)
        busy_s, running_area, waiting_area = np.zeros((3, engines))
        kv_peak, steps, prefill, decoded, hits = np.zeros((5, engines), dtype=np.int64)
        gaps = np.zeros((*both, bins), dtype=np.int64)
        return cls(
            kv_area, kv_most, kv_peak, gap_s, gaps, made,
            steps, prefill, decoded, hits, busy_s, running_area, waiting_area,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RouterReplication:
    """One replication under one router.

    ``begin_s`` and ``over_s`` bound the window; ``steps`` (E, S) are the first steps of each engine in it.
    """

    requests: Requests
    times: RequestTimes
    sums: Sums
    steps: NDArray[np.void]
    window: MeasuredWindow
    begin_s: float
    over_s: float

    def request_times(self, numbers: Ints) -> tuple[Floats, Floats, Floats, Floats]:
        """Return arrival, TTFT, TPOT and E2E of requests, from the arrival of the query that they follow.

        ``nan`` where one is not complete or was refused; TPOT also where it makes one token.
        """
        times, outputs = self.times, self.requests.outputs[numbers]
        arrival_s = times.arrival_s[numbers] - self.requests.before_s[numbers]
        e2e_s = times.end_s[numbers] - arrival_s
        ttft_s = np.where(np.isnan(e2e_s), math.nan, times.first_s[numbers] - arrival_s)
        tpot_s = np.where(outputs > 1, (e2e_s - ttft_s) / np.maximum(outputs - 1, 1), math.nan)
        return arrival_s, ttft_s, tpot_s, e2e_s

    def max_gaps(self, numbers: Ints) -> Floats:
        """Return the longest gap (s) between two tokens of requests; ``nan`` where there is none."""
        complete = ~np.isnan(self.times.end_s[numbers]) & (self.requests.outputs[numbers] > 1)
        return np.where(complete, self.times.max_gap_s[numbers], math.nan)

    @property
    def trace(self) -> NDArray[np.void]:
        """The ``steps`` that there were, one engine after the other."""
        return np.concatenate([of[:n] for of, n in zip(self.steps, self.sums.steps.tolist(), strict=True)])

    @property
    def measured(self) -> Ints:
        """Numbers of the measured requests, in order of arrival."""
        rank = self.times.rank
        numbers = np.flatnonzero((rank >= self.window.first) & (rank < self.window.first + self.window.jobs))
        return numbers[np.argsort(rank[numbers])]


def add_step(
    sums: Sums, steps: Any, e: int, begin_s: float, end_s: float, decodes: int, prefill: int,
    tokens: Ints, running: int, waiting: int, hits: int,
) -> None:  # fmt: skip
    """Add a step of engine ``e`` to the sums, and to ``steps`` (E, S) while there is room.

    ``tokens`` (R,) lie in its cache once the step is over. Both loops call it.
    """
    span_s, total = end_s - begin_s, 0
    for row in range(len(tokens)):
        cached = tokens[row]
        total += cached
        sums.kv_area[e, row] += cached * span_s
        sums.kv_most[e, row] = max(sums.kv_most[e, row], cached)
    sums.kv_peak[e] = max(sums.kv_peak[e], total)
    sums.steps[e] += 1
    sums.decoded[e] += decodes
    sums.prefill[e] += prefill
    sums.hits[e] += hits
    sums.busy_s[e] += span_s
    sums.running_area[e] += running * span_s
    sums.waiting_area[e] += waiting * span_s
    if sums.steps[e] <= steps.shape[1]:
        step = steps[e, sums.steps[e] - 1]
        step["engine"], step["begin_s"], step["end_s"] = e, begin_s, end_s
        step["decodes"], step["prefill"], step["kv"] = decodes, prefill, total
        step["running"], step["waiting"] = running, waiting


def add_gap(sums: Sums, e: int, row: int, gap_s: float, tokens: int) -> None:
    """So many tokens of a row came a gap after the one before."""
    sums.gap_s[e, row] += tokens * gap_s
    sums.gaps[e, row, bin_of(gap_s)] += tokens


def bin_of(gap_s: float) -> int:
    """Return the bin of a gap between tokens; exact in every engine."""
    part, octave = math.frexp(max(gap_s, 1e-9))
    place = (octave - LEAST_OCTAVE) * BINS_AN_OCTAVE + int((part - 0.5) * 2 * BINS_AN_OCTAVE)
    return min(max(place, 0), BINS_AN_OCTAVE * OCTAVES - 1)


def gap_percentile(counts: Ints, share: float) -> float:
    """Return the gap (s) below which a ``share`` of the ``counts`` by bin lies, to 0.4 %."""
    total = int(counts.sum())
    if not total:
        return math.nan
    upto = np.cumsum(counts)
    place = int(np.searchsorted(upto, share * total))
    octave, part = divmod(place, BINS_AN_OCTAVE)
    before = float(upto[place - 1]) if place else 0.0
    within = (share * total - before) / float(counts[place])
    return math.ldexp(0.5 + (part + within) / (2 * BINS_AN_OCTAVE), octave + LEAST_OCTAVE)
