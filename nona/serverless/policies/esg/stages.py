"""The search as the slides describe it: stage by stage, every partial path by every configuration.

Configurations are taken in order of cost; the time blade skips one, the cost blade ends the row, since all
that follow are dearer. The best known completions are kept from stage to stage: as each begins with
another configuration, none is counted twice, so that the k-th bound is never too tight.
"""

from __future__ import annotations

from typing import NamedTuple

from nona.compiled import compiled
from nona.serverless.policies.esg.paths import Path, Paths
from nona.serverless.policies.esg.ranking import comes_before, note
from nona.serverless.policies.esg.tables import Tables


class Counts(NamedTuple):
    """Known completions, paths kept in this stage, extensions looked at."""

    have: int
    kept: int
    looked: int


@compiled
def stage_by_stage(
    f: Tables, limit_s: float, lists: tuple[Paths, Paths], known: Paths, best: Paths
) -> tuple[int, int, int]:
    """(paths found, looked at, opened), the paths in ``best``; −1 found when the lists are too small.

    ``lists`` have room for the partial paths of two stages, ``known`` for as many completions as ``best``.
    """
    if f.least_s[0] > limit_s:
        return 0, 0, 0
    (old, new), many, looked, opened, have = lists, 1, 0, 0, 0
    old.sums[0, 0], old.sums[0, 1], old.codes[0] = 0.0, 0.0, 0
    for i in range(len(f.choices)):
        counts = Counts(have, 0, looked)
        for p in range(many):
            if counts.kept + f.choices[i] > len(new.codes):
                return -1, counts.looked, opened
            path = Path(old.sums[p, 0], old.sums[p, 1], old.codes[p])
            counts = _extend(f, (i, limit_s, path), new, known, counts)
        have, many, looked = counts.have, counts.kept, counts.looked
        opened += many
        old, new = new, old
    found = 0
    for p in range(many):
        found = note(best, found, Path(old.sums[p, 0], old.sums[p, 1], old.codes[p]), f.unit[0])
    return found, looked, opened


@compiled
def _extend(f: Tables, start: tuple[int, float, Path], new: Paths, known: Paths, counts: Counts) -> Counts:
    """One partial path by every configuration of a function; ``start``: the function, the limit, the path."""
    i, limit_s, path = start
    have, kept, looked = counts
    worst = len(known.codes) - 1
    for rank in range(f.choices[i]):
        looked += 1
        taken = path.time + f.time[i, rank]
        low_s = taken + f.least_s[i + 1]
        if low_s > limit_s:
            continue
        paid = path.cost + f.cost[i, rank]
        code = path.code + (f.number[i, rank] + 1) * f.unit[i]
        if have > worst:
            bound = Path(known.sums[worst, 0], known.sums[worst, 1], known.codes[worst])
            if comes_before(bound, Path(paid + f.least_usd[i + 1], low_s, code)):
                break
        done = Path(paid + f.fast_usd[i + 1], low_s, code + f.fast_code[i + 1])
        have = note(known, have, done, f.unit[0])
        new.sums[kept, 0], new.sums[kept, 1], new.codes[kept] = paid, taken, code
        kept += 1
    return Counts(have, kept, looked)
