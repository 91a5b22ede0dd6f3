"""Checks of what a formula of queueing theory is given."""

from __future__ import annotations

import math

from nona.errors import SimulationError


def check_positive(**values: float) -> None:
    """Refuse numbers that are not above 0, or not finite.

    >>> check_positive(rate=0.0)
    Traceback (most recent call last):
    nona.errors.SimulationError: Queueing theory: rate=0.0 must be above 0 and finite; give such a number.
    """
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise SimulationError(
                f"Queueing theory: {name}={value} must be above 0 and finite; give such a number."
            )
