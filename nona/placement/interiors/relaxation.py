"""Columns that no configuration undercuts, for interiors of which not all are listed.

At fixed waits, with α a price of link load and γ that of squared blocks of work, every configuration
that is not local costs span + α·load + γ·M ≥ h(α). Two things make h:

* **The earliest end** e(α) (:mod:`~.earliest`), every crossing made longer by α times its seconds at the
  link: messages along a path differ, so span + α·load is no less than a path of these. Where root and
  sink are real it is raised by what leaving the root's server takes (:mod:`~.leaving`).
* **Cuts of the work.** A block of work begins at a task v only where some input of v crosses, after
  which all that depends on v is still to run: the span is at least c(v) = min over inputs (u, v) of
  e(u) + p(u) + d(u, v) + p(v) + tail(v), the tail being e of the reversed graph. With k such tasks
  there are at most k + 1 blocks, so M is at least (P + p)²/(k + 1), and the span at least the k-th
  smallest c. (Behind a virtual root a part may begin with a source, without a message; there are at
  most as many such parts as other servers.)

So h(α) = min over k ≥ 1 of max(e(α), c_k) + γ·max((P + p)²/(k + 1), p² + Σ p_v²). From h at several α follow
points (cost, load) such that every configuration lies above their lower hull: the relaxed columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.evaluate import Candidates
from nona.placement.interiors.bounds import Least, least_column
from nona.placement.interiors.flat import Flat, flatten
from nona.placement.interiors.leaving import leaving_s
from nona.placement.interiors.prices import Prices, costs, scatter_s
from nona.placement.interiors.timing import crossing_s, sources, starts, tails_s
from nona.placement.shape import Shape

Floats = NDArray[np.float64]
_SHARES = (0.3, 0.6, 1.0, 1.6, 4.0)  # of the price of load at the solution
_PRICES = (1.0, 10.0)
_TREE = 16  # interiors up to this size are searched
_NODES = 30_000


def least_columns(c: Candidates, slots: int, prices: Prices) -> tuple[Least, ...]:
    """Columns for all configurations of ``c`` but the local one, at waits from those of ``prices`` on."""
    simple = least_column(c, prices.server_wait_s)
    flat = flatten(c.shape, c.link, slots, prices)
    fixed = common_s(flat, prices, c.shape)
    cut = cuts_s(flat)
    grid = sorted({0.0, *_PRICES, *(s * prices.load for s in _SHARES)})
    cuts = [(alpha, fixed + least_cost_s(flat, prices, alpha, cut)) for alpha in grid]
    if c.shape.m <= _TREE:
        cuts = [(alpha, max(h, _searched(c, flat, prices, alpha))) for alpha, h in cuts]
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
    load, found = least_load, []
    alpha, high = max(cuts, key=lambda c: (c[1] - c[0] * load, -c[0]))
    found.append((high - alpha * load, load))
    while alpha > 0.0:
        flatter = [((high - h) / (alpha - a), a, h) for a, h in cuts if a < alpha]
        if not flatter:
            break
        load, alpha, high = min(flatter)
        load = max(load, least_load)
        found.append((high - alpha * load, load))
    return found


def earliest_end(f: Flat, start: Floats, delay_s: Floats) -> float:
    """The span that follows from the starts, of configurations that are not local."""
    if f.has_sink:
        return max(float(start[-1]), leaving_s(f, start, delay_s)) + f.visit_s
    return float((start + f.time_s)[1 : f.m + 1].max(initial=0.0))


def _searched(c: Candidates, f: Flat, prices: Prices, alpha: float) -> float:
    """h(α) of the configurations that are not among ``c``, by a search of the tree as far as it goes."""
    from nona.placement.interiors.search import search

    at = replace(prices, load=alpha, square=0.0)
    listed = float(np.where(c.local, np.inf, costs(c, at)).min())
    shift = float(at.blocks.factor @ at.blocks.ahead_s2) + scatter_s(at, c.shape)
    found = np.zeros(f.m + 2, dtype=np.int64)
    flat = f._replace(load=alpha, square=0.0)
    return (
        float(
            search(
                flat,
                tails_s(flat, crossing_s(flat, np.zeros(len(flat.source)))),
                listed - shift,
                found,
                _NODES,
            )[1]
        )
        + shift
    )


def least_cost_s(f: Flat, prices: Prices, alpha: float, cut: Floats) -> float:
    """h(α) but for what all configurations have in common; ``cut`` of :func:`cuts_s`."""
    delay = crossing_s(f, alpha * f.link_s)
    end = earliest_end(f, starts(f, delay), delay)
    pieces = np.arange(1, len(cut) + 1) + 1.0
    b = prices.blocks
    work = f.class_s.sum(axis=1) + b.root_s
    squares = np.maximum(np.multiply.outer(1.0 / pieces, work**2), (f.class_s**2).sum(axis=1) + b.root_s**2)
    return float((np.maximum(end, cut) + squares @ b.factor).min())


def cuts_s(f: Flat) -> Floats:
    """(k,) c(v) of all that may begin a block, ascending, the sink's among them."""
    delay = crossing_s(f, np.zeros(len(f.source)))
    start, tail = starts(f, delay), tails_s(f, delay)
    last = f.visit_s if f.has_sink else 0.0
    least = np.full(f.m + 2, np.inf)
    np.minimum.at(least, f.target, start[f.source] + f.time_s[f.source] + delay)
    least += f.time_s + tail + last
    first = np.flatnonzero(sources(f)) + 1
    free = np.sort(f.visit_s + f.time_s[first] + tail[first] + last)[: f.slots - 1]
    found = np.sort(np.concatenate([least[np.isfinite(least)], free]))
    return found if len(found) else np.full(1, f.visit_s)


def _single_squares(f: Flat) -> float:
    """What the blocks cost at least, each task a block of its own."""
    return float(f.factor @ ((f.class_s**2).sum(axis=1) + f.root_s**2))


def common_s(f: Flat, prices: Prices, shape: Shape) -> float:
    """Charges that all configurations share that are not local: of root, scatter and the run ahead."""
    b = prices.blocks
    return float(b.factor @ (b.run_s * b.root_s + b.ahead_s2)) + scatter_s(prices, shape)
