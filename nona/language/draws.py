"""The requests of one replication: arrivals and lengths, each from a stream with its own name."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.core.random_streams import RandomStreams
from nona.language.records import Requests
from nona.language.system import LanguageSystem, Lengths, RequestClass
from nona.scenario.arrivals import arrival_chunks


def replays_once(row: RequestClass) -> bool:
    """Return whether the row is a trace in which each request comes once, at its own time."""
    return row.lengths.in_order and not row.concurrency and not row.arrivals.scale_to_rate


def draw_requests(
    system: LanguageSystem,
    count: int,
    replication: int,
    following: Mapping[int, tuple[Floats, Floats]] = {},
) -> Requests:
    """Draw at least ``count`` requests, or all there are where every row is a trace that is replayed once.

    Open rows end at a common instant, so that the mix stays as it is to the end. ``following``: class of
    queries → when each sends a request (increasing), and how long before it came.
    """
    streams = RandomStreams(system.seed, replication)
    each = [
        _arrivals(row, count, streams, replication) if row.after is None else following[row.after][0]
        for row in system.rows
    ]
    horizon_s = min(
        (float(a[-1]) for a, row in zip(each, system.rows, strict=True) if not _ends(row)), default=math.inf
    )
    each = [a[(a <= horizon_s) | np.isinf(a)] for a in each]
    tokens = [_lengths(row, len(a), streams, replication) for row, a in zip(system.rows, each, strict=True)]
    before = [
        np.zeros(len(a)) if row.after is None else following[row.after][1][: len(a)]
        for row, a in zip(system.rows, each, strict=True)
    ]
    arrival_s, row_of = np.concatenate(each), np.repeat(np.arange(len(each)), [len(a) for a in each])
    lengths = np.concatenate(tokens)
    order = np.lexsort((row_of, arrival_s))
    open_ones = int(np.isfinite(arrival_s).sum())
    if not all(_ends(row) for row in system.rows):
        closed = [k for k, row in enumerate(system.rows) if row.concurrency]
        excess = order[:open_ones][~np.isin(row_of[order[:open_ones]], closed)][count:]
        order = order[~np.isin(order, excess)]
    inputs, outputs, prefix, shared = lengths[order].T
    before_s = np.concatenate(before)[order]
    return Requests(arrival_s[order], row_of[order], inputs, outputs, prefix, shared, before_s)


def _ends(row: RequestClass) -> bool:
    return replays_once(row) or row.concurrency > 0


def _arrivals(row: RequestClass, count: int, streams: RandomStreams, replication: int) -> Floats:
    """Instants, increasing; ``inf`` for those of a closed loop that come when others end."""
    if row.concurrency:
        later = np.full(count, math.inf)
        return np.concatenate((np.zeros(row.concurrency), later))
    if replays_once(row):
        times_s = np.asarray(row.arrivals.times_s)
        return times_s - min(0.0, float(times_s[0]))
    chunks = arrival_chunks(row.arrivals, row.rate, streams.generator("arrivals", row.name), replication)
    drawn = [next(chunks)]
    while sum(map(len, drawn)) <= count:
        drawn.append(next(chunks))
    return np.concatenate(drawn)


def _lengths(row: RequestClass, count: int, streams: RandomStreams, replication: int) -> Ints:
    """(count, 4) Input tokens, output tokens, prefix, its tokens."""
    of: Lengths = row.lengths
    if of.in_order:
        # a trace begins at the row that its arrivals begin at
        turned = replication and not replays_once(row) and not row.concurrency
        rng = streams.generator("arrivals", row.name)
        first = int(rng.integers(len(of.tokens))) if turned else 0
        chosen = (first + np.arange(count)) % len(of.tokens)
    else:
        chosen = streams.generator("lengths", row.name).integers(len(of.tokens), size=count)
    prefix = np.full((count, 2), (-1, 0)) if of.prefix is None else of.prefix[chosen]
    return np.column_stack((of.tokens[chosen], prefix)).astype(np.int64)
