"""Optimus's forecast of the epochs that a job needs, from its errors so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

LEAST_EPOCHS = 3
FLOORS = np.linspace(0.0, 0.99, 34)
"""β2 as parts of the least error."""


class Curve(NamedTuple):
    """l(k) = 1/(β0·k + β1) + β2 after epoch k, from 1."""

    beta0: float
    beta1: float
    beta2: float

    def at(self, epoch: float) -> float:
        """The error after an epoch."""
        return 1.0 / (self.beta0 * epoch + self.beta1) + self.beta2


def fit_curve(errors: Sequence[float]) -> Curve | None:
    """The curve with the least squares to the errors after each epoch; ``None`` if they do not fall.

    For each of a grid of β2, β0 and β1 are found by non-negative least squares on 1/(l − β2), in which they
    are linear.

    Examples
    --------
    >>> curve = fit_curve([1 / (0.5 * k + 1) for k in range(1, 9)])
    >>> round(curve.beta0, 6), round(curve.beta1, 6), curve.beta2
    (0.5, 1.0, 0.0)

    Source: Peng et al., Optimus, EuroSys 2018, section 3.1 (recollected); the grid is ours.
    """
    values = np.array(errors)
    rows = np.column_stack([np.arange(1.0, len(values) + 1), np.ones(len(values))])
    found, least = None, math.inf
    for floor in FLOORS * values.min():
        beta0, beta1 = nnls(rows, 1.0 / (values - floor))[0]
        if beta0 > 0:
            squares = float(((1.0 / (rows @ (beta0, beta1)) + floor - values) ** 2).sum())
            if squares < least:
                found, least = Curve(float(beta0), float(beta1), float(floor)), squares
    return found


def remaining_epochs(errors: Sequence[float], declared: int, threshold: float) -> float:
    """Epochs until the error falls by less than ``threshold`` of the first error in an epoch; at least 1.

    −l'(k) = β0/(β0·k + β1)² falls below δ at k = (√(β0/δ) − β1)/β0. Before three epochs, and where the curve
    does not fall, it is what was declared, less the epochs done; never more than twice as many as declared.

    Parameters
    ----------
    errors
        After each epoch so far.
    declared
        Epochs that the user asks for.

    Examples
    --------
    >>> remaining_epochs([0.9, 0.8], 10, 0.01)
    8.0
    >>> round(remaining_epochs([1 / k for k in range(1, 11)], 40, 0.001), 1)
    21.6
    """
    done = len(errors)
    curve = fit_curve(errors) if done >= LEAST_EPOCHS and min(errors) > 0 else None
    if curve is None:
        return float(max(declared - done, 1))
    end = (math.sqrt(curve.beta0 / (threshold * errors[0])) - curve.beta1) / curve.beta0
    return min(max(end - done, 1.0), float(max(2 * declared - done, 1)))
