"""Ranks of solutions with two objectives, as NSGA-II uses them (Deb et al., 2002). Both are maximised."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.problem import Floats, Ints
from nona.compiled import compiled


@compiled
def fronts(values: Floats) -> Ints:
    """(P,) the front of each of the (P, 2) values: 0 for those that no other one dominates.

    By descending first value a solution is in the first front whose last second value is not above its own:
    with two objectives no other comparison is needed.
    """
    count = len(values)
    order = np.argsort(-values[:, 1], kind="mergesort")
    order = order[np.argsort(-values[order, 0], kind="mergesort")]
    found, last, used = np.zeros(count, np.int64), np.zeros(count, np.int64), 0
    for place in order:
        low, high = 0, used
        while low < high:
            middle = (low + high) // 2
            if _dominates(values[last[middle]], values[place]):
                low = middle + 1
            else:
                high = middle
        found[place] = low
        last[low] = place
        used = max(used, low + 1)
    return found


@compiled
def _dominates(one: Floats, other: Floats) -> bool:
    no_worse = one[0] >= other[0] and one[1] >= other[1]
    return bool(no_worse and (one[0] > other[0] or one[1] > other[1]))


@compiled
def crowding(values: Floats, front: Ints) -> Floats:
    """(P,) crowding distances within fronts: Σ (next − previous) / range; ∞ at the ends."""
    found = np.zeros(len(values))
    for rank in range(front.max() + 1):
        members = np.flatnonzero(front == rank)
        for k in range(2):
            sorted_ = members[np.argsort(values[members, k], kind="mergesort")]
            span = values[sorted_[-1], k] - values[sorted_[0], k]
            found[sorted_[0]] = found[sorted_[-1]] = np.inf
            if span > 0.0:
                for i in range(1, len(sorted_) - 1):
                    found[sorted_[i]] += (values[sorted_[i + 1], k] - values[sorted_[i - 1], k]) / span
    return found


@compiled
def survivors(values: Floats, count: int) -> Ints:
    """The best ``count`` places: by front, of one front by crowding distance, largest first."""
    front = fronts(values)
    far = crowding(values, front)
    order = np.argsort(-far, kind="mergesort")
    order = order[np.argsort(front[order], kind="mergesort")]
    return order[:count]
