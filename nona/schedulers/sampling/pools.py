"""Pools of executors to draw from: all of them, or those of one class.

A query class whose shares are those of a uniform draw has one pool, all executors. Otherwise it has
a pool for each executor class of positive share: the class is drawn first, then an executor in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nona.errors import SimulationError
from nona.system import System

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_ALL = -1
_SAME = 1e-12


class Pools(NamedTuple):
    """P pools, and which of them each of Q query classes draws from; E executors.

    ``entries`` (Q+1,) delimits the entries of a query class in ``pool``, the number of a pool, and
    ``pool_share``, the probabilities added up (the last is 1). ``pool_start`` (P+1,) delimits the pools
    in ``executor``, which lists the executors of each server by server. At p·E + e, ``place`` is the
    place of executor e in pool p, −1 if it is not in it, ``server_place`` where the executors of its
    server start there, and ``server_size`` how many they are.
    """

    entries: Ints
    pool: Ints
    pool_share: Floats
    pool_start: Ints
    executor: Ints
    place: Ints
    server_place: Ints
    server_size: Ints


def make_pools(system: System, shares: Floats | None = None) -> Pools:
    """The pools for ``shares`` (Q, K), by default one of all executors.

    Raises
    ------
    SimulationError
        When shares are negative, do not add up to 1, or fall on a class without executors.
    """
    if shares is not None:
        _check(system, np.asarray(shares, dtype=float))
    numbers: dict[int, int] = {}
    entries, pool, cumulative = [0], [], []
    for j in range(len(system.queries)):
        row = None if shares is None else np.asarray(shares[j], dtype=float)
        if row is None or np.abs(row - system.class_weights).max() <= _SAME:
            chosen, up = [_ALL], np.ones(1)
        else:
            chosen = np.flatnonzero(row > 0).tolist()
            up = np.cumsum(row[chosen])
            up = up / up[-1]
        pool += [numbers.setdefault(k, len(numbers)) for k in chosen]
        cumulative += up.tolist()
        entries.append(len(pool))
    columns = [_pool(system, k) for k in numbers]
    return Pools(
        np.array(entries, dtype=np.int64),
        np.array(pool, dtype=np.int64),
        np.array(cumulative, dtype=float),
        np.cumsum([0, *(len(c[0]) for c in columns)]).astype(np.int64),
        *(np.concatenate([c[i] for c in columns]) for i in range(4)),
    )


def _pool(system: System, k: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Executors of class ``k`` (or all) server by server; places, places of servers, and their sizes."""
    servers = system.executor_server
    inside = np.ones(len(servers), dtype=bool) if k == _ALL else system.executor_class == k
    members = np.flatnonzero(inside)
    order = members[np.argsort(servers[members], kind="stable")].astype(np.int64)
    place = np.full(len(servers), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    size = np.bincount(servers[members], minlength=system.servers)
    start = np.concatenate([[0], np.cumsum(size)[:-1]])
    return order, place, start[servers].astype(np.int64), size[servers].astype(np.int64)


def _check(system: System, shares: Floats) -> None:
    if shares.shape != system.uniform_shares.shape:
        raise SimulationError(
            f"Class shares: {shares.shape} must be (query classes, executor classes) = "
            f"{system.uniform_shares.shape}; solve the placement for this system."
        )
    for query, row in zip(system.queries, shares, strict=True):
        bad = not np.all(row >= 0) or abs(row.sum() - 1) > 1e-6 or (row[system.class_counts == 0] > 0).any()
        if bad:
            listed: Sequence[float] = row.tolist()
            raise SimulationError(
                f"Class shares of {query.name!r}: {listed} must be at least 0, add up to 1 and be 0 where "
                "there is no executor; solve again."
            )
