"""Policies paired by replication: clear differences, rankings, changes of a ranking.

A *cell* holds what one policy did in one setting: ``hits`` and ``costs``, one value per replication.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np

from nona.simulation.statistics.intervals import Interval, mean_interval
from nona.simulation.statistics.ratio import Ratio, paired_ratio

Row = Mapping[str, Any]
Key = Literal["hits", "costs"]


def mean(cell: Row, key: Key) -> float:
    """Over the replications."""
    return float(np.mean(cell[key]))


def difference(one: Row, other: Row, key: Key) -> Interval:
    """The difference of two policies, paired by replication.

    >>> difference({"hits": [0.9, 0.8]}, {"hits": [0.5, 0.4]}, "hits").half_width < 1e-9
    True
    """
    return mean_interval(np.asarray(one[key], dtype=float) - np.asarray(other[key], dtype=float))


def cost_ratio(one: Row, other: Row) -> Ratio:
    """Cost of one over the other's, with Fieller's interval."""
    return paired_ratio(one["costs"], other["costs"])


def clear(found: Interval) -> bool:
    """Whether the interval excludes 0.

    >>> clear(Interval(0.1, 0.05, 3)), clear(Interval(0.1, 0.2, 3)), clear(Interval(0.0, 0.0, 3))
    (True, False, False)
    """
    return bool(found.low > 0 or found.high < 0)


def order(cells: Mapping[str, Row], key: Key) -> list[str]:
    """Policies from good to bad: most SLOs kept, or least cost."""
    sign = -1.0 if key == "hits" else 1.0
    return sorted(cells, key=lambda n: (sign * mean(cells[n], key), n))


def ranking_text(cells: Mapping[str, Row], key: Key) -> str:
    """The order, with ≈ between neighbours without a clear difference.

    >>> a, b, c = {"hits": [1.0, 1.0]}, {"hits": [0.9, 0.91]}, {"hits": [0.9, 0.9]}
    >>> ranking_text({"a": a, "b": b, "c": c}, "hits")
    'a > b ≈ c'
    """
    names = order(cells, key)
    told = names[:1]
    for before, name in itertools.pairwise(names):
        told += [" > " if clear(difference(cells[before], cells[name], key)) else " ≈ ", name]
    return "".join(told)


def swaps(default: Mapping[str, Row], other: Mapping[str, Row], key: Key) -> Iterator[tuple[str, str]]:
    """(above, below) clearly under ``other``, where the order of the means was the reverse before.

    >>> high, low = {"hits": [0.9, 0.91]}, {"hits": [0.5, 0.52]}
    >>> list(swaps({"a": high, "b": low}, {"a": low, "b": high}, "hits"))
    [('b', 'a')]
    """
    names = order(other, key)
    for place, above in enumerate(names):
        for below in names[place + 1 :]:
            before = mean(default[above], key) - mean(default[below], key)
            wrong = before < 0 if key == "hits" else before > 0
            if wrong and clear(difference(other[above], other[below], key)):
                yield above, below
