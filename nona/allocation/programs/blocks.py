"""Small systems, one per job, solved for all jobs at once without loss of digits near an optimum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nona.allocation.programs.polytope import Floats


class Blocks(NamedTuple):
    """What a Newton step needs of k jobs' blocks; ``line`` and its multiplier are eliminated after x.

    With G = (diag(1/width) + flat·1 1ᵀ)⁻¹ per job:

    ``along`` (k, J) is G·line, ``stiff`` (k,) is slack/multiplier + lineᵀ G line, and ``inverse`` (k, J, J)
    is G − along alongᵀ / stiff; where a job has no line, it is G.
    """

    along: Floats
    stiff: Floats
    inverse: Floats


def blocks(width: Floats, flat: Floats, line: Floats, slack: Floats, steep: Floats) -> Blocks:
    """The blocks for (k, J) ``width``, ``line`` and (k,) ``flat``, ``slack`` = 1/``steep`` (0: no line).

    Near an optimum ``width`` of shares inside and ``flat``, ``steep`` of active constraints grow without
    bound, and differences of such numbers would cancel. Lagrange's identity gives them as sums of squares of
    differences of ``line``: (Σ w a²)(Σ w) − (Σ w a)² = Σ_{j<k} w_j w_k (a_j − a_k)².

    >>> w, a, one = np.array([[1.0, 0.5]]), np.array([[3.0, 1.0]]), np.array([4.0])
    >>> found = blocks(w, one, a, np.array([0.5]), np.array([2.0]))
    >>> whole = np.diag(1 / w[0]) + 4 + 2 * np.outer(a, a)
    >>> bool(np.allclose(found.inverse[0] @ whole, np.eye(2)))
    True
    """
    apart = line[:, :, None] - line[:, None, :]
    both = width[:, :, None] * width[:, None, :]
    size = 1.0 + flat * width.sum(1)
    along = width * (line + flat[:, None] * np.matmul(apart, width[:, :, None])[:, :, 0]) / size[:, None]
    inner = (width * line * line).sum(1) + 0.5 * flat * (both * apart * apart).sum((1, 2))
    return Blocks(along, slack + inner / size, _inverse(width, flat, line, steep))


def _inverse(width: Floats, flat: Floats, line: Floats, steep: Floats) -> Floats:
    """(diag(1/width) + flat·1 1ᵀ + steep·line lineᵀ)⁻¹ by Woodbury with f, g = the scaled line and ones.

    I + f fᵀ + g gᵀ has determinant 1 + |f|² + |g|² + |f ∧ g|². Its adjugate is the determinant less
    f fᵀ + g gᵀ + (f ∧ g)(f ∧ g)ᵀ, whose diagonal is the determinant without one coordinate: sums of squares.
    """
    root = np.sqrt(width)
    f = root * line * np.sqrt(steep)[:, None]
    g = root * np.sqrt(flat)[:, None]
    area = f[:, :, None] * g[:, None, :] - f[:, None, :] * g[:, :, None]
    ff, gg = f * f, g * g
    squares = area * area
    whole = 1.0 + ff.sum(1) + gg.sum(1) + 0.5 * squares.sum((1, 2))
    outer = f[:, :, None] * f[:, None, :] + g[:, :, None] * g[:, None, :]
    cofactor = -outer - np.matmul(area, np.swapaxes(area, 1, 2))
    kinds = np.arange(width.shape[1])
    others = 1.0 - np.eye(len(kinds))
    pairs = 0.5 * (others[:, :, None] * others[:, None, :]).reshape(len(kinds), -1).T
    cofactor[:, kinds, kinds] = 1.0 + (ff + gg) @ others + squares.reshape(len(width), -1) @ pairs
    found: Floats = cofactor * (root[:, :, None] * root[:, None, :] / whole[:, None, None])
    return found


def spread(width: Floats, flat: Floats, right: Floats) -> Floats:
    """(k, J) G·right, with G as in :class:`Blocks`."""
    size = 1.0 + flat * width.sum(1)
    apart = right[:, :, None] - right[:, None, :]
    found: Floats = width * (right + flat[:, None] * np.matmul(apart, width[:, :, None])[:, :, 0])
    whole: Floats = found / size[:, None]
    return whole
