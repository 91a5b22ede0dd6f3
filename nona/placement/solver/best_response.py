"""A good point quickly: groups in turn take the column that is best for everyone, given the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.program.problem import Problem

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
        if value >= before - 1e-12 * abs(before):
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
    here, stable, wait = _waits(p, chosen, g)
    others = np.delete(chosen, g)
    now, step = _totals(p, others, np.array([here, here + 1e-6 * (here + 1e-9)]))
    slope = (step - now) / (1e-6 * (here + 1e-9))
    own = p.lines.of(low + stable, wait)
    guess = p.constant + now + own + slope * (wait - here)
    likely = np.flatnonzero(guess < value + _SLACK * abs(value))
    likely = likely[np.argsort(guess[likely], kind="stable")[:_SHORTLIST]]
    if not len(likely):
        return chosen, value
    total = p.constant + own[likely] + _totals(p, others, wait[likely])
    best = int(np.argmin(total))
    if total[best] < value - 1e-13 * abs(value):
        chosen = chosen.copy()
        chosen[g], value = low + int(stable[likely[best]]), float(total[best])
    return chosen, value


def _waits(p: Problem, chosen: NDArray[np.int64], g: int) -> tuple[float, NDArray[np.int64], Floats]:
    """The wait now; which columns of group ``g`` leave the link stable, and the wait with each of them."""
    low, high = int(p.start[g]), int(p.start[g + 1])
    if p.network is not None:
        now, every = p.network.swaps(chosen, int(chosen[g]), slice(low, high))
        stable = np.flatnonzero(np.isfinite(every))
        return now, stable, every[stable]
    load, spare0 = float(p.a0[chosen].sum()), p.b1 - float(p.a1[chosen].sum())
    spare = spare0 + p.a1[chosen[g]] - p.a1[low:high]
    stable = np.flatnonzero(spare > 0)
    wait = (p.b0 + load - p.a0[chosen[g]] + p.a0[low + stable]) / spare[stable]
    return (p.b0 + load) / spare0, stable, wait


def _totals(p: Problem, columns: NDArray[np.int64], waits: Floats) -> Floats:
    """Σ of the columns' costs at each of several waits."""
    if not len(columns):
        return np.zeros(len(waits))
    at, starts = p.lines.places(columns)
    values = p.lines.const[at, None] + p.lines.slope[at, None] * waits
    total: Floats = np.maximum.reduceat(values, starts, axis=0).sum(axis=0)
    return total
