"""Sample paths of the work waiting at a resource, and the arrivals that make them.

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

from nona.arrays import Floats, Ints
from nona.system import Arrivals

_SHORT = 1 << 16  # whole numbers below it are sorted digit by digit


def in_order(values: Floats) -> Ints:
    """Return ``np.argsort(values, kind="stable")``, about four times as fast without ties.

    Without equal values every sort gives the same order, so that the fastest one will do.

    >>> in_order(np.array([3.0, 1.0, 2.0, 1.0])).tolist()
    [1, 3, 2, 0]
    """
    order: Ints = np.argsort(values)
    ordered = values[order]
    if bool((ordered[1:] == ordered[:-1]).any()):
        order = np.argsort(values, kind="stable")
    return order


def by_count_then(count: Ints, values: Floats) -> Ints:
    """The order by ``count`` (at least 0), and among equal counts by ``values``.

    >>> by_count_then(np.array([1, 0, 1]), np.array([5.0, 9.0, 2.0])).tolist()
    [1, 2, 0]
    """
    order = in_order(values)
    small = count.size and int(count.max()) < _SHORT
    counts = count[order].astype(np.uint16) if small else count[order]
    result: Ints = order[np.argsort(counts, kind="stable")]
    return result


def ranges(first: Ints, count: Ints) -> Ints:
    """first[i], first[i] + 1, … count[i] of them, one after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    total = np.cumsum(count)
    within = np.arange(int(total[-1]) if len(total) else 0) - np.repeat(total - count, count)
    result: Ints = np.repeat(first, count) + within
    return result


_BLUR = 0.02  # of the rank, so that two resources need not show the same burst
_CROWD = 32.0  # things within the blur, so that two draws are seldom the same


def instants(arrivals: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    """Instants in 0…``length_s`` at which jobs of a class arrive, in order.

    >>> instants(Arrivals("deterministic"), 2.0, 4.0, np.random.default_rng(0)).size
    8
    """
    if rate <= 0 or length_s <= 0:
        return np.zeros(0)
    process, scv = arrivals.process, arrivals.cv**2
    if process == "mmpp":
        return _modulated(arrivals, rate, length_s, rng)
    if process == "trace" and arrivals.times_s:
        return _trace(arrivals, rate, length_s, rng)
    if process == "gamma" and scv >= 1e-12:
        return _gamma(scv, rate, length_s, rng)
    if process in ("gamma", "deterministic"):
        even = (np.arange(int(rate * length_s) + 1) + float(rng.random())) / rate
        return np.asarray(even[even < length_s], dtype=np.float64)
    return np.sort(rng.random(rng.poisson(rate * length_s)) * length_s)


def burst_rank(time_s: Floats, window_s: float) -> Floats:
    """For each arrival its rank in 0…1 by how many came within ``window_s`` before it, then by how lately.

    >>> burst_rank(np.array([0.0, 9.0, 9.1, 9.2]), 1.0).tolist()
    [0.125, 0.375, 0.625, 0.875]
    """
    number = np.arange(len(time_s))
    before = number - np.searchsorted(time_s, time_s - window_s)
    gap = np.diff(time_s, prepend=-np.inf)
    order = by_count_then(before, -gap)
    rank = np.empty(len(time_s))
    rank[order] = (number + 0.5) / max(len(time_s), 1)
    return rank


def _gamma(scv: float, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    chunks, now = [], -float(rng.random()) * float(rng.gamma(1 / scv, scv / rate))
    while now < length_s:
        times = now + np.cumsum(rng.gamma(1 / scv, scv / rate, int(rate * length_s * 1.1) + 16))
        chunks.append(times)
        now = float(times[-1])
    every: Floats = np.concatenate(chunks)
    return every[(every >= 0) & (every < length_s)]


def _modulated(a: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    """Alternating states with exponential sojourns, stretched so that bursts have their share of the time."""
    f = a.burst_fraction
    cycles = max(1, round(length_s * f / a.burst_mean_s))
    burst = rng.exponential(1.0, cycles)
    calm = rng.exponential(1.0, cycles)
    burst *= length_s * f / burst.sum()
    calm *= length_s * (1 - f) / calm.sum()
    rates = (rate * (1 - f * a.burst_factor) / (1 - f), rate * a.burst_factor)
    edges = np.concatenate([[0.0], np.cumsum(np.stack([calm, burst], axis=1).ravel())])
    sojourn = np.diff(edges)
    counts = rng.poisson(sojourn * np.tile(rates, cycles))
    begin = np.repeat(edges[:-1], counts)
    times: Floats = begin + rng.random(len(begin)) * np.repeat(sojourn, counts)
    return np.sort(times)


def _trace(a: Arrivals, rate: float, length_s: float, rng: np.random.Generator) -> Floats:
    times = np.asarray(a.times_s, dtype=float)
    if a.period_s:
        period = len(times) / rate if a.scale_to_rate else a.period_s
        return _cycles(times * (period / a.period_s), period, length_s, rng)
    span = float(times[-1] - times[0])
    period = len(times) / rate
    if not a.scale_to_rate and span > 0:
        period = span * len(times) / (len(times) - 1)
    offsets = times - times[0]
    if span > 0:
        offsets *= period * (len(times) - 1) / len(times) / span
    return _cycles(offsets, period, length_s, rng)


def _cycles(offsets: Floats, period: float, length_s: float, rng: np.random.Generator) -> Floats:
    """The offsets over and over, from a drawn place in them."""
    cycles = int(np.ceil(length_s / period)) + 1
    every: Floats = (offsets + period * (np.arange(cycles)[:, None] - rng.random())).ravel()
    return every[(every >= 0) & (every < length_s)]


def near(rank: Floats, number: int, rng: np.random.Generator) -> Ints:
    """Places among ``number`` things that stand in order of rank, one near each of ``rank`` (0…1)."""
    blur = min(max(_BLUR, _CROWD / max(number, 1)), 1.0)
    blurred = np.mod(rank + blur * rng.standard_normal(len(rank)), 2.0)
    blurred = np.minimum(blurred, 2.0 - blurred)
    return np.clip((blurred * number).astype(np.int64), 0, max(number - 1, 0))


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
        places: Floats = self._by_work[row, (rank * _PLACES).astype(np.int64)]
        return places

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
