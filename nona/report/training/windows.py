"""Parts of a long run that a chart can hold: a window of time, a range of GPUs, at most so many bars."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nona.results.training.outcome import Round, Stay

MOST_BARS = 2500
MOST_LANES = 48
SPANS_S = (3600.0, 6 * 3600.0, 86_400.0, 3 * 86_400.0, 7 * 86_400.0, 30 * 86_400.0)


@dataclass(frozen=True, slots=True)
class Shown:
    """Stays within a window, cut to it; ``left_out`` are those that no longer fit on the chart."""

    stays: tuple[Stay, ...]
    start_s: float
    end_s: float
    left_out: int


def window(stays: Sequence[Stay], start_s: float, end_s: float, gpu: str, first: int = 0) -> Shown:
    """The stays on GPUs ``first`` … ``first + MOST_LANES − 1`` of a type, "" for all, between two instants.

    >>> stay = Stay(jobs=(0,), gpu="v100", gpus=(0, 60), start_s=0.0, end_s=10.0)
    >>> shown = window([stay], 4.0, 8.0, "v100")
    >>> shown.stays[0].start_s, shown.stays[0].end_s, shown.stays[0].gpus
    (4.0, 8.0, (0,))
    """
    lanes = range(first, first + MOST_LANES)
    found, bars, left = [], 0, 0
    for stay in stays:
        own = tuple(g for g in stay.gpus if g in lanes)
        if (gpu and stay.gpu != gpu) or not own or stay.end_s <= start_s or stay.start_s >= end_s:
            continue
        if bars + len(own) > MOST_BARS:
            left += 1
            continue
        bars += len(own)
        ends = {"start_s": max(stay.start_s, start_s), "end_s": min(stay.end_s, end_s)}
        found.append(stay.model_copy(update={**ends, "gpus": own}))
    return Shown(tuple(found), start_s, end_s, left)


def fitting_span(stays: Sequence[Stay], end_s: float) -> float:
    """The longest of the usual spans of which a chart holds all bars, wherever its window begins.

    >>> fitting_span([], 7200.0)
    21600.0
    """
    best = SPANS_S[0]
    for span in SPANS_S:
        bars: Counter[int] = Counter()
        for stay in stays:
            for place in range(int(stay.start_s // span), int(stay.end_s // span) + 1):
                bars[place] += len(stay.gpus)
        if max(bars.values(), default=0) > MOST_BARS:
            break
        best = span
        if span >= end_s:
            break
    return best


def round_at(rounds: Sequence[Round], time_s: float) -> Round | None:
    """The round in which an instant lies; the last one that began before it where none does."""
    found = None
    for r in rounds:
        if r.start_s > time_s:
            break
        found = r
    return found


def thinned(rounds: Sequence[Round], most: int = 1000) -> list[Round]:
    """Every k-th round, so that at most ``most`` are left.

    >>> first = Round(number=0, start_s=0.0, end_s=1.0, running=0, waiting=0, priorities=())
    >>> rounds = [first.model_copy(update={"number": k}) for k in range(9)]
    >>> [r.number for r in thinned(rounds, 3)]
    [0, 3, 6]
    """
    return list(rounds[:: max(1, math.ceil(len(rounds) / most))])
