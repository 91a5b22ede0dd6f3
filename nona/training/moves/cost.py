"""Seconds that a move takes: checkpoint saved, sent, loaded, and the job warmed up."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nona.errors import SimulationError


@dataclass(frozen=True, slots=True)
class MoveCost:
    """Bandwidths in bytes/s of saving, sending and loading a checkpoint; seconds of warm-up.

    >>> MoveCost(1e9, 1.25e9, 1e9, 10.0).seconds(5e9)
    24.0
    """

    save: float
    network: float
    load: float
    warmup_s: float = 0.0

    def __post_init__(self) -> None:
        for key, value in (("save", self.save), ("network", self.network), ("load", self.load)):
            if not value > 0:
                raise SimulationError(f"Moves: {key}={value!r} bytes/s must be above 0; raise it.")

    def seconds(self, checkpoint_bytes: float) -> float:
        """c = V/b_save + V/b_net + V/b_load + warm-up, for a checkpoint of V bytes."""
        per_byte = 1 / self.save + 1 / self.network + 1 / self.load
        return checkpoint_bytes * per_byte + self.warmup_s


def moved_steps(rate: float, round_s: float, cost_s: float, remaining: float) -> float:
    """Steps of a job in a round that begins with its move: min(⌊T · max(0, R − c)⌋, rem).

    >>> moved_steps(2.0, 360, 24, 1e9), moved_steps(2.0, 360, 400, 1e9)
    (672, 0)
    """
    return min(math.floor(rate * max(0.0, round_s - cost_s)), remaining)


def least_round_s(cost_s: float, overhead: float) -> float:
    """R ≥ c/ε: rounds so long that a move in each of them costs at most the share ε of the time.

    >>> least_round_s(24.0, 0.05)
    480.0
    """
    if not 0 < overhead <= 1:
        raise SimulationError(f"Moves: overhead={overhead!r} must be above 0 and at most 1; change it.")
    return cost_s / overhead
