"""Exhaustive search: every path of a group, to compare with."""

from __future__ import annotations

from typing import Any

from nona.compiled import compiled
from nona.serverless.policies.esg.ranking import note


@compiled
def every_path(f: Any, limit: float, k: int, best: Any, trail: Any) -> Any:
    """(paths found, looked at, the same again), the paths in ``best``.

    ``trail`` is ((n + 1, 2), (n + 1,), (n,)): cost and time, code, and next rank at every depth.
    """
    n, looked, found, i = len(f.choices), 0, 0, 0
    sums, codes, rank = trail
    sums[0, 0], sums[0, 1], codes[0], rank[0] = 0.0, 0.0, 0, 0
    while i >= 0:
        r = rank[i]
        if r == f.choices[i]:
            i -= 1
            continue
        rank[i] = r + 1
        looked += 1
        cost, time = sums[i, 0] + f.cost[i, r], sums[i, 1] + f.time[i, r]
        code = codes[i] + (f.number[i, r] + 1) * f.unit[i]
        if i == n - 1:
            if time <= limit:
                found = note(best[0], best[1], k, found, cost, time, code)
            continue
        i += 1
        sums[i, 0], sums[i, 1], codes[i], rank[i] = cost, time, code, 0
    return found, looked, looked
