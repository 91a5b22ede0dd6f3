"""Columns that no configuration undercuts, for interiors of which not all are listed.

At fixed waits, with α a price of link load and γ that of squared blocks of work, every configuration
that is not local costs span + α·load + γ·M ≥ h(α). Two things make h:

* **The earliest end** e(α) (:mod:`~.earliest_starts`), every crossing made longer by α times its seconds at
  the link: messages along a path differ, so span + α·load is no less than a path of these. Where root and
  sink are real it is raised by what leaving the root's server takes (:mod:`~.leaving_root`).
* **Cuts of the work** (:mod:`~.block_squares`). A block begins only where an input crosses, which takes time
  c(α); below that time, tasks share the server of their inputs. With M(Z) the least squares of blocks at
  span + α·load = Z, h(α) = min over Z ≥ e(α) of Z + γ·M(Z), Z being e(α) or one of the c(α).

* **Exchange groups** (:mod:`~.exchange_groups`, :mod:`~.exchange_group_bound`): between a real root and sink,
  groups of tasks that exchange much stay with the root, in one block, or pay for being away.

From h at several α follow points (cost, load) such that every configuration lies above their lower hull:
the relaxed columns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.certificate.block_squares import cuts_s, least_squares
from nona.placement.certificate.exchange_group_bound import exchange_group_cost_s, exchange_group_ends
from nona.placement.certificate.exchange_groups import ExchangeGroups
from nona.placement.certificate.leaving_root import earliest_end
from nona.placement.configurations.shape import Shape
from nona.placement.interiors.flat_shape import Flat, flatten
from nona.placement.interiors.prices import Prices, costs, scatter_s
from nona.placement.interiors.start_bounds import crossing_s, starts, tails_s
from nona.placement.program.least_column import Least, least_column
from nona.placement.spans.candidates import Candidates

Floats = NDArray[np.float64]
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
        cuts = [(alpha, max(h, _searched(c, flat, prices, alpha, squares))) for alpha, h in cuts]
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


def _searched(c: Candidates, f: Flat, prices: Prices, alpha: float, squares: float) -> float:
    """h(α) of the configurations that are not among ``c``, by a search of the tree as far as it goes."""
    from nona.placement.interiors.branch_and_bound import search

    at = replace(prices, load=alpha, square=alpha * squares)
    listed = float(np.where(c.local, np.inf, costs(c, at)).min())
    shift = float(at.blocks.factor @ at.blocks.ahead_s2) + scatter_s(at, c.shape)
    found = np.zeros(f.m + 2, dtype=np.int64)
    flat = f._replace(load=alpha, square=alpha * squares)
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
    """h(α) but for what all configurations have in common; ``squares`` (1/s) of a batch count as load."""
    delay = crossing_s(f, alpha * (f.link_s + squares * f.link_s**2))
    start = starts(f, delay)
    end = earliest_end(f, start, delay)
    factor = prices.blocks.factor
    if not len(factor):
        return end
    cut = cuts_s(f, start, delay)[1 : f.m + 1]
    order = np.argsort(cut, kind="stable")[: int(np.isfinite(cut).sum())]
    fewest = int((cut[order] <= end).sum())
    needed = np.maximum(end, np.concatenate([[0.0], cut[order]]))
    return float((needed + factor @ least_squares(f, order + 1, fewest))[fewest:].min())


def _single_squares(f: Flat) -> float:
    """What the blocks cost at least, each task a block of its own."""
    return float(f.factor @ ((f.class_s**2).sum(axis=1) + f.root_s**2))


def common_s(f: Flat, prices: Prices, shape: Shape) -> float:
    """Charges that all configurations share that are not local: of root, scatter and the run ahead."""
    b = prices.blocks
    return float(b.factor @ (b.run_s * b.root_s + b.ahead_s2)) + scatter_s(prices, shape)
