"""Sums over intervals of time in which something is held."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def ended_or_stopped(ended_s: Floats, stopped_s: float) -> Floats:
    """When each ended; what had not ended (``nan``) lasted until the run stopped.

    >>> ended_or_stopped(np.array([1.0, np.nan]), 9.0).tolist()
    [1.0, 9.0]
    """
    return np.where(np.isnan(ended_s), stopped_s, ended_s)


def overlap_s(from_s: Floats, to_s: Floats, start_s: float, end_s: float) -> Floats:
    """Length of [from, to] ∩ [start, end], elementwise; ``nan`` where an end is.

    >>> overlap_s(np.array([0.0, 5.0]), np.array([2.0, 9.0]), 1.0, 6.0).tolist()
    [1.0, 1.0]
    """
    length: Floats = np.minimum(to_s, end_s) - np.maximum(from_s, start_s)
    return np.maximum(length, 0.0)


def most_at_once(place: Ints, from_s: Floats, to_s: Floats, amount: Ints, places: int) -> Ints:
    """(places,) The most that is held at any time in each place; what ends at an instant ends first.

    >>> args = np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 4.0]), np.array([1, 5, 3])
    >>> most_at_once(np.array([0, 0, 0]), *args, 2).tolist()
    [8, 0]
    """
    where = np.concatenate([place, place])
    when = np.concatenate([to_s, from_s])
    change = np.concatenate([-amount, amount])
    order = np.lexsort((change > 0, when, where))
    where, held = where[order], np.cumsum(change[order])  # each place ends with 0
    most = np.zeros(places, dtype=np.int64)
    np.maximum.at(most, where, held)
    return most


def sharing_pairs(place: Ints, slots: Ints, from_s: Floats, to_s: Floats) -> int:
    """Pairs of neighbours in time that hold a slot of one place at once; 0 means that none do.

    ``slots`` has a bit for each slot.

    >>> at = np.array([0, 0]), np.array([0b011, 0b110])
    >>> sharing_pairs(*at, np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    1
    """
    shared = 0
    for bit in range(int(slots.max(initial=0)).bit_length()):
        holds = np.flatnonzero((slots >> bit) & 1)
        order = holds[np.lexsort((to_s[holds], from_s[holds], place[holds]))]
        same = place[order][1:] == place[order][:-1]
        shared += int((same & (from_s[order][1:] < to_s[order][:-1])).sum())
    return shared
