"""The compiled search: best first with both blades.

The short list has one path for each first configuration. ``unit`` is that of the first function: a path's
code divided by it tells the first configurations apart.

Arrays are indexed where they are used: handing them to a function of their own would count references
to them at every step, which takes longer than the step.

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

from nona.core.compiled.decorator import compiled
from nona.serverless.policies.esg.tables import GroupTables, Heap, Path, Paths


@compiled
def comes_before(path: Path, other: Path) -> bool:
    """Return whether the first path comes before the second."""
    if path.cost != other.cost:
        return path.cost < other.cost
    if path.time != other.time:
        return path.time < other.time
    return path.code < other.code


@compiled
def begins_alike(best: Paths, completions: int, code: int, unit: int) -> int:
    """Find, among the ``known`` best, the path with the same first configuration; −1 if there is none."""
    codes, first = best.codes, code // unit
    for at in range(completions):
        if codes[at] // unit == first:
            return at
    return -1


@compiled
def note(best: Paths, completions: int, path: Path, unit: int) -> int:
    """Enter a path into the best, of which ``known`` are filled; return the new number.

    Of paths with the same first configuration only the best stays.
    """
    sums, codes = best.sums, best.codes
    k = len(codes)
    if completions == k and not comes_before(path, Path(sums[k - 1, 0], sums[k - 1, 1], codes[k - 1])):
        return completions
    at, many = begins_alike(best, completions, path.code, unit), completions
    if at < 0:
        at, many = min(completions, k - 1), min(completions + 1, k)
    elif not comes_before(path, Path(sums[at, 0], sums[at, 1], codes[at])):
        return completions
    while at > 0 and comes_before(path, Path(sums[at - 1, 0], sums[at - 1, 1], codes[at - 1])):
        sums[at, 0], sums[at, 1], codes[at] = sums[at - 1, 0], sums[at - 1, 1], codes[at - 1]
        at -= 1
    sums[at, 0], sums[at, 1], codes[at] = path.cost, path.time, path.code
    return many


@compiled
def push(heap: Heap, size: int, path: Path, place: int) -> int:
    """Put an entry on the heap of ``size`` entries; its new size."""
    sums, codes, places, at = heap.sums, heap.codes, heap.places, size
    while at > 0:
        up = (at - 1) >> 1
        if not comes_before(path, Path(sums[up, 0], sums[up, 1], codes[up])):
            break
        sums[at, 0], sums[at, 1], codes[at], places[at] = sums[up, 0], sums[up, 1], codes[up], places[up]
        at = up
    sums[at, 0], sums[at, 1], codes[at], places[at] = path.cost, path.time, path.code, place
    return size + 1


@compiled
def drop_first(heap: Heap, size: int) -> int:
    """Take the first entry, at 0, off the heap; its new size."""
    sums, codes, places, at = heap.sums, heap.codes, heap.places, 0
    size -= 1
    last, place = Path(sums[size, 0], sums[size, 1], codes[size]), places[size]
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        least, twin = Path(sums[down, 0], sums[down, 1], codes[down]), down + 1
        if twin < size:
            other = Path(sums[twin, 0], sums[twin, 1], codes[twin])
            if comes_before(other, least):
                down, least = twin, other
        if not comes_before(least, last):
            break
        sums[at, 0], sums[at, 1], codes[at], places[at] = least.cost, least.time, least.code, places[down]
        at = down
    sums[at, 0], sums[at, 1], codes[at], places[at] = last.cost, last.time, last.code, place
    return size


DEPTH_BITS = 16  # a place in the tree is depth · 2^16 + rank


class SearchCounts(NamedTuple):
    """Entries on the heap, known completions, extensions looked at."""

    size: int
    have: int
    looked: int


@compiled
def best_first(
    f: GroupTables, limit_s: float, heap: Heap, completions: Paths, best: Paths
) -> tuple[int, int, int]:
    """(paths found, looked at, opened), the paths in ``best``; −1 found when the heap is too small.

    Looked at are all extensions of opened paths that are tested; opened those that no blade cuts.
    ``completions`` has room for the best known completions, as many as ``best``.
    """
    if f.least_s[0] > limit_s:
        return 0, 0, 0
    complete = 0
    have = note(completions, 0, Path(f.fast_usd[0], f.least_s[0], f.fast_code[0]), f.unit[0])
    root = Path(0.0, 0.0, 0 * f.fast_code[0])  # its code has the type of all codes
    counts = _open(f, limit_s, heap, completions, (0, 0, root), SearchCounts(0, have, 0))
    opened, last = counts.size, len(f.choices) - 1
    while counts.size > 0 and complete < len(best.codes):
        if counts.size + 2 > len(heap.places):
            return -1, counts.looked, opened
        low = Path(heap.sums[0, 0], heap.sums[0, 1], heap.codes[0])
        place = heap.places[0]
        counts = SearchCounts(drop_first(heap, counts.size), counts.have, counts.looked)
        i, rank = place >> DEPTH_BITS, place & ((1 << DEPTH_BITS) - 1)
        if i > 0 and begins_alike(best, complete, low.code, f.unit[0]) >= 0:
            continue
        opened -= counts.size
        path = Path(low.cost - f.least_usd[i + 1], low.time - f.least_s[i + 1], low.code)
        if i < last:
            counts = _open(f, limit_s, heap, completions, (i + 1, 0, path), counts)
        else:
            best.sums[complete, 0], best.sums[complete, 1] = path.cost, path.time
            best.codes[complete] = path.code
            complete += 1
        code = path.code - (f.number[i, rank] + 1) * f.unit[i]
        before = Path(path.cost - f.cost[i, rank], path.time - f.time[i, rank], code)
        counts = _open(f, limit_s, heap, completions, (i, rank + 1, before), counts)
        opened += counts.size
    return complete, counts.looked, opened


@compiled
def _open(
    f: GroupTables,
    limit_s: float,
    heap: Heap,
    completions: Paths,
    start: tuple[int, int, Path],
    counts: SearchCounts,
) -> SearchCounts:
    """Put the first extension that no blade cuts on the heap.

    ``start``: the function to extend by, the rank to begin at, the path to extend.
    """
    i, rank, path = start
    size, have, looked = counts
    worst = len(completions.codes) - 1
    while rank < f.choices[i]:
        looked += 1
        low_s = path.time + f.time[i, rank] + f.least_s[i + 1]
        if low_s > limit_s:
            rank += 1
            continue
        paid = path.cost + f.cost[i, rank]
        code = path.code + (f.number[i, rank] + 1) * f.unit[i]
        low = Path(paid + f.least_usd[i + 1], low_s, code)
        if have > worst:
            bound = Path(completions.sums[worst, 0], completions.sums[worst, 1], completions.codes[worst])
            if comes_before(bound, low):
                break
        done = Path(paid + f.fast_usd[i + 1], low_s, code + f.fast_code[i + 1])
        have = note(completions, have, done, f.unit[0])
        size = push(heap, size, low, (i << DEPTH_BITS) + rank)
        break
    return SearchCounts(size, have, looked)
