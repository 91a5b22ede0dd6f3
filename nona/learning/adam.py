"""Adam: steps along a gradient in units of its recent size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Adam:
    """Ascends; ``step`` changes the weights in place. Kingma and Ba (ICLR 2015), algorithm 1.

    >>> weights, adam = np.zeros(1), Adam(1)
    >>> adam.step(weights, np.array([3.0]), 0.1)
    >>> round(float(weights[0]), 6)
    0.1
    """

    def __init__(self, size: int, mean_decay: float = 0.9, square_decay: float = 0.999) -> None:
        self.mean, self.square = np.zeros(size), np.zeros(size)
        self.decays, self.steps = (mean_decay, square_decay), 0

    def step(self, weights: Floats, gradient: Floats, rate: float) -> None:
        """One step of length about ``rate`` in each weight."""
        self.steps += 1
        a, b = self.decays
        self.mean = a * self.mean + (1 - a) * gradient
        self.square = b * self.square + (1 - b) * gradient**2
        mean = self.mean / (1 - a**self.steps)
        square = self.square / (1 - b**self.steps)
        weights += rate * mean / (np.sqrt(square) + 1e-8)
