"""The order of paths, (cost, time, code), in compiled code: a heap, and a short list of the best.

The short list has one path for each first configuration. ``unit`` is that of the first function: a path's
code divided by it tells the first configurations apart.

Arrays are indexed where they are used: handing them to a function of their own would count references
to them at every step, which takes longer than the step.
"""

from __future__ import annotations

from nona.compiled import compiled
from nona.serverless.policies.esg.paths import Heap, Path, Paths


@compiled
def comes_before(path: Path, other: Path) -> bool:
    """Whether the first path comes before the second."""
    if path.cost != other.cost:
        return path.cost < other.cost
    if path.time != other.time:
        return path.time < other.time
    return path.code < other.code


@compiled
def begins_alike(best: Paths, known: int, code: int, unit: int) -> int:
    """Where, among the ``known`` best, a path with the same first configuration stands; −1 for nowhere."""
    codes, first = best.codes, code // unit
    for at in range(known):
        if codes[at] // unit == first:
            return at
    return -1


@compiled
def note(best: Paths, known: int, path: Path, unit: int) -> int:
    """Enter a path into the best, of which ``known`` are known; how many now are.

    Of paths with the same first configuration only the best stays.
    """
    sums, codes = best.sums, best.codes
    k = len(codes)
    if known == k and not comes_before(path, Path(sums[k - 1, 0], sums[k - 1, 1], codes[k - 1])):
        return known
    at, many = begins_alike(best, known, path.code, unit), known
    if at < 0:
        at, many = min(known, k - 1), min(known + 1, k)
    elif not comes_before(path, Path(sums[at, 0], sums[at, 1], codes[at])):
        return known
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
