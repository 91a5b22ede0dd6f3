"""Earliest starts on any number of servers, with tasks repeated freely: a bound on every configuration.

Let e(v) bound the start of v from below, and consider a start at t. An ancestor u whose result cannot
be at another server by t must have run on v's own. Its result is there only after some edge of every
path u → v was crossed; over the edge (a, b) it arrives at v not before::

    κ_v(a, b) = e(a) + p(a) + d(a, b) + (longest chain from b to v, v left out)
    B_v(u)    = max over paths from u to v of the min of κ_v over the path's edges

so all u with B_v(u) > t share v's server, where they run one after the other, none before its e(u):
t ≥ C(u with B_v(u) > t), C the one-machine bound. e(v) is the least t that satisfies it; as the set
shrinks while t grows, it is the least over k of max(B of the (k+1)-th, C of the k first), B descending.

After C. H. Papadimitriou, M. Yannakakis, Towards an Architecture-Independent Analysis of Parallel
Algorithms (1990), and H. Jung, L. Kirousis, P. Spirakis, Lower Bounds and Efficient Algorithms for
Multiprocessor Scheduling of DAGs with Communication Delays (1993), with delays that differ by edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.compiled import compiled

Floats = NDArray[np.float64]


@compiled
def _machine(tasks: Any, start: Any, time_s: Any, chain: Any) -> float:
    """The latest end of the chains behind ``tasks`` that share one machine: max over release order."""
    ends = 0.0
    order = tasks[np.argsort(start[tasks])]
    total = 0.0
    for i in range(len(order) - 1, -1, -1):
        u = order[i]
        total += time_s[u]
        ends = max(ends, start[u] + total, start[u] + chain[u])
    return ends


@compiled
def _reached(
    v: int, start: Any, time_s: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> tuple[Floats, Floats]:
    """(nodes,) B_v, −1e300 for what does not lead to v; and the longest chain to v, the node included."""
    reach, chain = np.full(len(time_s), -1e300), np.full(len(time_s), -1e300)
    chain[v] = 0.0
    reach[v] = 1e300
    for b in range(v, -1, -1):
        if reach[b] == -1e300:
            continue
        for at in range(into_at[b], into_at[b + 1]):
            e = into[at]
            a = source[e]
            chain[a] = max(chain[a], time_s[a] + chain[b])
            crossed = start[a] + time_s[a] + delay_s[e] + chain[b]
            reach[a] = max(reach[a], min(crossed, reach[b]))
    return reach, chain


@compiled
def _least(above: Any, reach: Any, begun: Any, time_s: Any, chain: Any) -> float:
    """The least t ≥ C(u of ``above`` with B_v(u) > t), none of them starting before ``begun``."""
    order = above[np.argsort(-reach[above])]
    low, high = 0, len(order)  # the least k with C of the k first ≥ B of the next
    while low < high:
        k = (low + high) // 2
        if _machine(order[:k], begun, time_s, chain) >= reach[order[k]]:
            high = k
        else:
            low = k + 1
    best = _machine(order[:low], begun, time_s, chain)
    if low < len(order):
        best = max(best, reach[order[low]])
    if low > 0:
        best = min(best, max(_machine(order[: low - 1], begun, time_s, chain), reach[order[low - 1]]))
    return best


@compiled
def earliest_starts(
    nodes: int, time_s: Any, first_s: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> Floats:
    """(nodes,) e(v). Nodes are in topological order; ``delay_s`` (E,) is the least delay of an edge that
    is crossed, up to its target's start; ``first_s`` (nodes,) bounds every start from below.

    The work is O(nodes·(edges + nodes·log nodes)).
    """
    start = np.zeros(nodes)
    for v in range(nodes):
        start[v] = first_s[v]
        if into_at[v + 1] == into_at[v]:
            continue
        reach, chain = _reached(v, start, time_s, into_at, into, source, delay_s)
        above = np.flatnonzero(reach[:v] != -1e300)
        start[v] = max(start[v], _least(above, reach, start, time_s, chain))
    return start


@compiled
def starts_elsewhere(
    nodes: int, time_s: Any, start: Any, into_at: Any, into: Any, source: Any, delay_s: Any
) -> Floats:
    """(nodes,) Bounds on the start of every node on another server than that of node 0.

    As above, but what shares v's server is not node 0, and began there no sooner than this bound says;
    ``start`` are the earliest starts, wherever. Node 0 itself gets ``inf``.
    """
    away = np.zeros(nodes)
    away[0] = np.inf
    for v in range(1, nodes):
        away[v] = start[v]
        if into_at[v + 1] == into_at[v]:
            continue
        reach, chain = _reached(v, start, time_s, into_at, into, source, delay_s)
        above = np.flatnonzero(reach[1:v] != -1e300) + 1
        away[v] = max(away[v], _least(above, reach, away, time_s, chain), reach[0])
    return away
