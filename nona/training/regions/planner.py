"""When a move to another region pays: what it gains until the job ends, or moves again, exceeds the move."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Network:
    """The network between regions: bytes/s and seconds of a round trip."""

    bandwidth: float
    rtt_s: float

    def move_s(self, checkpoint_bytes: float, restart_s: float) -> float:
        """g = V/B + RTT + c: a checkpoint of V bytes is sent, and the job starts again in c seconds.

        >>> Network(125e6, 0.5).move_s(1.25e9, 10)
        20.5
        """
        return checkpoint_bytes / self.bandwidth + self.rtt_s + restart_s


def pays(rate: float, other: float, move_s: float, horizon_s: float) -> bool:
    """Whether rate' · (H − g) > rate · H: more steps are done within H, although g of it is lost.

    >>> pays(1.0, 2.0, 30, 61), pays(1.0, 2.0, 30, 60)
    (True, False)
    """
    return other * (horizon_s - move_s) > rate * horizon_s


def least_stay_s(rate: float, other: float, move_s: float) -> float:
    """H* = g · rate' / (rate' − rate): a stay longer than this pays; infinite where the rate does not rise.

    >>> least_stay_s(1.0, 2.0, 30), least_stay_s(2.0, 1.0, 30)
    (60.0, inf)
    """
    return move_s * other / (other - rate) if other > rate else math.inf


@dataclass(frozen=True, slots=True)
class Advice:
    """About one job: where it is, the best other region, and whether to move.

    ``gain_steps``: steps done within ``horizon_s`` after a move, minus those without; ``least_stay_s`` H*.
    """

    job: str
    here: str
    there: str
    rate: float
    other_rate: float
    move_s: float
    horizon_s: float
    gain_steps: float
    least_stay_s: float

    @property
    def move(self) -> bool:
        """Whether the move pays."""
        return pays(self.rate, self.other_rate, self.move_s, self.horizon_s)


def advice(
    job: str, here: str, rates: Mapping[str, float], move_s: float, remaining: float, until_s: float
) -> Advice | None:
    """The best move of a job to another region, worth it or not; ``None`` where there is no other.

    ``rates``: steps/s that it would have in each region. The horizon H is the time until its next move may
    be (``until_s``), at most what its remaining steps take after the move, where it is faster: g + rem/rate'.

    >>> found = advice("a", "east", {"east": 1.0, "west": 2.0}, 30.0, remaining=1000, until_s=1e6)
    >>> found.there, found.horizon_s, found.gain_steps, found.least_stay_s, found.move
    ('west', 530.0, 470.0, 60.0, True)
    """
    others = [r for r in rates if r != here]
    if not others:
        return None
    rate, there = rates[here], max(others, key=lambda r: (rates[r], r))
    other = rates[there]
    horizon = min(until_s, move_s + remaining / other) if other > 0 else until_s
    gain = other * max(0.0, horizon - move_s) - rate * horizon
    stay = least_stay_s(rate, other, move_s)
    return Advice(job, here, there, rate, other, move_s, horizon, gain, stay)
