"""The order of paths, (cost, time, code), in compiled code: a heap, and a short list of the best."""

from __future__ import annotations

from typing import Any

from nona.compiled import compiled


@compiled
def comes_before(cost: float, time: float, code: int, cost2: float, time2: float, code2: int) -> bool:
    """Whether the first path comes before the second."""
    if cost != cost2:
        return cost < cost2
    if time != time2:
        return time < time2
    return code < code2


@compiled
def note(best: Any, codes: Any, k: int, known: int, cost: float, time: float, code: int) -> int:
    """Enter a path into the ``k`` best, of which ``known`` are known; how many now are."""
    if known == k and not comes_before(cost, time, code, best[k - 1, 0], best[k - 1, 1], codes[k - 1]):
        return known
    at = known if known < k else k - 1
    while at > 0 and comes_before(cost, time, code, best[at - 1, 0], best[at - 1, 1], codes[at - 1]):
        best[at, 0], best[at, 1], codes[at] = best[at - 1, 0], best[at - 1, 1], codes[at - 1]
        at -= 1
    best[at, 0], best[at, 1], codes[at] = cost, time, code
    return min(known + 1, k)


@compiled
def push(
    keys: Any, codes: Any, places: Any, size: int, cost: float, time: float, code: int, place: int
) -> int:
    """Put an entry on the heap of ``size`` entries; its new size."""
    at = size
    while at > 0:
        up = (at - 1) >> 1
        if not comes_before(cost, time, code, keys[up, 0], keys[up, 1], codes[up]):
            break
        keys[at, 0], keys[at, 1], codes[at], places[at] = keys[up, 0], keys[up, 1], codes[up], places[up]
        at = up
    keys[at, 0], keys[at, 1], codes[at], places[at] = cost, time, code, place
    return size + 1


@compiled
def drop_first(keys: Any, codes: Any, places: Any, size: int) -> int:
    """Take the first entry, at 0, off the heap; its new size."""
    size -= 1
    cost, time, code, place = keys[size, 0], keys[size, 1], codes[size], places[size]
    at = 0
    while True:
        down = 2 * at + 1
        if down >= size:
            break
        twin = down + 1
        if twin < size and comes_before(
            keys[twin, 0], keys[twin, 1], codes[twin], keys[down, 0], keys[down, 1], codes[down]
        ):
            down = twin
        if not comes_before(keys[down, 0], keys[down, 1], codes[down], cost, time, code):
            break
        keys[at, 0], keys[at, 1] = keys[down, 0], keys[down, 1]
        codes[at], places[at] = codes[down], places[down]
        at = down
    keys[at, 0], keys[at, 1], codes[at], places[at] = cost, time, code, place
    return size
