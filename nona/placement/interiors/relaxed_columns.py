"""Columns that no configuration undercuts, for interiors of which not all are listed.

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

At fixed waits, with α a price of link load and γ that of squared blocks of work, every configuration
that is not local costs span + α·load + γ·M ≥ h(α). Two things make h:

* **The earliest end** e(α) (:mod:`~.compiled_searches`), every crossing made longer by α times its seconds at
  the link: messages along a path differ, so span + α·load is no less than a path of these. Where root and
  sink are real it is raised by what leaving the root's server takes (:mod:`~.start_bounds`).
* **Cuts of the work**. A block begins only where an input crosses, which takes time
  c(α); below that time, tasks share the server of their inputs. With M(Z) the least squares of blocks at
  span + α·load = Z, h(α) = min over Z ≥ e(α) of Z + γ·M(Z), Z being e(α) or one of the c(α).

* **Exchange groups** (:mod:`~.exchange_groups`): between a real root and sink,
  groups of tasks that exchange much stay with the root, in one block, or pay for being away.

From h at several α follow points (cost, load) such that every configuration lies above their lower hull:
the relaxed columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nona.arrays import Floats, Ints
from nona.compiled import compiled
from nona.placement.configurations import Shape
from nona.placement.interiors.column_generation import Budget, climbed
from nona.placement.interiors.exchange_groups import (
    ExchangeGroups,
    exchange_group_cost_s,
    exchange_group_ends,
)
from nona.placement.interiors.prices import Prices, costs, scatter_s
from nona.placement.interiors.start_bounds import (
    Flat,
    crossing_s,
    earliest_end,
    flatten,
    sources,
    starts,
    tails_s,
)
from nona.placement.messages import Candidates, Link
from nona.placement.solver.problem import Least, least_column


def _cuts_s(f: Flat, start: Floats, delay_s: Floats) -> Floats:
    """(m+2,) c(v), ``inf`` where nothing enters; ``start`` at crossings of ``delay_s`` (E,)."""
    tail = tails_s(f, delay_s)
    least = np.full(f.m + 2, np.inf)
    np.minimum.at(least, f.target, start[f.source] + f.time_s[f.source] + delay_s)
    result: Floats = least + f.time_s + tail + (f.visit_s if f.has_sink else 0.0)
    return result


def least_squares(f: Flat, order: Ints, fewest: int) -> Floats:
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


_SHARES = (0.3, 0.6, 1.0, 1.6, 4.0)  # of the price of load at the solution
_PRICES = (1.0, 10.0)
_TREE = 16  # interiors up to this size are searched
_NODES = 30_000


def least_columns(
    c: Candidates,
    slots: int,
    prices: Prices,
    last_wait: float = math.inf,
    families: Sequence[ExchangeGroups] = (),
) -> tuple[Least, ...]:
    """Columns for all configurations of ``c`` but the local one, at waits from those of ``prices`` on.

    The row of the link holds 2w·load + squares, so up to a ``last_wait`` W a message of s seconds takes as
    much of it as a load of s + s²/2W; that is what the columns count as load (under FIFO).
    """
    simple = least_column(c, prices.server_wait_s)
    flat = flatten(c.shape, c.link, slots, prices)
    fixed = common_s(flat, prices, c.shape)
    squares = 0.5 / last_wait if c.link.discipline == "fifo" and last_wait > 0.0 else 0.0
    grid = sorted({0.0, *_PRICES, *(s * prices.load for s in _SHARES)})
    cuts = [(alpha, fixed + least_cost_s(flat, prices, alpha, squares)) for alpha in grid]
    if families and c.link.crosses:
        more = fixed + _by_exchange_groups(c, flat, prices, (grid, squares), families)
        cuts = [(a, max(h, m)) for (a, h), m in zip(cuts, more.tolist(), strict=True)]
    if c.shape.m <= _TREE:
        idle = costs(c, replace(prices, load=0.0, square=0.0))
        load_s = c.messages.load_s + squares * c.messages.square_s2
        listed = [float(np.where(c.local, np.inf, idle + alpha * load_s).min()) for alpha, _ in cuts]
        shift = float(prices.blocks.factor @ prices.blocks.ahead_s2) + scatter_s(prices, c.shape)
        cuts = [
            (alpha, max(h, shift + _searched(flat, alpha, squares, least - shift)))
            for (alpha, h), least in zip(cuts, listed, strict=True)
        ]
    (cost, load), *others = corners(cuts, simple.load_s)
    message_s = simple.message_s + fixed + _single_squares(flat)
    # Only the first corner may have the line of a message as well. A configuration on the hull between two
    # corners, where that line is higher, would lie below their mixture if the second had it too.
    first = Least(cost, message_s, simple.slope, load, 0.0)
    return (first, *(Least(cost, cost, 0.0, load, 0.0) for cost, load in others))


def corners(cuts: Sequence[tuple[float, float]], least_load: float) -> list[tuple[float, float]]:
    """Corners (cost, load) of the region cost + α·load ≥ h for all ``cuts`` (α, h), load ≥ ``least_load``.

    >>> corners([(0.0, 1.0), (1.0, 3.0)], 0.5)
    [(2.5, 0.5), (1.0, 2.0)]
    """
    load, points = least_load, []
    alpha, high = max(cuts, key=lambda c: (c[1] - c[0] * load, -c[0]))
    points.append((high - alpha * load, load))
    while alpha > 0.0:
        flatter = [((high - h) / (alpha - a), a, h) for a, h in cuts if a < alpha]
        if not flatter:
            break
        load, alpha, high = min(flatter)
        load = max(load, least_load)
        points.append((high - alpha * load, load))
    return points


def _searched(f: Flat, alpha: float, squares: float, listed_s: float) -> float:
    """h(α) of the configurations that are not listed, by a search of the tree as far as it goes."""
    from nona.placement.interiors.compiled_searches import search

    flat = f._replace(load=alpha, square=alpha * squares)
    tails = tails_s(flat, crossing_s(flat, np.zeros(len(flat.source))))
    return float(search(flat, tails, listed_s, np.zeros(f.m + 2, dtype=np.int64), _NODES)[1])


def _by_exchange_groups(
    c: Candidates,
    f: Flat,
    prices: Prices,
    at: tuple[Sequence[float], float],
    families: Sequence[ExchangeGroups],
) -> Floats:
    """(n,) The largest of the bounds by groups at n prices α and the weight of a squared batch."""
    grid, squares = at
    best = np.zeros(len(grid))
    seconds = f.link_s + squares * f.link_s**2
    for family in families:
        free = exchange_group_ends(f, family, 0.0 * seconds)
        for i, alpha in enumerate(grid):
            per_byte = alpha * np.array([1.0 / c.link.capacity, squares / c.link.capacity**2])
            ends = exchange_group_ends(f, family, alpha * seconds)
            best[i] = max(best[i], exchange_group_cost_s(f, prices, family, per_byte, free, ends))
    return best


def least_cost_s(f: Flat, prices: Prices, alpha: float, squares: float = 0.0) -> float:
    """Return h(α) but for the common part of all configurations; ``squares`` (1/s) of a batch are load."""
    delay = crossing_s(f, alpha * (f.link_s + squares * f.link_s**2))
    start = starts(f, delay)
    end = earliest_end(f, start, delay)
    factor = prices.blocks.factor
    if not len(factor):
        return end
    cut = _cuts_s(f, start, delay)[1 : f.m + 1]
    order = np.argsort(cut, kind="stable")[: int(np.isfinite(cut).sum())]
    fewest = int((cut[order] <= end).sum())
    needed = np.maximum(end, np.concatenate([[0.0], cut[order]]))
    return float((needed + factor @ least_squares(f, order + 1, fewest))[fewest:].min())


def _single_squares(f: Flat) -> float:
    """Return the least cost of the blocks, each task a block of its own."""
    return float(f.factor @ ((f.class_s**2).sum(axis=1) + f.root_s**2))


def common_s(f: Flat, prices: Prices, shape: Shape) -> float:
    """Charges that all configurations share that are not local: of root, scatter and the run ahead."""
    b = prices.blocks
    return float(b.factor @ (b.run_s * b.root_s + b.ahead_s2)) + scatter_s(prices, shape)


def compile_searches() -> None:
    """Run each search once on a fork of two tasks; numba keeps what it compiles on disk."""
    ends = np.array([0, 0, 1, 2], dtype=np.int64), np.array([1, 2, 3, 3], dtype=np.int64)
    shape = Shape(True, True, np.ones((1, 2)), np.ones(2), *ends, np.arange(4), np.ones(4))
    fork = Candidates(shape, np.array([[0, 0, 0], [0, 1, 0]]), Link(10.0, 0.0), exhaustive=False)
    climbed(fork, 2, Prices(), Budget(1.0))
    least_columns(fork, 2, Prices())
