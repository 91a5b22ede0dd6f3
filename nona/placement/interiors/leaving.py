"""How long it takes at least when not all stays on the root's server.

Earliest starts (:mod:`~.earliest`) hold for the local configuration too. Of the others, between a real
root and a real sink, there are two kinds:

* The sink is with the root. Some task v runs elsewhere; its input crosses, and so does an edge of every
  path from v to the sink: the span is at least s(v) + p(v) + G(v), where
  s(v) = min over inputs of e(u) + p(u) + d(u, v), and G(v) = max over successors w of
  min(d(v, w) + chain from w, p(w) + G(w)).
* The sink is elsewhere. Then the root is not on its server, and of every input of a task there either
  the edge was crossed, or its maker is there too, which had to wait for the root's tensors likewise:
  r(v) = max over inputs of min(e(u) + p(u) + d(u, v), r(u) + p(u)), no less than e(v), is a bound on the
  start of v there, r(root) = ∞; with it instead of e the least t follows as for the earliest starts.

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

from nona.placement.interiors.flat import Flat

Floats = NDArray[np.float64]
_HALVINGS = 40


def leaving_s(f: Flat, start: Floats, delay_s: Floats) -> float:
    """A bound on the span of every configuration that is not local, the sink's visit left out.

    ``start`` are earliest starts with crossings of ``delay_s`` (E,). 0 where root or sink is virtual.
    """
    if not (f.has_root and f.has_sink and f.m):
        return 0.0
    chain, back = _backwards(f, delay_s)
    away = _elsewhere(f, start, delay_s)
    inner = np.arange(1, f.m + 1)
    third = (away + f.time_s + back)[inner]
    crossed = np.full(f.m + 2, np.inf)
    np.minimum.at(crossed, f.target, start[f.source] + f.time_s[f.source] + delay_s)
    stays = float((crossed + f.time_s + back)[inner].min())
    leaves = _following(f, start, away, delay_s)

    def together(t: float) -> float:
        return _machine(f, inner[third > t], start, chain)

    def apart(t: float) -> float:
        bound = inner[third > t]
        if not len(bound):
            return 0.0
        work, idle = float(f.time_s[bound].sum()), (float(back[bound].min()), float(away[bound].min()))
        return min(work + min(idle), max(0.5 * (work + sum(idle)), max(idle)))

    return min(_least(stays, together), _least(leaves, apart))


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


def _backwards(f: Flat, delay_s: Floats) -> tuple[Floats, Floats]:
    """(m+2,) The longest chain from a node to the sink, the node included, and G."""
    back, chain = np.zeros(f.m + 2), np.zeros(f.m + 2)
    back[-1] = np.inf
    for v in range(f.m, 0, -1):
        for e in f.out[f.out_at[v] : f.out_at[v + 1]]:
            w = f.target[e]
            chain[v] = max(chain[v], f.time_s[v] + chain[w])
            back[v] = max(back[v], min(delay_s[e] + chain[w], f.time_s[w] + back[w]))
    return chain, back


def _following(f: Flat, start: Floats, release: Floats, delay_s: Floats) -> float:
    """The sink leaves: the least t at which what cannot arrive by then fits on its server."""
    sink = f.m + 1
    reach, chain = np.full(sink + 1, -np.inf), np.full(sink + 1, -np.inf)
    reach[sink], chain[sink] = np.inf, 0.0
    for b in range(sink, 0, -1):
        for e in f.into[f.into_at[b] : f.into_at[b + 1]]:
            a = f.source[e]
            chain[a] = max(chain[a], f.time_s[a] + chain[b])
            crossed = start[a] + f.time_s[a] + delay_s[e] + chain[b]
            reach[a] = max(reach[a], min(crossed, reach[b]))
    tasks = np.arange(1, sink)
    tasks = tasks[np.argsort(-reach[tasks], kind="stable")]
    low, high = 0, f.m
    while low < high:
        k = (low + high) // 2
        low, high = (low, k) if _machine(f, tasks[:k], release, chain) >= reach[tasks[k]] else (k + 1, high)
    least = np.inf
    for k in (low - 1, low):
        if k >= 0:
            following = reach[tasks[k]] if k < f.m else 0.0
            least = min(least, max(_machine(f, tasks[:k], release, chain), following))
    return float(max(least, reach[0]))


def _elsewhere(f: Flat, start: Floats, delay_s: Floats) -> Floats:
    """(m+2,) Bounds on the start of a task on a server that is not the root's."""
    release = start.copy()
    release[0] = np.inf
    for v in range(1, f.m + 1):
        for e in f.into[f.into_at[v] : f.into_at[v + 1]]:
            u = f.source[e]
            crossed = start[u] + f.time_s[u] + delay_s[e]
            release[v] = max(release[v], min(crossed, release[u] + f.time_s[u]))
    return release


def _machine(f: Flat, tasks: NDArray[np.int64], release: Floats, chain: Floats) -> float:
    """When tasks that share one server end at the earliest, the chains behind them included."""
    if not len(tasks):
        return 0.0
    order = tasks[np.argsort(release[tasks], kind="stable")]
    total = np.cumsum(f.time_s[order][::-1])[::-1]
    return float(np.maximum(release[order] + total, release[order] + chain[order]).max())
