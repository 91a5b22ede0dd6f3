"""Matrix completion: a matrix of low rank from some of its entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Completion:
    """How to complete: ``rank``, ``ridge`` μ, most ``sweeps``, and when to stop.

    A sweep that changes the matrix by less than ``tolerance`` · entries in the Frobenius norm is the last.
    (Gavel's 1e-3 ends after two or three sweeps; ``nona study estimator`` shows what that costs.)
    """

    rank: int = 10
    ridge: float = 0.01
    sweeps: int = 100
    tolerance: float = 1e-6


def completed(values: Floats, known: Mask, how: Completion, generator: np.random.Generator) -> Floats:
    """The matrix U Vᵀ nearest to the known entries: min Σ_known (x − u·v)² + μ(‖U‖² + ‖V‖²).

    Alternating least squares from a Gaussian start: with V fixed every row of U solves r equations of its
    own, and the other way round. Entries lie in [0, 1] afterwards, and known ones are kept.

    Source: Zhou et al. 2008 (ALS with weighted λ, here unweighted); Narayanan et al., OSDI 2020, §6.

    >>> x = np.outer([0.2, 0.5, 1.0], [0.9, 0.6, 0.3, 0.8])
    >>> known = np.ones(x.shape, dtype=bool)
    >>> known[2, 3] = False
    >>> exact = Completion(rank=1, ridge=1e-9, tolerance=1e-12)
    >>> bool(abs(completed(x, known, exact, np.random.default_rng(0)) - x).max() < 1e-6)
    True
    """
    rows, columns = values.shape
    rank = min(how.rank, rows, columns)
    seen, filled = known.astype(np.float64), np.where(known, values, 0.0)
    right: Floats = generator.normal(size=(columns, rank))
    product: Floats = np.zeros_like(filled)
    for _ in range(how.sweeps):
        left = _half(filled, seen, right, how.ridge)
        right = _half(filled.T, seen.T, left, how.ridge)
        before, product = product, left @ right.T
        if float(np.linalg.norm(product - before)) < how.tolerance * values.size:
            break
    return np.where(known, values, np.clip(product, 0.0, 1.0))


def _half(filled: Floats, seen: Floats, factors: Floats, ridge: float) -> Floats:
    """Rows u with (Σ_seen v vᵀ + μ I) u = Σ_seen x v."""
    rank = factors.shape[1]
    squares = (factors[:, :, None] * factors[:, None, :]).reshape(len(factors), -1)
    normal = (seen @ squares).reshape(-1, rank, rank) + ridge * np.eye(rank)
    return np.linalg.solve(normal, (filled @ factors)[:, :, None])[:, :, 0].astype(np.float64)
