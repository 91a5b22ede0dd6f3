"""Bounds on when things start, forwards and backwards in time, for a shape at fixed waits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nona.placement.interiors.flat_shape import Flat

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def crossing_s(f: Flat, charged: Floats) -> Floats:
    """(E,) Least seconds from the end of an edge's source to its target's start, if it is crossed."""
    moved = f.own * f.link_s
    moved = moved + f.wait if f.fifo else moved * (1.0 + f.wait)
    visit = np.where(f.target <= f.m, f.visit_s, 0.0)
    result: Floats = f.latency_s + moved + visit + charged
    return result


def sources(f: Flat) -> NDArray[np.bool_]:
    """(m,) Interior tasks without any input."""
    result: NDArray[np.bool_] = np.diff(f.into_at)[1 : f.m + 1] == 0
    return result


def starts(f: Flat, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the start of every node when a crossed edge takes ``delay_s`` (E,)."""
    from nona.placement.interiors.earliest_starts import earliest_starts

    first = np.zeros(f.m + 2)
    first[1 : f.m + 1][sources(f)] = f.visit_s
    return earliest_starts(f.m + 2, f.time_s, first, f.into_at, f.into, f.source, delay_s)


def tails_s(f: Flat, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the time from the end of every node to the start of the sink.

    They are the earliest starts with time reversed: of the graph with its edges turned round.
    """
    from nona.placement.interiors.earliest_starts import earliest_starts

    r, nodes = _reversed(f), f.m + 2
    back = earliest_starts(nodes, r.time_s, np.zeros(nodes), r.into_at, r.into, r.source, delay_s)
    return back[::-1].copy()


def elsewhere_s(f: Flat, start: Floats, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the start of every node on another server than the root's."""
    from nona.placement.interiors.earliest_starts import starts_elsewhere

    return starts_elsewhere(f.m + 2, f.time_s, start, f.into_at, f.into, f.source, delay_s)


def tails_elsewhere_s(f: Flat, tail: Floats, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the time from the end of every node to the sink's start on another server."""
    from nona.placement.interiors.earliest_starts import starts_elsewhere

    r = _reversed(f)
    back = starts_elsewhere(f.m + 2, r.time_s, tail[::-1].copy(), r.into_at, r.into, r.source, delay_s)
    return back[::-1].copy()


@dataclass(frozen=True, eq=False)
class _Reversed:
    """The graph with its edges turned round: node v is now m + 1 − v."""

    time_s: Floats
    into_at: Ints
    into: Ints
    source: Ints


def _reversed(f: Flat) -> _Reversed:
    ends = f.out_at.tolist()
    lists = [f.out[a:b] for a, b in pairwise(ends)][::-1]
    into_at = np.cumsum([0, *(len(edges) for edges in lists)]).astype(np.int64)
    return _Reversed(
        f.time_s[::-1].copy(), into_at, np.concatenate(lists).astype(np.int64), f.m + 1 - f.target
    )
