"""Policies paired by replication: clear differences, rankings, changes of a ranking."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nona.results.serverless.study import Cell, Cells
from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.simulation.statistics.ratio import Ratio, paired_ratio

Key = Literal["hits", "costs"]
KEYS: tuple[Key, ...] = ("hits", "costs")


def values(cell: Cell, key: Key) -> NDArray[np.float64]:
    """(R,) One value per replication, ``nan`` where there is none."""
    return np.array(cell.hits if key == "hits" else cell.costs, dtype=np.float64)


def mean(cell: Cell, key: Key) -> float:
    """Over the replications."""
    return float(np.mean(values(cell, key)))


def difference(one: Cell, other: Cell, key: Key) -> Interval:
    """The difference of two policies, paired by replication."""
    return mean_interval(values(one, key) - values(other, key))


def cost_ratio(one: Cell, other: Cell) -> Ratio:
    """Cost of one over the other's, with Fieller's interval."""
    return paired_ratio(values(one, "costs"), values(other, "costs"))


def clear(found: Interval) -> bool:
    """Whether the interval excludes 0.

    >>> clear(Interval(0.1, 0.05, 3)), clear(Interval(0.1, 0.2, 3)), clear(Interval(0.0, 0.0, 3))
    (True, False, False)
    """
    return bool(found.low > 0 or found.high < 0)


def order(cells: Cells, key: Key) -> list[str]:
    """Policies from good to bad: most SLOs kept, or least cost."""
    sign = -1.0 if key == "hits" else 1.0
    return sorted(cells, key=lambda n: (sign * mean(cells[n], key), n))


def ranking_text(cells: Cells, key: Key) -> str:
    """The order, with ≈ between neighbours without a clear difference: ``a > b ≈ c``."""
    names = order(cells, key)
    told = names[:1]
    for before, name in itertools.pairwise(names):
        told += [" > " if clear(difference(cells[before], cells[name], key)) else " ≈ ", name]
    return "".join(told)


def swaps(default: Cells, other: Cells, key: Key) -> Iterator[tuple[str, str]]:
    """(above, below) clearly under ``other``, where the order of the means was the reverse before."""
    names = order(other, key)
    for place, above in enumerate(names):
        for below in names[place + 1 :]:
            before = mean(default[above], key) - mean(default[below], key)
            wrong = before < 0 if key == "hits" else before > 0
            if wrong and clear(difference(other[above], other[below], key)):
                yield above, below
