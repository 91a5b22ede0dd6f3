"""Service draws in strata: as many as there are, each from its own slice of the distribution."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

Floats = NDArray[np.float64]
_SLICES = 1 << 12


@lru_cache(maxsize=32)
def _quantiles(scv: float) -> Floats:
    """Gamma of mean 1 and squared coefficient of variation ``scv`` at the middle of ``_SLICES`` slices."""
    shape = 1.0 / scv
    level = (np.arange(_SLICES) + 0.5) / _SLICES
    drawn = np.asarray(gammaincinv(shape, level), dtype=np.float64) / shape
    found: Floats = drawn / drawn.mean()
    return found


def even_draws(scv: float, number: int, rng: np.random.Generator) -> Floats:
    """(number,) Draws of mean 1 and squared coefficient of variation ``scv``, in random order.

    They differ from independent ones only in that every slice of the distribution has its share.

    >>> bool(abs(even_draws(1.0, 500, np.random.default_rng(0)).mean() - 1) < 0.01)
    True
    """
    if scv == 0:
        return np.ones(number)
    rank = (rng.permutation(number) + rng.random(number)) / max(number, 1)
    return _quantiles(scv)[(rank * _SLICES).astype(np.int64)]
