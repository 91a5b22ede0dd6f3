"""Axes of the charts in SVG: round marks and the scale over them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def ticks(high: float, wanted: int = 5, low: float = 0.0) -> list[float]:
    """Round numbers from ``low`` to at least ``high``, steps of 1, 2 or 5 times a power of ten.

    >>> ticks(23.0)
    [0.0, 5.0, 10.0, 15.0, 20.0, 25.0]
    """
    span = high - low
    if not (span > 0 and math.isfinite(span)):
        return [low, low + 1.0]
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    return [low + i * step for i in range(math.ceil(span / step * (1 - 1e-9)) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten from at most ``low`` to at least ``high``; 1 and 10 where that is many.

    >>> log_ticks(3.0, 40.0)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    marks = [float(f"{m}e{e}") for e in range(first, last + 1) for m in steps]
    begin = max((i for i, m in enumerate(marks) if m <= low), default=0)
    end = next((i for i, m in enumerate(marks) if m >= high), len(marks) - 1)
    return marks[begin : max(end, begin + 1) + 1]


@dataclass(frozen=True, slots=True)
class Scale:
    """Map values from ``low``…``high`` to positions ``begin``…``end``, clipped at the ends."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, here = self.low, self.high, value
        if self.log:
            low, high, here = math.log(low), math.log(high), math.log(max(value, low))
        share = (here - low) / (high - low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


def scale_over(marks: Sequence[float], begin: float, end: float, log: bool = False) -> Scale:
    """The scale whose ends are the first and the last mark."""
    return Scale(marks[0], marks[-1], begin, end, log)
