"""How long it takes at least when not all stays on the root's server.

Earliest starts (:mod:`~.earliest_starts`) hold for the local configuration too. Of the others, between a real
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

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nona.placement.interiors.flat_shape import Flat
from nona.placement.interiors.start_bounds import elsewhere_s, tails_elsewhere_s, tails_s

Floats = NDArray[np.float64]
_HALVINGS = 40


def leaving_s(f: Flat, start: Floats, delay_s: Floats) -> float:
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

    return min(_least(stays, together), _least(float(away[-1]), apart))


def earliest_end(f: Flat, start: Floats, delay_s: Floats) -> float:
    """The span that follows from the starts, of configurations that are not local."""
    if f.has_sink:
        return max(float(start[-1]), leaving_s(f, start, delay_s)) + f.visit_s
    return float((start + f.time_s)[1 : f.m + 1].max(initial=0.0))


def _least(low: float, needed: Callable[[float], float]) -> float:
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
