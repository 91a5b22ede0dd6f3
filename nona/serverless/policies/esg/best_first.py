"""Best-first search (A*) over the configurations of a group, with both blades.

A partial path p that ends with configuration x of function i has::

    tLow       = p.t + t(x) + tMin[i+1]     no completion is faster: with tLow > limit the time blade cuts it
    rscLow     = p.c + c(x) + cMin[i+1]     no completion is cheaper: its key in the heap
    rscFastest = p.c + c(x) + cFast[i+1]    what one feasible completion costs

Of the completions by the fastest, the best one of each first configuration counts, and the k best of
these are known; what cannot come before the k-th of them, the cost blade cuts. Children are made lazily,
in order of cost: when a path is taken off the heap, its next sibling and its first child go on it. Full
paths leave the heap in order of (cost, time, code), so the first to begin with a configuration is the best
that does, and the search ends with the k-th (Hart, Nilsson, Raphael 1968). Paths that begin with a
configuration that has its answer are dropped when they leave the heap.
"""

from __future__ import annotations

from typing import NamedTuple

from nona.compiled import compiled
from nona.serverless.policies.esg.paths import Heap, Path, Paths
from nona.serverless.policies.esg.ranking import begins_alike, comes_before, drop_first, note, push
from nona.serverless.policies.esg.tables import Floats, Ints, Tables

DEPTH_BITS = 16  # a place in the tree is depth · 2^16 + rank


class Limits(NamedTuple):
    """Seconds that a path may take, and whether blades cut."""

    limit_s: float
    blades: bool


class Counts(NamedTuple):
    """Entries on the heap, known completions, extensions looked at."""

    size: int
    have: int
    looked: int


@compiled
def best_first(f: Tables, limits: Limits, heap: Heap, known: Paths, best: Paths) -> tuple[int, int, int]:
    """(paths found, looked at, opened), the paths in ``best``; −1 found when the heap is too small.

    Looked at are all extensions of opened paths that are tested; opened those that no blade cuts.
    ``known`` has room for the best known completions, as many as ``best``.
    """
    found, have = 0, 0
    if limits.blades:
        if f.least_s[0] > limits.limit_s:
            return 0, 0, 0
        have = note(known, 0, Path(f.fast_usd[0], f.least_s[0], f.fast_code[0]), f.unit[0])
    root = Path(0.0, 0.0, 0 * f.fast_code[0])  # its code has the type of all codes
    counts = _open(f, limits, heap, known, (0, 0, root), Counts(0, have, 0))
    opened, last = counts.size, len(f.choices) - 1
    while counts.size > 0 and found < len(best.codes):
        if counts.size + 2 > len(heap.places):
            return -1, counts.looked, opened
        low = Path(heap.sums[0, 0], heap.sums[0, 1], heap.codes[0])
        place = heap.places[0]
        counts = Counts(drop_first(heap, counts.size), counts.have, counts.looked)
        i, rank = place >> DEPTH_BITS, place & ((1 << DEPTH_BITS) - 1)
        if i > 0 and begins_alike(best, found, low.code, f.unit[0]) >= 0:
            continue
        opened -= counts.size
        path = Path(low.cost - f.least_usd[i + 1], low.time - f.least_s[i + 1], low.code)
        if i < last:
            counts = _open(f, limits, heap, known, (i + 1, 0, path), counts)
        elif path.time <= limits.limit_s:
            best.sums[found, 0], best.sums[found, 1] = path.cost, path.time
            best.codes[found] = path.code
            found += 1
        code = path.code - (f.number[i, rank] + 1) * f.unit[i]
        before = Path(path.cost - f.cost[i, rank], path.time - f.time[i, rank], code)
        counts = _open(f, limits, heap, known, (i, rank + 1, before), counts)
        opened += counts.size
    return found, counts.looked, opened


@compiled
def least_costs(
    f: Tables,
    limits_s: Floats,
    blades: bool,
    heap: Heap,
    lists: tuple[Paths, Paths],
    costs: Floats,
    many: Ints,
) -> int:
    """For each of the limits the cost of the best path, −1 without any, and how many were looked at.

    Returns for how many of them; fewer than all when the heap is too small. ``lists`` are ``known`` and
    ``best``.
    """
    for at in range(len(limits_s)):
        found, looked, _ = best_first(f, Limits(limits_s[at], blades), heap, lists[0], lists[1])
        if found < 0:
            return at
        costs[at], many[at] = (lists[1].sums[0, 0] if found > 0 else -1.0), looked
    return len(limits_s)


@compiled
def _open(
    f: Tables, limits: Limits, heap: Heap, known: Paths, start: tuple[int, int, Path], counts: Counts
) -> Counts:
    """Put the first extension that no blade cuts on the heap.

    ``start``: the function to extend by, the rank to begin at, the path to extend.
    """
    i, rank, path = start
    size, have, looked = counts
    worst = len(known.codes) - 1
    while rank < f.choices[i]:
        looked += 1
        low_s = path.time + f.time[i, rank] + f.least_s[i + 1]
        if limits.blades and low_s > limits.limit_s:
            rank += 1
            continue
        paid = path.cost + f.cost[i, rank]
        code = path.code + (f.number[i, rank] + 1) * f.unit[i]
        low = Path(paid + f.least_usd[i + 1], low_s, code)
        if limits.blades:
            if have > worst:
                bound = Path(known.sums[worst, 0], known.sums[worst, 1], known.codes[worst])
                if comes_before(bound, low):
                    break
            done = Path(paid + f.fast_usd[i + 1], low_s, code + f.fast_code[i + 1])
            have = note(known, have, done, f.unit[0])
        size = push(heap, size, low, (i << DEPTH_BITS) + rank)
        break
    return Counts(size, have, looked)
