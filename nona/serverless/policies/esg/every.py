"""Exhaustive search: every path of a group, to compare with."""

from __future__ import annotations

from typing import NamedTuple

from nona.compiled import compiled
from nona.serverless.policies.esg.paths import Path, Paths
from nona.serverless.policies.esg.ranking import note
from nona.serverless.policies.esg.tables import Ints, Tables


class Trail(NamedTuple):
    """The path to where the search stands, at every depth, and the next rank to try there."""

    paths: Paths
    rank: Ints


@compiled
def every_path(f: Tables, limit_s: float, trail: Trail, best: Paths) -> tuple[int, int, int]:
    """(paths found, looked at, the same again), the paths in ``best``.

    ``trail`` has room for a path more than there are functions.
    """
    n, looked, found, i = len(f.choices), 0, 0, 0
    sums, codes, rank = trail.paths.sums, trail.paths.codes, trail.rank
    sums[0, 0], sums[0, 1], codes[0] = 0.0, 0.0, 0
    rank[0] = 0
    while i >= 0:
        r = rank[i]
        if r == f.choices[i]:
            i -= 1
            continue
        rank[i] = r + 1
        looked += 1
        code = codes[i] + (f.number[i, r] + 1) * f.unit[i]
        path = Path(sums[i, 0] + f.cost[i, r], sums[i, 1] + f.time[i, r], code)
        if i == n - 1:
            if path.time <= limit_s:
                found = note(best, found, path, f.unit[0])
            continue
        i += 1
        sums[i, 0], sums[i, 1], codes[i] = path.cost, path.time, path.code
        rank[i] = 0
    return found, looked, looked
