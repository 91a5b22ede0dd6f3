"""Ends of the curves of a sweep: crosses with labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nona.report.sweeps.stability import NEAR, merged_spans
from nona.report.sweeps.values import axis_scale, value_text
from nona.results.estimate import Estimate
from nona.results.sweep import SweepReport, SweptCurve, SweptPoint

GAP = 16.0  # pixels between the middles of two lines of small text
FAR = 70.0  # pixels by which a label may be moved to keep off curves


@dataclass(frozen=True, slots=True)
class CurveEnd:
    """A cross at (``x``, ``y``), as on the axes; ``rightwards``: its curve comes from the left."""

    name: str
    x: float
    y: float
    label: str
    rightwards: bool


def curve_ends(
    report: SweepReport,
    get: Callable[[SweptPoint], Estimate],
    place: Callable[[float], float] = float,
) -> list[CurveEnd]:
    """One for every well-known edge, at the height of the last point drawn before it.

    ``get`` gives what is drawn of a point, which ``place`` puts on the axis.
    """
    factor = axis_scale(report.unit)[0]
    span = report.values[-1] - report.values[0]
    close = max(NEAR * span, 1.0 if report.unit == "count" else 0.0)
    found = []
    for name, curve in report.schedulers.items():
        for low, high in merged_spans(curve):
            label = edge_label(low, high, report.unit)
            for beyond, rightwards in ((low, True), (high, False)):
                last = None if beyond is None else _nearest(curve, beyond, rightwards)
                if beyond is None or last is None or abs(beyond - last.value) > close:
                    continue
                drawn = _drawn(curve, last.value, rightwards, get)
                if drawn is not None:
                    found.append(CurveEnd(name, factor * beyond, place(drawn), label, rightwards))
    return found


def _nearest(curve: SweptCurve, beyond: float, before: bool) -> SweptPoint | None:
    """The stable point next to ``beyond``, before or after it."""
    stable = [p for p in curve.points if p.steady and (p.value < beyond if before else p.value > beyond)]
    return (stable[-1] if before else stable[0]) if stable else None


def _drawn(
    curve: SweptCurve, value: float, before: bool, get: Callable[[SweptPoint], Estimate]
) -> float | None:
    """The height of the drawn point at ``value``, or of the next one away from the edge."""
    heights = [
        (abs(p.value - value), mean)
        for p in curve.points
        if p.steady
        and (mean := get(p).mean) is not None
        and (p.value <= value if before else p.value >= value)
    ]
    return min(heights)[1] if heights else None


def edge_label(low: float | None, high: float | None, unit: str) -> str:
    """The labels at the ends of a range without a steady state; ``None``: it has no end there.

    >>> edge_label(0.6, None, "fraction"), edge_label(None, 12.0, "count")
    ('unstable ≥ 60 %', 'unstable ≤ 12')
    """
    if low is None or high is None:
        end = value_text(low if low is not None else high or 0.0, unit)
        return f"unstable {'≤' if low is None else '≥'} {end}"
    return f"unstable {value_text(low, unit)} to {value_text(high, unit)}"


def round_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two positive numbers; powers alone over many decades.

    >>> round_ticks(3.0, 60.0)
    [5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{k}e{power}") for power in range(first, last + 1) for k in steps]
    return [t for t in ticks if low <= t <= high]


def spread_labels(heights: Sequence[float], gap: float = GAP) -> list[float]:
    """The upward shift (pixels) of each label that keeps all of them ``gap`` apart.

    Labels keep their order; a crowd is centred on where it stood.

    >>> spread_labels([100.0, 100.0, 300.0])
    [-8.0, 8.0, 0.0]
    """
    order = sorted(range(len(heights)), key=lambda i: (heights[i], i))
    crowds: list[tuple[float, list[int]]] = []  # (sum of wished bottoms, members), bottom to top
    for i in order:
        crowds.append((heights[i], [i]))
        while len(crowds) > 1 and _top(crowds[-2], gap) + gap > _bottom(crowds[-1]):
            (upper, above), (lower, below) = crowds.pop(), crowds.pop()
            crowds.append((lower + upper - gap * len(below) * len(above), below + above))
    moved = [0.0] * len(heights)
    for crowd in crowds:
        for place, i in enumerate(crowd[1]):
            moved[i] = _bottom(crowd) + gap * place - heights[i]
    return moved


def _bottom(crowd: tuple[float, list[int]]) -> float:
    """The position of a group's lowest label: the mean of the positions that its members prefer."""
    return crowd[0] / len(crowd[1])


def _top(crowd: tuple[float, list[int]], gap: float) -> float:
    return _bottom(crowd) + gap * (len(crowd[1]) - 1)


def off_curves(
    heights: Sequence[float], taken: Sequence[Sequence[tuple[float, float]]], gap: float = GAP
) -> list[float]:
    """The upward shift (pixels) of each label that keeps it off curves and ``gap`` from all others.

    ``taken`` are the spans of height that curves have beside each label. From the lowest on, a label takes
    the nearest free place; where that is beyond ``FAR``, it keeps clear of labels alone.

    >>> off_curves([100.0, 120.0], [[(98.0, 101.0)], []])
    [9.0, 5.0]
    """
    moved, placed = [0.0] * len(heights), list[tuple[float, float]]()
    for i in sorted(range(len(heights)), key=lambda i: (heights[i], i)):
        here = _nearest_free(heights[i], [*placed, *taken[i]], gap)
        if abs(here - heights[i]) > FAR:
            here = _nearest_free(heights[i], placed, gap)
        placed.append((here - gap / 2, here + gap / 2))
        moved[i] = here - heights[i]
    return moved


def _nearest_free(wished: float, taken: Sequence[tuple[float, float]], gap: float) -> float:
    """The middle nearest to the wished one whose ``gap`` overlaps no span that is taken."""

    def free(middle: float) -> bool:
        return all(middle + gap / 2 <= low + 1e-9 or middle - gap / 2 >= high - 1e-9 for low, high in taken)

    beside = [middle for low, high in taken for middle in (low - gap / 2, high + gap / 2)]
    return min((m for m in (wished, *beside) if free(m)), key=lambda m: (abs(m - wished), -m))
