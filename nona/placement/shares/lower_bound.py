"""A bound below every placement at every choice of class shares.

Times are relaxed as in :mod:`~.least_times`, the squares of visits as in :mod:`~.run_squares`, and the waits
of the executor classes lie in cells: the least of a cell is the linear program of :mod:`~.cell_program`.
Cells are split, the one of least bound first, at the geometric mean of the wait that is undercharged most.
The least bound of all cells holds for everything.
"""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.class_loads import Loads
from nona.placement.shares.cell_program import Program, Relaxed
from nona.placement.shares.least_times import CandidatesOf, hulls_of, speeds_of
from nona.placement.shares.run_squares import runs_of
from nona.system import System

Floats = NDArray[np.float64]
_Entry = tuple[float, int, Floats, Floats, Relaxed]
_CELLS = 300
_GAP = 2e-3


def shares_bound_s(system: System, loads: Loads, candidates_of: CandidatesOf, value_s: float) -> float:
    """A bound for the mean JCT over all shares that ``loads`` allows and all configurations, seconds.

    ``value_s`` is that of a known placement: the bound is not refined beyond it.
    """
    speeds = speeds_of(system, loads)
    hulls = hulls_of(system, loads, candidates_of, speeds)
    return least_of(Program(system, loads, speeds, hulls, runs_of(system, loads, speeds), value_s), value_s)


def least_of(program: Program, value_s: float) -> float:
    """The least bound of all cells after ``_CELLS`` splits at most, or when it is near enough."""
    classes = len(program.system.class_names)
    heap: list[_Entry] = []
    _push(heap, program, np.full(classes, program.idle_s), np.full(classes, math.inf), 0)
    for number in range(_CELLS):
        if not heap or heap[0][0] >= value_s * (1 - _GAP):
            break
        entry = heapq.heappop(heap)
        _, _, low, high, relaxed = entry
        k, at = _split(program, low, high, relaxed, value_s)
        if k < 0:
            heapq.heappush(heap, entry)
            break
        below, above = high.copy(), low.copy()
        below[k] = above[k] = at
        _push(heap, program, low, below, 2 * number + 1)
        _push(heap, program, above, high, 2 * number + 2)
    return min([value_s, *(entry[0] for entry in heap[:1])])


def _push(heap: list[_Entry], program: Program, low: Floats, high: Floats, number: int) -> None:
    relaxed = program.solve(low, high)
    if relaxed is not None:
        heapq.heappush(heap, (relaxed.bound_s, number, low, high, relaxed))


def _split(
    program: Program, low: Floats, high: Floats, relaxed: Relaxed, value_s: float
) -> tuple[int, float]:
    """The class whose wait is most undercharged, and where to cut its cell; −1 if no class is."""
    far = np.maximum(4.0 * low, value_s)  # stands for the wait of a class that is loaded fully
    waits = np.minimum(relaxed.waits, far)
    missing = (program.weights @ relaxed.visits) * (np.minimum(waits, high) - low)
    k = int(np.argmax(missing))
    upper = min(float(waits[k]), float(high[k]))
    if missing[k] <= 1e-9 * value_s:
        return -1, 0.0
    return k, math.sqrt(max(float(low[k]), 1e-3 * upper) * upper)
