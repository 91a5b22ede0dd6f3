"""A good point quickly: groups in turn take the column that is best for everyone, given the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.problem import Problem

Floats = NDArray[np.float64]
_SWEEPS = 30
_SHORTLIST = 24


def best_response(problem: Problem, x: Floats) -> Floats:
    """A point without mixing that no single group can improve (coordinate descent on pure choices).

    Every column is priced by the objective's gradient at the present point; the few best are then
    evaluated exactly, all costs at the wait they would bring about. From an overloaded start the
    local configurations are taken.
    """
    p = problem
    chosen = _round(p, x)
    value = p.value(_vector(p, chosen))
    if not np.isfinite(value):
        chosen = p.start[:-1].copy()
        value = p.value(_vector(p, chosen))
    for _ in range(_SWEEPS):
        before = value
        for g in range(p.groups):
            chosen, value = _improve(p, chosen, value, g)
        if value >= before * (1 - 1e-12):
            break
    return _vector(p, chosen)


def _round(p: Problem, x: Floats) -> NDArray[np.int64]:
    return np.array([a + int(np.argmax(x[a:b])) for a, b in zip(p.start[:-1], p.start[1:], strict=True)])


def _vector(p: Problem, chosen: NDArray[np.int64]) -> Floats:
    x = np.zeros(len(p.a0))
    x[chosen] = 1.0
    return x


def _improve(p: Problem, chosen: NDArray[np.int64], value: float, g: int) -> tuple[NDArray[np.int64], float]:
    low, high = int(p.start[g]), int(p.start[g + 1])
    if high - low == 1:
        return chosen, value
    a0 = float(p.a0[chosen].sum()) - p.a0[chosen[g]] + p.a0[low:high]
    spare = p.b1 - (float(p.a1[chosen].sum()) - p.a1[chosen[g]] + p.a1[low:high])
    wait = np.where(spare > 0, (p.b0 + a0) / np.where(spare > 0, spare, 1.0), np.inf)
    others = np.delete(chosen, g)
    here = p.wait(_vector(p, chosen))
    slope = _slope_at(p, others, here)
    first, last = int(p.lines.start[low]), int(p.lines.start[high])
    starts = p.lines.start[low:high] - first
    finite = np.where(np.isfinite(wait), wait, 0.0)
    repeated = np.repeat(finite, np.diff(p.lines.start[low : high + 1]))
    own = np.maximum.reduceat(p.lines.const[first:last] + p.lines.slope[first:last] * repeated, starts)
    guess = np.where(np.isfinite(wait), own + slope * (finite - here), np.inf)
    for c in np.argsort(guess, kind="stable")[:_SHORTLIST]:
        if not np.isfinite(wait[c]):
            continue
        total = p.constant + float(own[c]) + _cost_at(p, others, float(wait[c]))
        if total < value * (1 - 1e-13):
            chosen = chosen.copy()
            chosen[g], value = low + int(c), total
    return chosen, value


def _lines_of(p: Problem, columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Lines of ``columns``, and where those of each start among them."""
    counts = p.lines.start[columns + 1] - p.lines.start[columns]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    total = int(counts.sum())
    at = np.repeat(p.lines.start[columns] - starts, counts) + np.arange(total)
    return at, starts


def _cost_at(p: Problem, columns: NDArray[np.int64], wait: float) -> float:
    if not len(columns):
        return 0.0
    at, starts = _lines_of(p, columns)
    return float(np.maximum.reduceat(p.lines.const[at] + p.lines.slope[at] * wait, starts).sum())


def _slope_at(p: Problem, columns: NDArray[np.int64], wait: float) -> float:
    """Slope of the columns' cost to the right of ``wait``."""
    step = 1e-6 * (wait + 1e-9)
    return (_cost_at(p, columns, wait + step) - _cost_at(p, columns, wait)) / step
