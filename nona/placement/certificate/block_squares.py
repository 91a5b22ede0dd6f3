"""Blocks of work: where they may begin, and what their squares come to at least.

A block begins at a task v only where an input of v crosses. Along a path through that crossing the span
and α times the load are at least c(v) = min over inputs (u, v) of e(u) + p(u) + d(u, v) + p(v) + tail(v),
e and the tails being computed with delays that contain α. Below Z = span + α·load, every v with
c(v) > Z shares the server of *all* its inputs. Joined to them such tasks form groups, each on one server,
of work g (the root's group with the root). With k tasks that may still begin a block there are at most
k blocks more than servers, and so, by Sedrakyan's inequality::

    ΣB² ≥ min Σ g²/a,  a ≥ 1, Σ a = k + (number of groups)

A server runs its tasks in topological order, so what a group has between two neighbours of these k is in
one block: the squares of that are another bound.

Two groups on one server with n blocks have (g₁ + g₂)²/n ≥ g₁²/a₁ + g₂²/a₂ for some such a₁ + a₂ = n + 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nona.compiled import compiled
from nona.placement.interiors.flat_shape import Flat
from nona.placement.interiors.start_bounds import sources, tails_s

Floats = NDArray[np.float64]


def cuts_s(f: Flat, start: Floats, delay_s: Floats) -> Floats:
    """(m+2,) c(v), ``inf`` where nothing enters; ``start`` at crossings of ``delay_s`` (E,)."""
    tail = tails_s(f, delay_s)
    least = np.full(f.m + 2, np.inf)
    np.minimum.at(least, f.target, start[f.source] + f.time_s[f.source] + delay_s)
    result: Floats = least + f.time_s + tail + (f.visit_s if f.has_sink else 0.0)
    return result


def least_squares(f: Flat, order: NDArray[np.int64], fewest: int) -> Floats:
    """(K, n+1) ΣB² at least when an input crosses only at the first 0, 1, … n tasks of ``order``.

    ``order`` holds all tasks with an input; entries before ``fewest`` are left at 0. A server's first block
    begins at such a task too, or at the root, or, where it is virtual, at a source, so that k tasks make
    k + 1 blocks at most, and one more for each source that can be on a server of its own.
    """
    begins = np.zeros(f.m + 2, dtype=np.bool_)
    begins[f.target[f.source > 0]] = True
    work = f.class_s.astype(np.float64).copy()
    work[:, 0] = f.root_s
    first = 0 if f.has_root else 1
    result = grouped_squares(work, f, order, begins, first, fewest)
    own = min(int(sources(f).sum()), f.slots - 1)
    blocks = np.arange(len(order) + 1) + 1.0 + own
    counted = np.multiply.outer(work.sum(axis=1) ** 2, 1.0 / blocks)
    single: Floats = (work**2).sum(axis=1)[:, None]
    bound: Floats = np.maximum(np.maximum(result, counted), single)
    return bound


@compiled
def grouped_squares(work: Any, f: Any, order: Any, begins: Any, first: int, fewest: int) -> Floats:
    """The sum of :func:`least_squares`; groups are joined by one task after the other, the last one first."""
    classes, n, m, slots = len(work), len(order), f.m, f.slots
    into_at, into, source = f.into_at, f.into, f.source
    result = np.zeros((classes, n + 1))
    home = np.arange(m + 2)
    group = work.copy()
    cuts = 0
    open_at = np.zeros(m + 2, dtype=np.bool_)
    for i in range(n):
        cuts += begins[order[i]]
        open_at[order[i]] = begins[order[i]]
    for k in range(n, fewest - 1, -1):
        alone = 0
        for v in range(first, m + 1):
            alone += home[v] == v
        for c in range(classes):
            whole = group[c, first : m + 1].sum()
            squares = whole**2 / (cuts + min(alone, slots))
            squares = max(squares, _spread(np.sort(group[c, first : m + 1])[::-1], cuts))
            result[c, k] = max(squares, _between(work[c], home, open_at, m))
        if k == fewest:
            break
        v = order[k - 1]
        cuts -= begins[v]
        open_at[v] = False
        for at in range(into_at[v], into_at[v + 1]):
            a, b = v, source[into[at]]
            while home[a] != a:
                a = home[a]
            while home[b] != b:
                b = home[b]
            if a != b:
                home[a] = b
                for c in range(classes):
                    group[c, b] += group[c, a]
                    group[c, a] = 0.0
    return result


@compiled
def _spread(group: Any, cuts: int) -> float:
    """min Σ g²/a over a ≥ 1 with Σ (a − 1) = ``cuts``; ``group`` descending."""
    total, j = 0.0, 0
    while j < len(group) and group[j] * (cuts + j) >= total:
        total += group[j]
        j += 1
    squares = total**2 / (cuts + j)
    for i in range(j, len(group)):
        squares += group[i] ** 2
    return squares


@compiled
def _between(work: Any, home: Any, open_at: Any, m: int) -> float:
    """Σ of the squared work that each group has between neighbours, in running order, of ``open_at``."""
    total, stretch = 0.0, 0
    block, of = np.zeros(m + 1), np.zeros(m + 1, dtype=np.int64)
    for v in range(m + 1):
        stretch += open_at[v]
        g = v
        while home[g] != g:
            g = home[g]
        if of[g] != stretch:
            total += block[g] ** 2
            block[g], of[g] = 0.0, stretch
        block[g] += work[v]
    for g in range(m + 1):
        total += block[g] ** 2
    return total
