"""Bounds on the starts and ends of tasks, for a shape in plain arrays at fixed waits.

Earliest starts (:mod:`~.compiled_searches`) hold for the local
configuration too. Of the others, between a real
root and a real sink, there are two kinds:

* The sink is with the root. Some task v runs elsewhere, where it cannot start before an input has
  crossed, s(v) = min over inputs of e(u) + p(u) + d(u, v), and from its end to the sink's start it takes
  at least G(v): the span is at least s(v) + p(v) + G(v).
* The sink is elsewhere. Then it starts no sooner than r(sink).

r(v) bounds the start of v on another server than the root's: as e(v), but the root is not on that server,
and what is began there no sooner than its own r. G is r of the reversed graph, whose root is the sink.
The span is at least the smaller of the two. And a third server is of use within a span T only to tasks
with r(v) + p(v) + G(v) ≤ T. The others, Q(T), share the root's server with the sink, so that
T ≥ C(Q(T)); or, the sink being elsewhere, they divide between the root's server, where they end by
T − min G, and the sink's, where they begin at min r: Σ p ≤ (T − min G)⁺ + (T − min r)⁺. Q shrinks as T grows,
so the least T is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nona.arrays import Bools, Floats, Ints
from nona.placement.configurations import Shape
from nona.placement.interiors.prices import Prices
from nona.placement.messages import Link


class Flat(NamedTuple):
    """Nodes 0 (root), 1…m, m+1 (sink); E edges.

    ``into`` and ``out`` list the edges of every node, those of v at ``into_at[v]`` … ``into_at[v+1]``.
    ``link_s`` (E,) are seconds at the link, 0 where nothing crosses it; a message is through after ``own``
    times its own and ``queued`` times those before it in its batch. ``class_s`` (K, m+2).
    """

    m: int
    slots: int
    has_root: bool
    has_sink: bool
    fifo: bool
    time_s: Floats
    class_s: Floats
    source: Ints
    target: Ints
    tensor: Ints
    link_s: Floats
    into_at: Ints
    into: Ints
    out_at: Ints
    out: Ints
    own: float
    queued: float
    latency_s: float
    wait: float
    visit_s: float
    load: float
    square: float
    factor: Floats
    run_s: Floats
    root_s: Floats


def flatten(shape: Shape, link: Link, slots: int, prices: Prices) -> Flat:
    """The arrays of ``shape`` on at most ``slots`` servers."""
    classes = len(prices.blocks.factor)
    into_at, into = _lists(shape.edges_into)
    out_at, out = _lists(shape.edges_of)
    fifo = link.discipline == "fifo"
    return Flat(
        m=shape.m,
        slots=slots,
        has_root=shape.has_root,
        has_sink=shape.has_sink,
        fifo=fifo,
        time_s=np.concatenate([[0.0], shape.mean_s, [0.0]]),
        class_s=np.pad(shape.class_s[:classes].astype(np.float64), ((0, 0), (1, 1))),
        source=shape.source.astype(np.int64),
        target=shape.target.astype(np.int64),
        tensor=shape.tensor.astype(np.int64),
        link_s=shape.size / link.capacity if link.crosses else np.zeros(len(shape.size)),
        into_at=into_at,
        into=into,
        out_at=out_at,
        out=out,
        own=link.capacity / link.speed,
        queued=1.0 if link.route is None else link.route.queued * link.capacity,
        latency_s=link.latency_s if link.crosses else 0.0,
        wait=prices.link_wait if link.crosses or not fifo else 0.0,
        visit_s=prices.server_wait_s,
        load=prices.load,
        square=prices.square,
        factor=prices.blocks.factor.astype(np.float64),
        run_s=prices.blocks.run_s.astype(np.float64),
        root_s=prices.blocks.root_s.astype(np.float64),
    )


def _lists(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    ends = np.cumsum([0, *(len(edges) for edges in lists)]).astype(np.int64)
    return ends, np.array([e for edges in lists for e in edges], dtype=np.int64)


def crossing_s(f: Flat, charged: Floats) -> Floats:
    """(E,) Least seconds from the end of an edge's source to its target's start, if it is crossed."""
    moved = f.own * f.link_s
    moved = moved + f.wait if f.fifo else moved * (1.0 + f.wait)
    visit = np.where(f.target <= f.m, f.visit_s, 0.0)
    result: Floats = f.latency_s + moved + visit + charged
    return result


def sources(f: Flat) -> Bools:
    """(m,) Interior tasks without any input."""
    result: Bools = np.diff(f.into_at)[1 : f.m + 1] == 0
    return result


def starts(f: Flat, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the start of every node when a crossed edge takes ``delay_s`` (E,)."""
    from nona.placement.interiors.compiled_searches import earliest_starts

    first = np.zeros(f.m + 2)
    first[1 : f.m + 1][sources(f)] = f.visit_s
    return earliest_starts(f.m + 2, f.time_s, first, f.into_at, f.into, f.source, delay_s)


def tails_s(f: Flat, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the time from the end of every node to the start of the sink.

    They are the earliest starts with time reversed: of the graph with its edges turned round.
    """
    from nona.placement.interiors.compiled_searches import earliest_starts

    r, nodes = _reversed(f), f.m + 2
    back = earliest_starts(nodes, r.time_s, np.zeros(nodes), r.into_at, r.into, r.source, delay_s)
    return back[::-1].copy()


def elsewhere_s(f: Flat, start: Floats, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the start of every node on another server than the root's."""
    from nona.placement.interiors.compiled_searches import starts_elsewhere

    return starts_elsewhere(f.m + 2, f.time_s, start, f.into_at, f.into, f.source, delay_s)


def tails_elsewhere_s(f: Flat, tail: Floats, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the time from the end of every node to the sink's start on another server."""
    from nona.placement.interiors.compiled_searches import starts_elsewhere

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


_HALVINGS = 40


def _leaving_s(f: Flat, start: Floats, delay_s: Floats) -> float:
    """A bound on the span of every configuration that is not local, the sink's visit left out.

    ``start`` are earliest starts with crossings of ``delay_s`` (E,). 0 where root or sink is virtual.
    """
    if not (f.has_root and f.has_sink and f.m):
        return 0.0
    away = elsewhere_s(f, start, delay_s)
    back = tails_elsewhere_s(f, tails_s(f, delay_s), delay_s)
    inner = np.arange(1, f.m + 1)
    third = (away + f.time_s + back)[inner]
    crossed = np.full(f.m + 2, np.inf)
    np.minimum.at(crossed, f.target, start[f.source] + f.time_s[f.source] + delay_s)
    stays = float((crossed + f.time_s + back)[inner].min())

    def together(t: float) -> float:
        bound = inner[third > t]
        order = bound[np.argsort(start[bound], kind="stable")]
        total = np.cumsum(f.time_s[order][::-1])[::-1]
        return float((start[order] + total).max(initial=0.0))

    def apart(t: float) -> float:
        bound = inner[third > t]
        if not len(bound):
            return 0.0
        work, idle = float(f.time_s[bound].sum()), (float(back[bound].min()), float(away[bound].min()))
        return min(work + min(idle), max(0.5 * (work + sum(idle)), max(idle)))

    return min(_least_from(stays, together), _least_from(float(away[-1]), apart))


def earliest_end(f: Flat, start: Floats, delay_s: Floats) -> float:
    """The span that follows from the starts, of configurations that are not local."""
    if f.has_sink:
        return max(float(start[-1]), _leaving_s(f, start, delay_s)) + f.visit_s
    return float((start + f.time_s)[1 : f.m + 1].max(initial=0.0))


def _least_from(low: float, needed: Callable[[float], float]) -> float:
    """The least t from ``low`` on with t ≥ ``needed(t)``, which falls as t grows; from below."""
    high = max(low, needed(low))
    if high <= low:
        return low
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if middle >= needed(middle):
            high = middle
        else:
            low = middle
    return low
