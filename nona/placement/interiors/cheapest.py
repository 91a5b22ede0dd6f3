"""The configuration of least cost at fixed waits and prices, or a bound on it.

cost = span(W_n, W_c) + load price·load_s + square price·square_s2 + price of the blocks of work, over
*all* configurations. The local one is compared directly; the others are searched by branch and bound
(:mod:`nona.placement.interiors.branch_and_bound`). Where the tree is not finished, ``bound_s`` is below
all that was left of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.shape import Shape
from nona.placement.interiors.flat_shape import flatten
from nona.placement.interiors.prices import Prices, costs, scatter_s
from nona.placement.interiors.start_bounds import crossing_s, tails_s
from nona.placement.spans.candidates import Candidates
from nona.placement.spans.messages import Link

NODES = 400_000


@dataclass(frozen=True, eq=False)
class Found:
    """``labels`` (m+1,) cost ``cost_s``; no configuration costs less than ``bound_s``.

    ``closed``: the two are equal, to rounding.
    """

    labels: NDArray[np.int64]
    cost_s: float
    bound_s: float
    closed: bool


def best_configuration(
    shape: Shape,
    link: Link,
    slots: int,
    *,
    link_wait: float,
    server_wait_s: float,
    load_price: float,
    square_price: float = 0.0,
    nodes: int = NODES,
) -> Found:
    """The least cost over all configurations on at most ``slots`` servers.

    Parameters
    ----------
    link_wait, server_wait_s
        W_n in seconds under FIFO (the stretch w under processor sharing), and W_c.
    load_price, square_price
        For each second of link load, and each s² of squared batches (1/s).
    nodes
        The most nodes of the tree; then the rest of it is left to the bound.

    Examples
    --------
    Two branches of 10 and 8 ms; the second moves two messages of 1 ms when it leaves the root's server:

    >>> from nona.placement.configurations.shape import Shape
    >>> ints = lambda *v: np.array(v, dtype=np.int64)
    >>> shape = Shape(True, True, np.array([[0.010, 0.008]]), np.array([0.010, 0.008]), ints(0, 0, 1, 2),
    ...     ints(1, 2, 3, 3), ints(0, 1, 2, 3), np.array([9.0, 1.0, 9.0, 1.0]))
    >>> idle = {"link_wait": 0.0, "server_wait_s": 0.0, "load_price": 0.0}
    >>> found = best_configuration(shape, Link(1000.0, 0.0), 8, **idle)
    >>> found.labels.tolist(), round(1e3 * found.cost_s, 6), found.closed
    ([0, 1, 0], 10.0, True)
    """
    prices = Prices(link_wait, server_wait_s, load_price, square_price)
    return cheapest_configuration(shape, link, slots, prices, nodes=nodes)


def cheapest_configuration(
    shape: Shape,
    link: Link,
    slots: int,
    prices: Prices,
    *,
    start: NDArray[np.int64] | None = None,
    nodes: int = NODES,
) -> Found:
    """:func:`best_configuration` with a price of blocks, from a known configuration if there is one."""
    rows = [np.zeros(shape.m + 1, dtype=np.int64)]
    if start is not None:
        rows.append(start)
    known = Candidates(shape, np.array(rows), link)
    cost = costs(known, prices)
    at = int(np.argmin(cost))
    labels, best = known.labels[at], float(cost[at])
    if shape.m == 0 or slots < 2:
        return Found(labels, best, best, True)
    from nona.placement.interiors.branch_and_bound import search

    flat = flatten(shape, link, slots, prices)
    shift = scatter_s(prices, shape) + ahead_s(prices)
    found = np.zeros(shape.m + 2, dtype=np.int64)
    tail = tails_s(flat, crossing_s(flat, np.zeros(len(flat.source))))
    away, bound, _ = search(flat, tail, best - shift, found, nodes)
    bound = min(bound + shift, best)
    if away + shift < best and found.any():
        labels = found[1:]
        best = min(best, float(costs(Candidates(shape, labels[None], link), prices)[0]))
    return Found(labels, best, min(bound, best), bound >= best - 1e-12 * abs(best))


def ahead_s(prices: Prices) -> float:
    """Charge of the run that begins at the sink, for configurations that are not local, seconds."""
    return float(prices.blocks.factor @ prices.blocks.ahead_s2)
