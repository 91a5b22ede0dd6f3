"""The least count that keeps a target, and the verdict on a target from the interval of a hit rate."""

from __future__ import annotations

from collections.abc import Callable

from nona.results.verdict import Verdict
from nona.simulation.statistics.intervals import Interval

BESIDE = 2
ALPHA = 0.025


def _always(count: int) -> bool:
    return True


def fewest(
    keeps: Callable[[int], bool],
    most: int,
    start: int = 1,
    beside: int = BESIDE,
    helps: Callable[[int], bool] = _always,
) -> int | None:
    """The least count that keeps a target; the hit rate need not be monotone in the count.

    A count is *settled* when it keeps the target and the ``beside`` counts above it do so too (as far as
    they are in 1…``most``). The answer is settled and none of the ``beside`` counts below it is; nothing is
    said of counts further below that were not looked at. The search begins at ``start``; ``helps`` says of a
    count that does not keep the target whether larger ones are worth trying.

    >>> fewest(lambda n: n >= 10, 100), fewest(lambda n: n in (6, 8) or n >= 10, 100)
    (10, 10)
    >>> fewest(lambda n: n != 20, 100), fewest(lambda n: False, 100)
    (1, None)
    """

    def settled(count: int) -> bool:
        return all(keeps(n) for n in range(count, min(count + beside, most) + 1))

    found = _halved(keeps, most, min(start, most), helps)
    while found is not None and not settled(found):
        found = found + 1 if found < most else None
    while found is not None:
        below = next((n for n in range(max(1, found - beside), found) if settled(n)), None)
        if below is None:
            break
        found = below
    return found


def _halved(
    keeps: Callable[[int], bool], most: int, start: int = 1, helps: Callable[[int], bool] = _always
) -> int | None:
    """A count that keeps while the one before it does not, by doubling or halving from ``start``.

    >>> [_halved(lambda n: n >= 10, 100, start) for start in (1, 12, 100)], _halved(lambda n: n >= 10, 9)
    ([10, 10, 10], None)
    """
    low, high = 0, start
    if keeps(high):
        while low < high // 2 and keeps(high // 2):
            high //= 2
        low = high // 2
    while not keeps(high):
        if high == most or not helps(high):
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def nearest(
    keeps: Callable[[int], bool], most: int, start: int, helps: Callable[[int], bool] = _always
) -> int | None:
    """The same by steps of 1, 2, 4, … from ``start``: few counts are tried where the answer is near.

    >>> tried = []
    >>> nearest(lambda n: tried.append(n) or n >= 10, 100, 11), tried
    (10, [11, 10, 8, 9])
    >>> [nearest(lambda n: n >= 10, 100, start) for start in (1, 10, 100)], nearest(lambda n: False, 9, 3)
    ([10, 10, 10], None)
    """
    step, high = 1, min(start, most)
    if keeps(high):
        low = max(high - step, 0)
        while low > 0 and keeps(low):
            high, step = low, 2 * step
            low = max(high - step, 0)
    else:
        low = high
        while True:
            if low == most or not helps(low):
                return None
            high, step = min(low + step, most), 2 * step
            if keeps(high):
                break
            low = high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def judged(hits: Interval, target: float, calls: int, state: str = "stable") -> Verdict:
    """The verdict on a target by the interval of a hit rate; a growing backlog never keeps a target.

    Replications that all keep every SLO leave an interval of no width, but ``calls`` hits in a row only say
    that the rate is at least α^(1/calls), α = 0.025 (Clopper and Pearson, Biometrika 26, 1934): the lower
    end is never taken above that.

    >>> judged(Interval(0.99, 0.005, 4), 0.98, 4000), judged(Interval(0.99, 0.02, 4), 0.98, 4000)
    ('keeps', 'open')
    >>> judged(Interval(1.0, 0.0, 4), 0.999, 400), judged(Interval(1.0, 0.0, 4), 0.999, 4000)
    ('open', 'keeps')
    """
    if state == "overloaded" or hits.high < target:
        return "misses"
    return "keeps" if min(hits.low, ALPHA ** (1 / calls)) > target else "open"
