"""Jobs matched to places in queues at least total completion time, with the dual's bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from nona.allocation.policies.problem import Floats, Ints


@dataclass(frozen=True, eq=False, slots=True)
class Matching:
    """(jobs,) type of each job and its place counted from the end of a queue, from 1.

    ``cost``: Σ place · duration, the sum of completion times in seconds; ``bound``: the dual's.
    """

    kinds: Ints
    places: Ints
    cost: float
    bound: float


def matched(durations: Floats, free: Ints) -> Matching:
    """Each job in one place of a queue; a job p-th from the end delays p jobs, itself included.

    min Σ_i p_i · d_i,type(i), where each of the ``free`` GPUs of a type has one place for each p. Of a type
    with n GPUs ⌈m/n⌉ places each are enough.

    Parameters
    ----------
    durations
        (m, J) seconds of each job on each type.
    free
        (J,) free GPUs; at least one in all.

    Examples
    --------
    >>> found = matched(np.array([[3.0], [1.0]]), np.array([1]))
    >>> found.places.tolist(), found.cost, found.bound
    ([1, 2], 5.0, 5.0)
    """
    jobs = len(durations)
    deep = [-(-jobs // int(n)) if n else 0 for n in free]
    kinds = np.repeat(np.arange(len(free)), deep)
    places = np.concatenate([np.arange(1, d + 1) for d in deep])
    costs: Floats = durations[:, kinds] * places
    copies = free[kinds]
    columns = np.repeat(np.arange(len(kinds)), copies)
    _, taken = linear_sum_assignment(costs[:, columns])
    slots = columns[taken]
    cost = float(costs[np.arange(jobs), slots].sum())
    return Matching(kinds[slots], places[slots], cost, _bound(costs, copies, slots))


def _bound(costs: Floats, copies: Ints, slots: Ints) -> float:
    """The dual: max Σ_i min_s (c_is + v_s) − Σ_s n_s v_s over prices v ≥ 0 of the places.

    A place's price is what one more copy of it would save: its new job leaves another place, and so on
    (longest paths). Any v ≥ 0 gives a bound, so rounding makes it no false one.
    """
    count = len(copies)
    saved = np.full((count, count), -np.inf)  # by a move from a place (row) to another (column)
    for slot in np.unique(slots):
        mine = costs[slots == slot]
        saved[slot] = (mine[:, [slot]] - mine).max(axis=0)
    prices = np.zeros(count)
    for _ in range(count):
        better = np.maximum(prices, (prices[:, None] + saved).max(axis=0))
        if np.array_equal(better, prices):
            break
        prices = better
    return float((costs + prices).min(axis=1).sum() - copies @ prices)
