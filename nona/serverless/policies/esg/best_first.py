"""Best-first search (A*) over the configurations of a group, with both blades.

A partial path p that ends with configuration x of function i has::

    tLow       = p.t + t(x) + tMin[i+1]     no completion is faster: with tLow > limit the time blade cuts it
    rscLow     = p.c + c(x) + cMin[i+1]     no completion is cheaper: its key in the heap
    rscFastest = p.c + c(x) + cFast[i+1]    what one feasible completion costs

Of the completions by the fastest, each counted once (x not itself the fastest), the k best are known;
what cannot come before the k-th of them, the cost blade cuts. Children are made lazily, in order of
cost: when a path is taken off the heap, its next sibling and its first child go on it. Full paths leave
the heap in order of (cost, time, code), so the first k are the answer (Hart, Nilsson, Raphael 1968).
"""

from __future__ import annotations

from typing import Any

from nona.compiled import compiled
from nona.serverless.policies.esg.ranking import comes_before, drop_first, note, push

DEPTH_BITS = 16  # a place in the tree is depth · 2^16 + rank


@compiled
def best_first(f: Any, limit: float, k: int, blades: bool, heap: Any, known: Any, best: Any) -> Any:
    """(paths found, looked at, opened), the paths in ``best``; −1 found when the heap is too small.

    Looked at are all extensions of opened paths that are tested; opened those that no blade cuts.

    ``heap`` is (keys (H, 2), codes (H,), places (H,)); ``known`` and ``best`` are ((k, 2), (k,)): cost and
    time of each path, and its code.
    """
    keys, codes, places = heap
    found, looked, opened, size, have = 0, 0, 0, 0, 0
    if blades:
        if f.least_s[0] > limit:
            return 0, 0, 0
        have = note(known[0], known[1], k, 0, f.fast_usd[0], f.least_s[0], f.fast_code[0])
    size, have, looked = _open(f, 0, 0, 0.0, 0.0, 0, limit, k, blades, heap, size, known, have, looked)
    opened, last = size, len(f.choices) - 1
    while size > 0 and found < k:
        if size + 2 > len(codes):
            return -1, looked, opened
        low_usd, low_s, code, place = keys[0, 0], keys[0, 1], codes[0], places[0]
        size = drop_first(keys, codes, places, size)
        opened -= size
        i, rank = place >> DEPTH_BITS, place & ((1 << DEPTH_BITS) - 1)
        cost, time = low_usd - f.least_usd[i + 1], low_s - f.least_s[i + 1]
        if i == last:
            if time <= limit:
                best[0][found, 0], best[0][found, 1], best[1][found] = cost, time, code
                found += 1
        else:
            size, have, looked = _open(
                f, i + 1, 0, cost, time, code, limit, k, blades, heap, size, known, have, looked
            )
        before_usd, before_s = cost - f.cost[i, rank], time - f.time[i, rank]
        before = code - (f.number[i, rank] + 1) * f.unit[i]
        size, have, looked = _open(
            f, i, rank + 1, before_usd, before_s, before, limit, k, blades, heap, size, known, have, looked
        )
        opened += size
    return found, looked, opened


@compiled
def _open(
    f: Any,
    i: int,
    rank: int,
    cost: float,
    time: float,
    code: int,
    limit: float,
    k: int,
    blades: bool,
    heap: Any,
    size: int,
    known: Any,
    have: int,
    looked: int,
) -> Any:
    """Put the first extension at ``rank`` or behind that no blade cuts on the heap."""
    while rank < f.choices[i]:
        looked += 1
        own = f.time[i, rank]
        low_s = time + own + f.least_s[i + 1]
        if blades and low_s > limit:
            rank += 1
            continue
        paid = cost + f.cost[i, rank]
        low_usd = paid + f.least_usd[i + 1]
        longer = code + (f.number[i, rank] + 1) * f.unit[i]
        if blades:
            if have == k and comes_before(
                known[0][k - 1, 0], known[0][k - 1, 1], known[1][k - 1], low_usd, low_s, longer
            ):
                break
            if rank != f.fastest[i]:
                done_usd = paid + f.fast_usd[i + 1]
                done = longer + f.fast_code[i + 1]
                have = note(known[0], known[1], k, have, done_usd, low_s, done)
        place = (i << DEPTH_BITS) + rank
        size = push(heap[0], heap[1], heap[2], size, low_usd, low_s, longer, place)
        break
    return size, have, looked
