"""Tables for the search over a group: each function's configurations, sorted, and sums.

Times and costs are rounded to multiples of a power of two so fine that every sum of a path is exact. So
no order of adding changes a result, and all forms of the search return the same paths even where costs
or times are equal. The rounding moves a sum by less than 1e-15 of the largest one.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from nona.core.arrays import Bools, Floats, Ints
from nona.core.errors import SimulationError

Number = TypeVar("Number", np.float64, np.int64)
CODE_BITS = 62  # a path is written as one whole number


class GroupTables(NamedTuple):
    """A group of n functions with at most M configurations each, in arrays.

    ``choices`` (n,): configurations of each function.
    ``cost``, ``time`` (n, M): US dollars a job, seconds; sorted by (cost, time, number).
    ``number`` (n, M): which configuration stands there.
    ``fastest`` (n,): where the fastest stands; of several the cheapest.
    ``least_s``, ``least_usd``, ``fast_usd`` (n + 1,): sums from a function to the last: of the least times
        (tMin), of the least costs (cMin), of the costs of the fastest (cFast).
    ``fast_code``, ``unit`` (n + 1,), (n,): a path's code is Σ (number + 1) · unit; ``fast_code`` is that of
        the fastest from a function on.
    ``grace_s``: what rounding may have added to the time of a path.
    """

    choices: Ints
    cost: Floats
    time: Floats
    number: Ints
    fastest: Ints
    least_s: Floats
    least_usd: Floats
    fast_usd: Floats
    fast_code: Ints
    unit: Ints
    grace_s: float

    @property
    def longest_s(self) -> float:
        """Seconds of the slowest path: with more time than that nothing changes."""
        rows = zip(self.time, self.choices.tolist(), strict=True)
        return float(sum(row[:n].max() for row, n in rows))

    def path(self, code: int) -> tuple[int, ...]:
        """Return the configurations, by number, that a code stands for."""
        configurations = []
        for unit in self.unit.tolist():
            configurations.append(code // unit - 1)
            code %= unit
        return tuple(configurations)


def make_tables(time_s: Floats, job_cost: Floats, usable: Bools, grace_s: float = 0.0) -> GroupTables:
    """Tables of a group; all arrays are (n, C).

    ``time_s``, ``job_cost``: seconds, and US dollars a job, of each function in each configuration, as
    :func:`on_grid` rounds them. ``usable``: which configurations may be chosen.
    """
    n, c = time_s.shape
    _check(n, c, usable)
    kept = [np.flatnonzero(row) for row in usable]
    count = np.array([len(k) for k in kept], dtype=np.int64)
    shape = (n, int(count.max()))
    cost, time = np.zeros(shape), np.zeros(shape)
    number = np.zeros(shape, dtype=np.int64)
    fastest = np.zeros(n, dtype=np.int64)
    for j, k in enumerate(kept):
        order = k[np.lexsort((k, time_s[j, k], job_cost[j, k]))]
        number[j, : len(k)] = order
        cost[j, : len(k)], time[j, : len(k)] = job_cost[j, order], time_s[j, order]
        fastest[j] = int(np.argmin(time_s[j, order]))
    unit = (c + 1) ** np.arange(n - 1, -1, -1, dtype=np.int64)
    stage = np.arange(n)
    return GroupTables(
        choices=count,
        cost=cost,
        time=time,
        number=number,
        fastest=fastest,
        least_s=_suffix(time[stage, fastest]),
        least_usd=_suffix(cost[:, 0]),
        fast_usd=_suffix(cost[stage, fastest]),
        fast_code=_suffix((number[stage, fastest] + 1) * unit),
        unit=unit,
        grace_s=grace_s,
    )


def on_grid(values: Floats, usable: Bools) -> tuple[Floats, float]:
    """``values`` (n, C) as multiples of a power of two with which a path's sums are exact; that power.

    >>> on_grid(np.array([[0.1], [0.2]]), np.ones((2, 1), dtype=bool))[0].sum(axis=0).tolist()
    [0.30000000000000004]
    """
    kept = np.where(usable, values, 0.0)
    largest = float(kept.max()) * (len(values) + 1)
    if largest <= 0:
        return kept, 0.0
    step = math.ldexp(1.0, math.frexp(largest)[1] - 52)
    return np.rint(kept / step) * step, step


def undominated(time_s: Floats, job_cost: Floats, usable: Bools, k: int) -> Bools:
    """Mark the configurations (n, C) that an answer may have, by those at least as good in time and in cost.

    Of the first function those that fewer than ``k`` others are at least as good as; of the others those
    that none is. The best paths of the ``k`` best first configurations hold no other: with a better one in
    its place, a path would be no slower and no dearer, and come earlier; and a first configuration with
    ``k`` better ones has ``k`` paths before its own. (Of equal ones the smaller number is better.)
    """
    kept = usable.copy()
    for j, row in enumerate(kept):
        at = np.flatnonzero(row)
        order = at[np.lexsort((at, time_s[j, at], job_cost[j, at]))]
        time = time_s[j, order]
        before = np.tril(time[None, :] <= time[:, None], -1).sum(axis=1)
        kept[j, order[before >= (k if j == 0 else 1)]] = False
    return kept


def _check(n: int, c: int, usable: Bools) -> None:
    if not usable.any(axis=1).all():
        raise SimulationError(
            "ESG: a function has no configuration that can run; allow batches of 1 and smaller sizes."
        )
    if n * math.log2(c + 1) > CODE_BITS:
        raise SimulationError(
            f"ESG: groups of {n} functions with {c} configurations each are too large; lower 'group'."
        )


def _suffix(values: NDArray[Number]) -> NDArray[Number]:
    """(n + 1,) Sums from each place to the end."""
    total = np.zeros(len(values) + 1, dtype=values.dtype)
    total[:-1] = np.cumsum(values[::-1])[::-1]
    return total


class Path(NamedTuple):
    """A partial or full path: US dollars a job, seconds, and the code of its configurations."""

    cost: float
    time: float
    code: int


class Paths(NamedTuple):
    """Room for H paths: ``sums`` (H, 2) are cost and time, ``codes`` (H,)."""

    sums: Floats
    codes: Ints


class Heap(NamedTuple):
    """A heap with room for H paths, each with a place in the tree: ``places`` (H,)."""

    sums: Floats
    codes: Ints
    places: Ints


def room_for(paths: int) -> Paths:
    """Return empty arrays for so many paths."""
    return Paths(np.zeros((paths, 2)), np.zeros(paths, dtype=np.int64))


def heap_for(paths: int) -> Heap:
    """Return an empty heap for so many paths."""
    return Heap(*room_for(paths), np.zeros(paths, dtype=np.int64))
