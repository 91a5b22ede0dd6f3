"""Which executors flows hold: claims made whole, by what each row is still short of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.schedulers.flows.claims import Claims
from nona.schedulers.flows.cluster import Floats, FlowCluster, Ints

ALL: tuple[int, ...] = ()  # the row of executors that all flows share


@dataclass(frozen=True, eq=False, slots=True)
class Holdings:
    """``rows``: the flows of each row, the last is :data:`ALL`; ``owner`` (E,): the row that holds each
    executor; ``short`` (rows, K): executors that a row should have had more, over all rounds."""

    rows: tuple[tuple[int, ...], ...]
    owner: Ints
    short: Floats


def hold(of: FlowCluster, claims: Claims, before: Holdings | None) -> Holdings:
    """The holdings of the next round: of each class, one executor after the other goes to the row that is
    short of most, the first of equals. What nobody claims, all flows share. A row keeps what it had as far
    as it goes; other executors change hands in order of their numbers."""
    rows = (*claims.rows, ALL)
    left = of.counts - claims.executors.sum(axis=0)
    short = np.vstack([claims.executors, np.maximum(left, 0.0)])
    had = np.full(len(of.executor_class), -1)
    if before is not None:
        place = {row: r for r, row in enumerate(rows)}
        for r, row in enumerate(before.rows):
            if row in place:
                short[place[row]] += before.short[r]
                had[before.owner == r] = place[row]
    owner = np.full(len(had), -1)
    for k, count in enumerate(of.counts):
        number = np.zeros(len(rows), np.int64)
        for _ in range(count):
            most = int(np.argmax(short[:, k]))
            number[most] += 1
            short[most, k] -= 1.0
        _assign(owner, had, np.flatnonzero(of.executor_class == k), number)
    return Holdings(rows, owner, short.round(9))


def _assign(owner: Ints, had: Ints, executors: Ints, number: Ints) -> None:
    """Give each row its ``number`` of ``executors``, those that it had first."""
    missing = number.copy()
    for r in range(len(number)):
        kept = executors[had[executors] == r][: number[r]]
        owner[kept] = r
        missing[r] -= len(kept)
    free = executors[owner[executors] < 0]
    owner[free] = np.repeat(np.arange(len(number)), missing)


def sets_of(of: FlowCluster, held: Holdings) -> NDArray[np.bool_]:
    """(Q, E) Executors that each flow may use: those of its rows, and those that all share."""
    sets = np.zeros((len(of.rates), len(held.owner)), dtype=np.bool_)
    for r, row in enumerate(held.rows):
        flows = list(row) if row != ALL else list(range(len(sets)))
        sets[flows] |= held.owner == r
    return sets


def owned(of: FlowCluster, held: Holdings | None) -> Ints:
    """(Q,) Executors of the rows of each flow; all before the first round."""
    if held is None:
        return np.full(len(of.rates), int(of.counts.sum()))
    counts = np.bincount(held.owner, minlength=len(held.rows))
    found = np.zeros(len(of.rates), np.int64)
    for row, count in zip(held.rows, counts, strict=True):
        found[list(row)] += count
    return found
