"""The certified solver: a program parametrised by the link's wait, branch and bound.

F is increasing in the link's wait w, and w(x) ≤ W is linear in x for a fixed W::

    w(x) ≤ W   ⇔   (a0 + W·a1)·x ≤ W·b1 − b0

so  min F = min over W of φ(W), the LP with costs at W under that row, and branch and bound over the
scalar W certifies the global minimum of the non-convex problem. Two bounds hold on a cell [W0, W1]:

* the LP with the costs of W0 and the row of W1, as costs and row grow with W;
* for any multiplier μ ≥ 0 of the row, the Lagrangian with every cost replaced by its tangent at a
  middle point: Σ_groups min_c (affine in W) − μ·(affine in W) is concave in W, so its least value
  on the cell is at one of the ends. With the middle's own μ this is much the sharper one.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.solver.inner_program import LpSolution, cheapest, solve_knapsack
from nona.queries.placement.solver.problem import PlacementProgram
from nona.queries.placement.solver.several_links import solve_network
from nona.queries.placement.solver.solution import CertifiedPoint


def solve_parametric(
    problem: PlacementProgram, *, gap: float = 1e-5, max_cells: int = 4000, start: Floats | None = None
) -> CertifiedPoint:
    """Globally minimise ``problem``; with several links by ``several_links``.

    ``gap``: stop when (value − bound)/value is at most this.
    ``max_cells``: stop after so many linear programs; the bound is then honest but the gap larger.
    ``start``: a point to begin with, for example from a neighbouring problem.

    Notes
    -----
    The work is O(cells · rounds · lines), with about 10 rounds per LP; it does not depend on the
    number of servers. An optimum exists in which at most one group mixes two columns.
    """
    if problem.network is not None:
        return solve_network(problem, problem.network, gap=gap, max_cells=max_cells, start=start)
    return _Search(problem, gap, max_cells, start).run()


class _Search:
    """Best-first branch and bound over the link's wait."""

    def __init__(
        self,
        problem: PlacementProgram,
        gap: float,
        max_cells: int,
        start: Floats | None,
    ) -> None:
        self.problem, self.gap, self.max_cells, self.cells = problem, gap, max_cells, 0
        self.x = np.zeros(len(problem.a0))
        self.x[problem.start[:-1]] = 1.0
        self.value = problem.value(self.x)
        self.reference = abs(self.value)
        if start is not None:
            self._offer(start)
        if problem.groups:
            self._offer(self._program(problem.least_wait, math.inf)[1])

    def _offer(self, x: Floats) -> None:
        value = self.problem.value(x)
        if value < self.value:
            self.x, self.value = x, value

    def _program(self, cost_wait: float, row_wait: float) -> tuple[float, Floats]:
        p = self.problem
        cost = p.lines(cost_wait)
        if math.isinf(row_wait):
            row, bound = p.a1, p.b1 * (1 - 1e-9)
        else:
            row, bound = p.a0 + row_wait * p.a1, row_wait * p.b1 - p.b0
        self.cells += 1
        choice: LpSolution = solve_knapsack(p.start, p.group, cost, row, max(bound, 0.0))
        return p.constant + choice.bound, choice.vector(len(p.a0))

    def _bound(self, low: float, high: float, middle: float) -> float:
        """Return a bound on the cell [low, high]; the LP at ``middle`` is offered as a point on the way."""
        p = self.problem
        cost, slope = p.lines.tangents(middle)
        row = p.a0 + middle * p.a1
        self.cells += 1
        choice = solve_knapsack(p.start, p.group, cost, row, max(middle * p.b1 - p.b0, 0.0))
        self._offer(choice.vector(len(p.a0)))
        least = math.inf
        for wait in (low, high):
            price = cost + slope * (wait - middle) + choice.multiplier * (p.a0 + wait * p.a1)
            chosen = float(np.minimum.reduceat(price, p.start[:-1]).sum())
            least = min(least, chosen - choice.multiplier * (wait * p.b1 - p.b0))
        if p.constant + least >= self._target():
            return p.constant + least
        return max(p.constant + least, self._program(low, high)[0])

    def _target(self) -> float:
        # Prices may make a value negative; then the gap is relative to its size.
        return self.value - self.gap * max(abs(self.value), 1e-3 * self.reference)

    def run(self) -> CertifiedPoint:
        p = self.problem
        if not p.groups or not (p.a1.any() or p.a0.any() or p.lines.slope.any()):
            return self._separable()
        first = p.least_wait
        lower = self._cells(first, self._last_wait(first))
        return CertifiedPoint(self.x, self.value, lower, self.cells, lower >= self._target())

    def _cells(self, first: float, scale: float) -> float:
        """Return the bound over the waits from ``first`` to ``scale``."""
        heap = [(self.problem.constant, first, scale)]
        finished = math.inf
        while heap and self.cells < self.max_cells:
            bound, low, high = heapq.heappop(heap)
            if bound >= self._target():
                finished = min(finished, bound)
                heap = []
                break
            middle = _geometric_middle(low, high, first, scale)
            if not low < middle < high:
                finished = min(finished, bound)
                continue
            for a, b in ((low, middle), (middle, high)):
                value = max(self._bound(a, b, _geometric_middle(a, b, first, scale)), bound)
                if value < self._target():
                    heapq.heappush(heap, (value, a, b))
                else:
                    finished = min(finished, value)
        return min([finished, *(b for b, _, _ in heap), self.value])

    def _separable(self) -> CertifiedPoint:
        """Nothing crosses the link at a cost: every group for itself."""
        p = self.problem
        if p.groups:
            self._offer(self._program(p.least_wait, math.inf)[1])
        return CertifiedPoint(self.x, self.value, self.value, self.cells, True)

    def _last_wait(self, first: float) -> float:
        """Return a wait above which nothing beats the incumbent, by doubling.

        Costs grow with the wait, and without a row Σ min cost bounds the value from there on; at
        last only configurations that wait for nothing remain, and the bound reaches the best of these.
        """
        p = self.problem
        step = max(first, 1e-9 * max(self.reference, 1e-9))
        for _ in range(200):
            cost = p.lines(first + step)
            chosen = cheapest(p.start, p.group, cost)
            x = np.zeros(len(cost))
            x[chosen] = 1.0
            self._offer(x)
            bound = p.constant + float(cost[chosen].sum())
            if bound >= self.value - 1e-12 * self.reference:
                break
            step *= 2.0
        return first + step


def _geometric_middle(low: float, high: float, first: float, last: float) -> float:
    """Geometric middle, as waits span decades; offset so that the first cell can be split."""
    offset = 1e-3 * (last - first)
    return math.sqrt((low - first + offset) * (high - first + offset)) - offset + first
