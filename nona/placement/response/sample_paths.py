"""Sample paths of the work waiting at a resource, to be read at any instant.

A resource (an executor of some class, or a link) sees arrivals at instants a_k that bring work w_k
(seconds). With C_k = w_1 + … + w_k its idle time by a_k and the work just after a_k are (D. V. Lindley,
Proceedings of the Cambridge Philosophical Society 48, 1952, in cumulated form)::

    I_k = max(v, max over i ≤ k of (a_i − C_{i−1})) − v,   P_k = v + C_k − a_k + I_k

with v the work at time 0. Between arrivals the work falls at rate 1 down to 0, and the idle time grows
once it is there. A path is closed to a circle: v is the work at its end. Own work that a job adds to
a resource is consumed by the idle time that the path has without it, so δ(t) = (δ(s) − (I(t) − I(s)))⁺
is what is left of it: the path need not be walked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.response.ordering import in_order

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_PLACES = 1 << 13  # of a path, among which visits are drawn


@dataclass(frozen=True, eq=False)
class Path:
    """One circular path: arrivals in order, work just after each, idle time up to each, and its length.

    ``mean_s`` is the time average of the work, ``points_s`` the starting points for each class
    whose arrivals are not Poisson.
    """

    time_s: Floats
    after_s: Floats
    idle_s: Floats
    length_s: float
    idle_total_s: float
    mean_s: float
    points_s: dict[int, Floats]


def make_path(
    time_s: Floats, work_s: Floats, length_s: float, points_s: dict[int, Floats] | None = None
) -> Path:
    """The path of arrivals at ``time_s`` (any order, within 0…``length_s``) that bring ``work_s``.

    >>> path = make_path(np.array([1.0, 2.0]), np.array([2.0, 1.0]), 10.0)
    >>> path.after_s.tolist(), path.idle_total_s, path.mean_s
    ([0.0, 2.0, 2.0], 7.0, 0.35)
    """
    order = in_order(time_s)
    at = np.concatenate([[0.0], time_s[order]])
    work = np.concatenate([[0.0], work_s[order]])
    total = np.cumsum(work)
    floor = np.maximum.accumulate(at - (total - work))
    left = 0.0
    for _ in range(2):  # once around from an empty system gives the work at the seam
        idle = np.maximum(floor, left)
        after = total - at + idle
        gap = length_s - float(at[-1])
        left = max(0.0, float(after[-1]) - gap)
    idle = idle - idle[0]
    gaps = np.diff(at, append=length_s)
    busy = np.minimum(gaps, after)
    area = float((busy * (after - 0.5 * busy)).sum())
    rest = max(0.0, gap - float(after[-1]))
    return Path(at, after, idle, length_s, float(idle[-1]) + rest, area / length_s, points_s or {})


class Bank:
    """Paths side by side on one axis; row r is read at ``(base + t/length) mod 1``.

    ``mean_s`` (rows,) is the mean work over ``_PLACES`` even places.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths
        self.length_s = np.array([p.length_s for p in paths])
        self.idle_total_s = np.array([p.idle_total_s for p in paths])
        rows = range(len(paths))
        self._key = np.concatenate([r + p.time_s / p.length_s for r, p in zip(rows, paths, strict=True)])
        self._after = np.concatenate([p.after_s for p in paths])
        self._idle = np.concatenate([p.idle_s for p in paths])
        even, none = (np.arange(_PLACES) + 0.5) / _PLACES, np.zeros(_PLACES)
        work = [self.look(np.full(_PLACES, r), even, none)[0] for r in rows]
        self.mean_s = np.array([float(w.mean()) for w in work])
        self._by_work = np.array([even[np.argsort(w, kind="stable")] for w in work])

    def places(self, row: int, number: int, rng: np.random.Generator) -> Floats:
        """(number,) Places on a path at which the work has the path's distribution, evenly drawn from it.

        They are strata of the work itself, in random order, so their mean is nearly the path's.
        """
        rank = (rng.permutation(number) + rng.random(number)) / max(number, 1)
        found: Floats = self._by_work[row, (rank * _PLACES).astype(np.int64)]
        return found

    def look(self, row: Ints, base: Floats, t: Floats) -> tuple[Floats, Floats]:
        """Work waiting at ``t`` seconds after the base, and the idle time up to then (from some origin)."""
        length = self.length_s[row]
        turn = base + t / length
        whole = np.floor(turn)
        key = np.minimum(row + (turn - whole), np.nextafter(row + 1.0, 0.0))
        at = np.searchsorted(self._key, key, side="right") - 1
        after = self._after[at]
        left = after - (key - self._key[at]) * length
        idle = self._idle[at] + np.maximum(-left, 0.0) + whole * self.idle_total_s[row]
        return np.maximum(left, 0.0), idle
