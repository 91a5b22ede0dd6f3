"""What a configuration costs at least by where its groups are (:mod:`~.exchange_groups`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.certificate.exchange_groups import ExchangeGroups
from nona.placement.certificate.leaving_root import earliest_end
from nona.placement.interiors.flat_shape import Flat
from nona.placement.interiors.prices import Prices
from nona.placement.interiors.start_bounds import crossing_s, elsewhere_s, starts, tails_elsewhere_s, tails_s

Floats = NDArray[np.float64]
_CELLS = 48


@dataclass(frozen=True, slots=True)
class Ends:
    """Bounds on span + charges on a path, with crossings of one price.

    Of every configuration that is not local; of those where the root's server does not hold all joined
    groups, the sink with the root, and away; what passes before and after the groups of another server.
    """

    least_s: float
    home_s: float
    apart_s: float
    before_s: float
    after_s: float

    def of(self, splits: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """The bounds with the sink at the root, and away, where ``splits``: a joined group is not there."""
        home, apart = (np.where(splits, s, 0.0) for s in (self.home_s, self.apart_s))
        return np.maximum(self.least_s, home), np.maximum(self.least_s, apart)


def exchange_group_ends(f: Flat, family: ExchangeGroups, charged: Floats) -> Ends:
    """The bounds when an edge that is crossed costs ``charged`` (E,) besides its time.

    Joined groups on several servers meet behind a crossing (u, v) into an interior task. Either v is not on
    the root's server, or u is not. If all are on one other server, their work is between the first
    arrival there and the way back.
    """
    delay = crossing_s(f, charged)
    start, tail = starts(f, delay), tails_s(f, delay)
    away, back = elsewhere_s(f, start, delay), tails_elsewhere_s(f, tail, delay)
    least = earliest_end(f, start, delay)
    before, after = float(away[family.inside].min()) + f.visit_s, float(back[family.inside].min())
    if not family.meets.any():
        return Ends(least, 0.0, 0.0, before, after)
    u, v = f.source[family.meets], f.target[family.meets]
    there = np.maximum(start[u] + f.time_s[u] + delay[family.meets], away[v]) + f.time_s[v]
    here = away[u] + f.time_s[u] + delay[family.meets] + f.time_s[v]
    whole = before + family.joined_s
    home = min(float(np.minimum(there + back[v], here + tail[v]).min()) + f.visit_s, whole + after)
    apart = min(float(np.minimum(there + tail[v], here + back[v]).min()) + f.visit_s, whole)
    return Ends(least, home, apart, before, after)


def exchange_group_cost_s(
    f: Flat, prices: Prices, family: ExchangeGroups, per_byte: Floats, free: Ends, priced: Ends
) -> float:
    """A bound on span + α·load + γ·M of all configurations that are not local, but for what they share.

    Formula: min over the work of groups W with the root of
    max(e(α), max(e(0), visit + W) + α·load(W)) + γ·(W²/blocks + squares of the rest).

    Parameters
    ----------
    per_byte : (2,)
        α for a byte and a squared byte.
    free, priced
        e(0) and e(α).
    """
    low, high = _cells(family)
    n, total = len(family.work_s), float(family.work_s.sum())
    fewest = np.cumsum(np.sort(family.work_s))
    splits = high < family.joined_s * (1.0 - 1e-9)
    (home_end, apart_end), paid = priced.of(splits), np.arange(n + 1.0) * float(family.cut @ per_byte)
    timed = np.full((len(low), n + 1), np.inf)
    for q in range(1, n + 1):  # groups on the one of the other servers that has most
        home, apart = _at(f, family, per_byte, (low, high), free, (q, float(fewest[q - 1])))
        home, apart = home[:, None] + paid, apart[:, None] + paid
        found = np.minimum(np.maximum(home_end[:, None], home), np.maximum(apart_end[:, None], apart))
        fits = (q == 1) | (fewest[q - 1] + low <= total * (1.0 + 1e-9))
        timed = np.minimum(timed, np.where(fits[:, None], found, np.inf))
    return float((timed + _squares(f, prices, family, (low, high), np.arange(n + 1.0))).min())


def _at(
    f: Flat,
    family: ExchangeGroups,
    per_byte: Floats,
    cells: tuple[Floats, Floats],
    free: Ends,
    most: tuple[int, float],
) -> tuple[Floats, Floats]:
    """(cells,) Span and load with the sink at the root, and away, when q groups or fewer share a server.

    ``most``: q and the work of that many.
    """
    (low, high), (q, busy_s), total = cells, most, float(family.work_s.sum())
    into, away = float(family.into[q - 1] @ per_byte), float(family.away[q - 1] @ per_byte)
    n, least = len(family.work_s), float(family.work_s.min())
    out = (family.out @ per_byte)[_count(high / least, n)]
    home, apart = free.of(high < family.joined_s * (1.0 - 1e-9))
    if q > 1:
        home, apart = (
            np.maximum(home, free.before_s + busy_s + free.after_s),
            np.maximum(apart, free.before_s + busy_s),
        )
    home = np.maximum(home, f.visit_s + low) + away * (total - high)
    # The sink on another server, where groups of work ``low`` (second axis) are too.
    rest = np.maximum(total - high[:, None] - high[None, :], 0.0)
    both = np.maximum(np.maximum(apart, f.visit_s + low)[:, None], f.visit_s + low[None, :])
    both = both + (out * low)[:, None] + into * low[None, :] + away * rest + float(family.extra @ per_byte)
    possible = low[:, None] + low[None, :] <= total * (1.0 + 1e-9)
    return home, np.where(possible, both, np.inf).min(axis=1)


def _squares(
    f: Flat, prices: Prices, family: ExchangeGroups, cells: tuple[Floats, Floats], cuts: Floats
) -> Floats:
    """(cells, cuts) γ·M at least."""
    charged, blocks = np.zeros((len(cells[0]), len(cuts))), 1.0 + family.between + family.begins * cuts
    for k, factor in enumerate(prices.blocks.factor.tolist()):
        stays = np.multiply.outer((family.class_share[k] * cells[0]) ** 2, 1.0 / blocks)
        others = family.single_s[k] * (float(family.work_s.sum()) - cells[1])
        single = float((f.class_s[k] ** 2).sum())
        charged += factor * (np.maximum(stays + others[:, None], single) + f.root_s[k] ** 2)
    return charged


def _cells(family: ExchangeGroups) -> tuple[Floats, Floats]:
    """Ranges of the work that stays: exactly 0, 1, 2, … groups where all are equal."""
    n, total = len(family.work_s), float(family.work_s.sum())
    if np.ptp(family.work_s) <= 1e-9 * total:
        low = np.arange(n + 1.0) * (total / n)
        return low, low
    ends = np.linspace(0.0, total, _CELLS + 1)
    return ends[:-1], ends[1:]


def _count(groups: Floats, n: int) -> NDArray[np.int64]:
    """Row of the tables for at most so many groups."""
    return np.clip(np.floor(groups + 1e-6), 1, n).astype(np.int64) - 1
