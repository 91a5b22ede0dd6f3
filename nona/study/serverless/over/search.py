"""Which points of a policy are wanted: the asked values, then bisection towards its knees.

A search is a generator: it yields a look at a point, is sent what was seen there, and so several
policies are searched side by side, their runs in parallel (:mod:`nona.study.serverless.over.bench`).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import NamedTuple

from nona.planning.settle import looks_of
from nona.report.sweeps.report import turns
from nona.results.serverless.over import Knee, OverPoint
from nona.study.serverless.over.seen import Seen, judging, point_of
from nona.study.serverless.over.settings import OverSettings
from nona.study.sweeps.next_values import edge

MOST_LOAD, LEAST_LOAD = 64.0, 1 / 8  # factors beyond which no knee is looked for


class Look(NamedTuple):
    """A policy at a value, with so many replications in all."""

    policy: str
    value: float
    replications: int


Points = dict[float, OverPoint]
Search = Generator[Look, Seen, None]


def point_search(settings: OverSettings, policy: str, value: float, found: Points) -> Search:
    """Look at one value until the verdict stands; the point goes into ``found``."""
    if value in found:
        return
    looks = looks_of(judging(settings.target), settings.most, settings.first)
    wanted = next(looks)
    while True:
        seen = yield Look(policy, value, wanted)
        try:
            wanted = looks.send(seen)
        except StopIteration as end:
            found[value] = point_of(value, end.value)
            return


def knee_search(settings: OverSettings, policy: str, found: Points) -> Search:
    """Extend the values if wanted, and bisect to every knee, from the points in ``found`` on.

    First to the last value that is found kept, then from there to the nearest that is found missed: an
    open verdict is neither, so the knee's bracket holds it.
    """
    if settings.extend:
        yield from _outwards(settings, policy, found)
    for low, high in turns(_flags(found)):
        kept, other = (low, high) if found[low].verdict == "keeps" else (high, low)
        kept, _ = yield from _bisect(settings, policy, found, kept, other, "keeps")
        beyond = [v for v in _ordered(found, kept, other) if found[v].verdict == "misses"]
        if beyond:
            yield from _bisect(settings, policy, found, beyond[0], kept, "misses")


def _outwards(settings: OverSettings, policy: str, found: Points) -> Search:
    while found[max(found)].verdict != "misses" and 2 * max(found) <= MOST_LOAD:
        yield from point_search(settings, policy, 2 * max(found), found)
    while all(p.verdict != "keeps" for p in found.values()) and min(found) / 2 >= LEAST_LOAD:
        yield from point_search(settings, policy, min(found) / 2, found)


def _bisect(
    settings: OverSettings, policy: str, found: Points, low: float, high: float, verdict: str
) -> Generator[Look, Seen, tuple[float, float]]:
    """Towards the edge of the values with ``verdict``, which ``low`` has and ``high`` has not."""
    down = low > high
    first, last = (high, low) if down else (low, high)
    search = edge(first, last, settings.number.unit, settings.span, settings.close)
    value = next(search, None)
    while value is not None:
        yield from point_search(settings, policy, value, found)
        like_low = found[value].verdict == verdict
        try:
            value = search.send(like_low != down)
        except StopIteration as end:
            first, last = end.value
            value = None
    return (last, first) if down else (first, last)


def _flags(found: Points) -> list[tuple[float, bool]]:
    return [(value, found[value].verdict == "keeps") for value in sorted(found)]


def _ordered(found: Points, start: float, end: float) -> list[float]:
    """The values from ``start`` on towards ``end`` and beyond, nearest first."""
    up = end > start
    return sorted((v for v in found if (v > start if up else v < start)), reverse=not up)


def knees_of(points: Points) -> tuple[Knee, ...]:
    """The knees that the verdicts show, by ascending value.

    Where all values keep the target, the knee is beyond the last; where none does, before the first.
    """
    values = sorted(points)
    knees = []
    for low, high in turns(_flags(points)):
        kept, other = (low, high) if points[low].verdict == "keeps" else (high, low)
        beyond = [v for v in _ordered(points, kept, other) if points[v].verdict == "misses"]
        knees.append(Knee(kept=kept, missed=beyond[0] if beyond else None))
    if knees or not values:
        return tuple(knees)
    if points[values[-1]].verdict == "keeps":
        return (Knee(kept=values[-1], missed=None),)
    missed = [v for v in values if points[v].verdict == "misses"]
    return (Knee(kept=None, missed=missed[0] if missed else None),)
