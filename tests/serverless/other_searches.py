"""ESG's search in other forms, in plain Python: all give the paths of the one that the product has.

Each takes the times and costs (n, C) of a group, the limit and k, and returns the k cheapest paths in time
that begin differently as (US dollars, seconds, configurations), by sums that are exact.
"""

from heapq import heappop, heappush
from itertools import product
from math import fsum


def exhaustive(time, cost, limit, k):
    """Every path."""
    n, c = time.shape
    found = []
    for path in product(range(c), repeat=n):
        spent = fsum(time[i, x] for i, x in enumerate(path))
        if spent <= limit:
            found.append((fsum(cost[i, x] for i, x in enumerate(path)), spent, path))
    return _best(found, k)


def best_first(time, cost, limit, k):
    """The cheapest open path first, without blades; full paths that take too long are dropped."""
    n, c = time.shape
    usd, seconds = ([fsum(row.min() for row in rows[i:]) for i in range(n + 1)] for rows in (cost, time))
    heap, found, begun = [(usd[0], seconds[0], ())], [], set()
    while heap and len(found) < k:
        low_usd, low_s, path = heappop(heap)
        if path and path[0] in begun:
            continue
        if len(path) == n:
            if low_s <= limit:
                begun.add(path[0])
                found.append((low_usd, low_s, path))
            continue
        after = len(path) + 1
        for longer in ((*path, x) for x in range(c)):
            paid = fsum((*(cost[i, y] for i, y in enumerate(longer)), usd[after]))
            spent = fsum((*(time[i, y] for i, y in enumerate(longer)), seconds[after]))
            heappush(heap, (paid, spent, longer))
    return found


def stage_by_stage(time, cost, limit, k):
    """Stage by stage with both blades, as in the slides."""
    n, c = time.shape
    fastest = [min(range(c), key=lambda x, i=i: (time[i, x], cost[i, x], x)) for i in range(n)]
    least_s = [fsum(time[i, fastest[i]] for i in range(at, n)) for at in range(n + 1)]
    least_usd = [fsum(row.min() for row in cost[at:]) for at in range(n + 1)]
    fast_usd = [fsum(cost[i, fastest[i]] for i in range(at, n)) for at in range(n + 1)]
    paths, known = [(0.0, 0.0, ())], {}
    for i in range(n):
        longer = []
        for paid, spent, path in paths:
            for x in range(c):
                usd, seconds = paid + cost[i, x], spent + time[i, x]
                if seconds + least_s[i + 1] > limit:
                    continue  # the time blade
                bounds = sorted(known.values())
                if len(bounds) >= k and usd + least_usd[i + 1] > bounds[k - 1]:
                    continue  # the cost blade
                first = (*path, x)[0]
                known[first] = min(known.get(first, float("inf")), usd + fast_usd[i + 1])
                longer.append((usd, seconds, (*path, x)))
        paths = longer
    return _best(paths, k)


def _best(found, k):
    """Of each first configuration the best path, of these the k best."""
    best = {path[0]: (cost, spent, path) for cost, spent, path in sorted(found, reverse=True)}
    return sorted(best.values())[:k]
