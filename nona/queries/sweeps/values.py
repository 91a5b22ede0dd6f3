"""Which values come next in a sweep: those far apart first, towards an edge, where a curve bends.

Pure functions; values are ascending.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from nona.queries.sweeps.report import by_ratio

NEAR = 0.01  # of the larger of two values
NEAR_SPAN = 0.002  # of all values' span: a bracket that starts at 0 ends too
BEND = 0.1  # of the natural logarithm: 10 % off the straight line between the neighbours


def spread_order(count: int) -> list[int]:
    """Return the indices 0 … count − 1 so that each is far from those before: ends, middle, quarters.

    >>> spread_order(5), spread_order(1)
    ([0, 4, 2, 1, 3], [0])
    """
    order = [0, count - 1] if count > 1 else [0] * count
    gaps = [(0, count - 1)]
    while gaps:
        halves = []
        for low, high in gaps:
            middle = (low + high) // 2
            if low < middle:
                order.append(middle)
                halves += [(low, middle), (middle, high)]
            elif high - low > 1:
                halves.append((middle, high))
        gaps = halves
    return order


def middle(low: float, high: float, unit: str) -> float:
    """Return a value between two: the mean, the geometric one where ratios count; whole for counts.

    >>> middle(3, 8, "count"), middle(1.0, 4.0, "bandwidth"), middle(0.5, 0.6, "fraction")
    (5.0, 2.0, 0.55)
    """
    if unit == "count":
        return float((int(low) + int(high)) // 2)
    value = math.sqrt(low * high) if by_ratio(unit) and low > 0 else (low + high) / 2
    return float(f"{value:.6g}")


def near_enough(low: float, high: float, unit: str, span: float, near: float = NEAR) -> bool:
    """Return whether two values locate an edge to the share ``near`` (1 %), so that none between is needed.

    ``span`` is the distance from the sweep's first value to its last.

    >>> near_enough(0.5, 0.504, "fraction", 0.9), near_enough(4, 6, "count", 79)
    (True, False)
    """
    if unit == "count" and high - low <= 1:
        return True
    if not low < middle(low, high, unit) < high:
        return True
    return high - low <= max(near * max(abs(low), abs(high)), NEAR_SPAN * span)


def bisection(unit: str, span: float, near: float = NEAR) -> Callable[[float, float], float | None]:
    """Return what gives the next value between two, or none where they locate an edge well enough."""

    def value(low: float, high: float) -> float | None:
        return None if near_enough(low, high, unit, span, near) else middle(low, high, unit)

    return value


def sign_changes(flags: Sequence[tuple[float, bool]]) -> list[tuple[float, float]]:
    """Neighbouring values between which the flag changes.

    >>> sign_changes([(0.0, True), (0.5, True), (0.7, False), (0.9, False)])
    [(0.5, 0.7)]
    """
    return [(a, b) for (a, x), (b, y) in pairwise(flags) if x != y]


def bends(points: Sequence[tuple[float, float]], unit: str, span: float, most: int) -> list[float]:
    """Up to ``most`` values in the intervals next to the points where the logarithm bends most.

    ``points`` are (value, positive mean). A point bends by its distance from the straight line between
    its neighbours; below :data:`BEND` it needs no company.

    >>> bends([(0.0, 1.0), (0.4, 1.0), (0.8, 8.0)], "fraction", 0.8, 2)
    [0.6, 0.2]
    >>> bends([(0.0, 1.0), (0.4, 2.0), (0.8, 4.0)], "fraction", 0.8, 2)
    []
    """
    bent = []
    for (a, x), (b, y), (c, z) in zip(points, points[1:], points[2:], strict=False):
        line = math.log(x) + (math.log(z) - math.log(x)) * (b - a) / (c - a)
        size = abs(math.log(y) - line)
        if size > BEND:  # the longer or steeper side first
            sides = sorted([(a, b, abs(math.log(y / x))), (b, c, abs(math.log(z / y)))], key=lambda s: -s[2])
            bent.append((size, sides))
    values: list[float] = []
    for _, sides in sorted(bent, key=lambda entry: -entry[0]):
        for low, high, _ in sides:
            new = middle(low, high, unit)
            if not near_enough(low, high, unit, span) and new not in values:
                values.append(new)
    return values[:most]
