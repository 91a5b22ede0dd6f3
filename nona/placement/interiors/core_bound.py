"""What a configuration costs at least by where its cores are (:mod:`~.cores`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.interiors.cores import Core
from nona.placement.interiors.flat import Flat
from nona.placement.interiors.prices import Prices

Floats = NDArray[np.float64]
_CELLS = 48


def core_cost_s(
    f: Flat, prices: Prices, core: Core, per_byte: Floats, free_s: float, priced_s: float
) -> float:
    """A bound on span + α·load + γ·M of all configurations that are not local, but for what they share.

    Formula: min over the core work W with the root of
    max(e(α), max(e(0), visit + W) + α·load(W)) + γ·(W²/blocks + squares of the rest).

    Parameters
    ----------
    per_byte : (2,)
        α for a byte and a squared byte.
    free_s, priced_s
        e(0) and e(α).
    """
    low, high = _cells(core)
    n, total, least = len(core.work_s), float(core.work_s.sum()), float(core.work_s.min())
    sharing = _count((total - low) / least, n)
    into, out, away = (table @ per_byte for table in (core.into, core.out, core.away))
    span = np.maximum(free_s, f.visit_s + low)
    home = span + away[sharing] * (total - high)
    # The sink on another server, where cores of work ``low`` (second axis) are too.
    rest = np.maximum(total - high[:, None] - high[None, :], 0.0)
    apart = np.maximum(span[:, None], f.visit_s + low[None, :]) + float(core.extra @ per_byte)
    apart = apart + (out[_count(high / least, n)] * low)[:, None]
    apart = apart + into[sharing][:, None] * low[None, :] + away[sharing][:, None] * rest
    possible = low[:, None] + low[None, :] <= total * (1.0 + 1e-9)
    timed = np.minimum(home, np.where(possible, apart, np.inf).min(axis=1))
    cuts = np.arange(n + 1.0)
    timed = np.maximum(priced_s, timed[:, None] + cuts * float(core.cut @ per_byte))
    return float((timed + _squares(f, prices, core, (low, high), cuts)).min())


def _squares(f: Flat, prices: Prices, core: Core, cells: tuple[Floats, Floats], cuts: Floats) -> Floats:
    """(cells, cuts) γ·M at least."""
    charged, blocks = np.zeros((len(cells[0]), len(cuts))), 1.0 + core.between + core.begins * cuts
    for k, factor in enumerate(prices.blocks.factor.tolist()):
        stays = np.multiply.outer((core.class_share[k] * cells[0]) ** 2, 1.0 / blocks)
        others = core.single_s[k] * (float(core.work_s.sum()) - cells[1])
        single = float((f.class_s[k] ** 2).sum())
        charged += factor * (np.maximum(stays + others[:, None], single) + f.root_s[k] ** 2)
    return charged


def _cells(core: Core) -> tuple[Floats, Floats]:
    """Ranges of the work that stays: exactly 0, 1, 2, … cores where all are equal."""
    n, total = len(core.work_s), float(core.work_s.sum())
    if np.ptp(core.work_s) <= 1e-9 * total:
        low = np.arange(n + 1.0) * (total / n)
        return low, low
    ends = np.linspace(0.0, total, _CELLS + 1)
    return ends[:-1], ends[1:]


def _count(cores: Floats, n: int) -> NDArray[np.int64]:
    """Row of the tables for at most so many cores."""
    return np.clip(np.floor(cores + 1e-6), 1, n).astype(np.int64) - 1
