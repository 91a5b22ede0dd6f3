"""What a certified solver returns: a point, its value, and a bound below which no point lies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Certified:
    """A point, its value, and a bound below which no point of the problem lies (seconds).

    ``cells`` counts the linear programs that were solved; ``complete`` is False when the limit on
    them was reached before the wanted gap.
    """

    x: Floats
    value_s: float
    lower_bound_s: float
    cells: int
    complete: bool

    @property
    def gap(self) -> float:
        """(value − bound) / value."""
        return (self.value_s - self.lower_bound_s) / self.value_s if self.value_s > 0 else 0.0
