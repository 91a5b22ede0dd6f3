"""The search as the slides describe it: stage by stage, every partial path by every configuration.

Configurations are taken in order of cost; the time blade skips one, the cost blade ends the row, since all
that follow are dearer. The k best known completions start again at every stage: kept across stages, one
full path would be counted once per stage, the k-th bound would become too tight, and paths get lost.
"""

from __future__ import annotations

from typing import Any

from nona.compiled import compiled
from nona.serverless.policies.esg.ranking import comes_before, note


@compiled
def stage_by_stage(f: Any, limit: float, k: int, old: Any, new: Any, known: Any, best: Any) -> Any:
    """(paths found, looked at, opened), the paths in ``best``; −1 found when the lists are too small.

    ``old`` and ``new`` are lists of partial paths: ((H, 2) cost and time, (H,) code).
    """
    if f.least_s[0] > limit:
        return 0, 0, 0
    n, looked, opened, many = len(f.choices), 0, 0, 1
    old[0][0, 0], old[0][0, 1], old[1][0] = 0.0, 0.0, 0
    for i in range(n):
        have, kept = 0, 0
        for p in range(many):
            if kept + f.choices[i] > len(new[1]):
                return -1, looked, opened
            have, kept, looked = _extend(
                f, i, limit, k, old[0][p, 0], old[0][p, 1], old[1][p], new, kept, known, have, looked
            )
        many = kept
        opened += kept
        old, new = new, old
    found = 0
    for p in range(many):
        found = note(best[0], best[1], k, found, old[0][p, 0], old[0][p, 1], old[1][p])
    return found, looked, opened


@compiled
def _extend(
    f: Any,
    i: int,
    limit: float,
    k: int,
    cost: float,
    time: float,
    code: int,
    new: Any,
    kept: int,
    known: Any,
    have: int,
    looked: int,
) -> Any:
    """One partial path by every configuration of function ``i``."""
    for rank in range(f.choices[i]):
        looked += 1
        taken = time + f.time[i, rank]
        low_s = taken + f.least_s[i + 1]
        if low_s > limit:
            continue
        paid = cost + f.cost[i, rank]
        low_usd = paid + f.least_usd[i + 1]
        longer = code + (f.number[i, rank] + 1) * f.unit[i]
        if have == k and comes_before(
            known[0][k - 1, 0], known[0][k - 1, 1], known[1][k - 1], low_usd, low_s, longer
        ):
            break
        done = longer + f.fast_code[i + 1]
        have = note(known[0], known[1], k, have, paid + f.fast_usd[i + 1], low_s, done)
        new[0][kept, 0], new[0][kept, 1], new[1][kept] = paid, taken, longer
        kept += 1
    return have, kept, looked
