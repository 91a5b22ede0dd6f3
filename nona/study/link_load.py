"""The cost of load on the link: mean JCT by formula.

By formula alone, and said to be that wherever it is shown: sampled jobs at every load take tens of seconds,
and near saturation their error is larger than the differences that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from nona.arrays import Floats
from nona.errors import PlacementError
from nona.placement.capacity import allowed_classes, default_shares
from nona.placement.fixed import local_placement, spread_placement
from nona.placement.shares import Wanted, is_choice
from nona.placement.solve import solve
from nona.results.placement import CongestionCurve, CongestionPoint
from nona.system import Stream, System

MOST = 0.98  # of the capacity; beyond, only waits are left
SAME = 1e-6  # relative: an optimum this near local splits nothing that counts
GAP = 1e-3  # of the placements along the curve: finer than the line is wide
TIME_S = 1.0  # at each load, where interiors are too large to list
DEFAULT_SIZE_BYTES = 1e6  # of a background message, where there is no background yet
Progress = Callable[[float], None]


def with_background(system: System, utilization: float) -> System:
    """The system with another background utilisation of the link, messages of the same size."""
    stream = system.background_network
    mean = stream.mean if stream.mean > 0 else DEFAULT_SIZE_BYTES
    rate = utilization * system.capacity / mean
    return replace(system, background_network=Stream(rate, mean, stream.scv))


def background_of(system: System) -> float:
    """The link's utilisation by background alone."""
    stream = system.background_network
    return stream.load(system.capacity)


def congestion_curve(system: System, points: int = 12, progress: Progress | None = None) -> CongestionCurve:
    """By formula its optimum at every load, local and spread, from the present background to saturation.

    The shares of the executor classes are chosen once, for the present background. Where splitting
    stops paying is then found by bisection between two loads.
    """
    now = background_of(system)
    loads = [now + (max(MOST, now) - now) * i / (points - 1) for i in range(points)] if now < MOST else [now]
    curve, shares = [], _shares(system)
    for i, load in enumerate(loads):
        curve.append(_point(system, load, shares))
        if progress is not None:
            progress((i + 1) / (len(loads) + 1))
    return CongestionCurve(points=tuple(curve), now=now, stops=_stops(system, curve, shares))


def _shares(system: System) -> Floats | None:
    """The shares of the placement at the present background, solved for if there is a choice."""
    try:
        if not is_choice(system, allowed_classes(system)):
            return default_shares(system)
        return solve(system, gap=GAP, time_s=TIME_S).class_shares
    except PlacementError:
        return None


def _point(system: System, load: float, shares: Floats | None) -> CongestionPoint:
    loaded = with_background(system, load)
    wanted: Wanted = "uniform" if shares is None else shares
    return CongestionPoint(
        background=load,
        nona_s=_jct(lambda: solve(loaded, gap=GAP, shares=wanted, time_s=TIME_S).objective_s),
        local_s=_jct(lambda: local_placement(loaded).objective_s),
        spread_s=_jct(lambda: spread_placement(loaded).objective_s),
        kept_s=_jct(lambda: local_placement(loaded, shares).objective_s),
    )


def _jct(of: Callable[[], float]) -> float | None:
    try:
        return of()
    except PlacementError:
        return None


def _pays(point: CongestionPoint) -> bool:
    if point.nona_s is None or point.kept_s is None:
        return False
    return point.nona_s < point.kept_s * (1 - SAME)


def _stops(system: System, points: Sequence[CongestionPoint], shares: Floats | None) -> float | None:
    last = max((i for i, p in enumerate(points) if _pays(p)), default=-1)
    if last < 0:
        return points[0].background
    if last == len(points) - 1:
        return None
    low, high = points[last].background, points[last + 1].background
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if _pays(_point(system, middle, shares)) else (low, middle)
    return (low + high) / 2
