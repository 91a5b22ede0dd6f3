"""A good point quickly: groups in turn take the column that is best for everyone, given the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.problem import Problem

Floats = NDArray[np.float64]
_SWEEPS = 30
_SHORTLIST = 24
_SLACK = 1e-3


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
    load, spare0 = float(p.a0[chosen].sum()), p.b1 - float(p.a1[chosen].sum())
    spare = spare0 + p.a1[chosen[g]] - p.a1[low:high]
    wait = np.where(
        spare > 0, (p.b0 + load - p.a0[chosen[g]] + p.a0[low:high]) / np.where(spare > 0, spare, 1.0), np.inf
    )
    stable = np.flatnonzero(np.isfinite(wait))
    others = np.delete(chosen, g)
    here = (p.b0 + load) / spare0
    own = p.lines.of(low + stable, wait[stable])
    guess = own + _slope_at(p, others, here) * (wait[stable] - here)
    for i in np.argsort(guess, kind="stable")[:_SHORTLIST]:
        if p.constant + guess[i] + p.lines.of(others, here).sum() > value + _SLACK * abs(value):
            break
        c = int(stable[i])
        total = p.constant + float(own[i]) + float(p.lines.of(others, float(wait[c])).sum())
        if total < value * (1 - 1e-13):
            chosen = chosen.copy()
            chosen[g], value = low + c, total
    return chosen, value


def _slope_at(p: Problem, columns: NDArray[np.int64], wait: float) -> float:
    """Slope of the columns' cost to the right of ``wait``."""
    step = 1e-6 * (wait + 1e-9)
    return float((p.lines.of(columns, wait + step) - p.lines.of(columns, wait)).sum()) / step
