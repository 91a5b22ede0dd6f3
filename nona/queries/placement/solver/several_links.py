"""The certified solver over several links: cells of waits and loads.

With prices μ ≥ 0 of the wait and ν of the load, a point x whose wait is w and whose load is y has

    F(x) = Σ x_c·cost_c(w) + μ·(A0(y) + A1(y)·B·x + A2(y)·P·x − w) + ν·(load·x − y)

because both brackets are 0. cost_c and the A are convex, so each may be replaced by its tangent at a
point of the rectangle; then every column's term is affine in (w, y), their minimum over the columns
of each group is concave, and the least value over the rectangle is at one of its corners. The
minimum over the columns is over all x, so that is a bound. At the prices of the linear program at the
tangents' point the error is of second order in the size of the rectangle.

All links' loads are lines in one number, the load y of the queries, so for a fixed y the mean wait
of a message is *linear* in the probabilities, see :mod:`nona.queries.placement.link_waits`. The objective
is increasing in that wait, so

    min F = min over (w, y) of the linear program with costs at w under
            A0(y) + A1(y)·B·x + A2(y)·P·x ≤ w   and   load·x ≤ y,

and branch and bound over rectangles of (w, y), :mod:`nona.queries.placement.solver.several_links`, certifies
the global minimum. Waits are split geometrically, loads geometrically in what the fullest role has left.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.solver.inner_program import DualBound, TwoRowDual, cheapest, solve_two_rows
from nona.queries.placement.solver.problem import PlacementProgram, TrafficRows
from nona.queries.placement.solver.solution import CertifiedPoint


@dataclass(frozen=True, slots=True)
class Rectangle:
    """Waits ``w0``…``w1`` in seconds, loads ``y0``…``y1``; ``guess``: a price of the load near by."""

    w0: float
    w1: float
    y0: float
    y1: float
    guess: float = 0.0


@dataclass(frozen=True, eq=False)
class Tangents:
    """The bound's terms at (``wait``, ``load``) with the prices μ, ν of wait and load."""

    problem: PlacementProgram
    rows: TrafficRows
    wait: float
    load: float
    wait_price: float
    load_price: float
    cost: Floats
    slope: Floats

    @staticmethod
    def at_point(
        problem: PlacementProgram, rows: TrafficRows, wait: float, load: float, prices: tuple[float, float]
    ) -> Tangents:
        """Return the tangents at one wait and load."""
        return Tangents(problem, rows, wait, load, *prices, *problem.lines.tangents(wait))

    def value(self, wait: float, load: float) -> float:
        """Return the concave function of the module's head."""
        p, r, dw, dy = self.problem, self.rows, wait - self.wait, load - self.load
        (i0, b0, p0), (i1, b1, p1) = r.curve.coefficients(self.load), r.curve.slopes(self.load)
        price = self.cost + self.slope * dw + self.load_price * r.load
        price += self.wait_price * ((b0 + b1 * dy) * r.bundle + (p0 + p1 * dy) * r.pairs)
        rest = self.wait_price * (i0 + i1 * dy - wait) - self.load_price * load
        return p.constant + float(np.minimum.reduceat(price, p.start[:-1]).sum()) + rest

    def least(self, cell: Rectangle) -> float:
        """Its least value on the cell."""
        return min(self.value(w, y) for w in (cell.w0, cell.w1) for y in (cell.y0, cell.y1))

    def fall_across(self, cell: Rectangle) -> tuple[float, float]:
        """Return the fall towards the ends of the waits, and towards those of the loads."""
        here = self.value(self.wait, self.load)
        by_wait = here - min(self.value(w, self.load) for w in (cell.w0, cell.w1))
        by_load = here - min(self.value(self.wait, y) for y in (cell.y0, cell.y1))
        return by_wait, by_load


_DUAL = 0.05  # of the wanted gap, to which the prices of a cell are found


def solve_network(
    problem: PlacementProgram,
    rows: TrafficRows,
    *,
    gap: float = 1e-5,
    max_cells: int = 4000,
    start: Floats | None = None,
) -> CertifiedPoint:
    """Globally minimise ``problem``, whose columns send ``rows``; as :func:`~.parametric.solve_parametric`.

    ``cells`` of the result counts the linear programs with two rows.
    """
    return _Search(problem, rows, gap, max_cells, start).run()


class _Search:
    """Best-first branch and bound over waits and loads."""

    def __init__(
        self, problem: PlacementProgram, rows: TrafficRows, gap: float, max_cells: int, start: Floats | None
    ) -> None:
        self.problem, self.rows, self.gap, self.max_cells, self.cells = problem, rows, gap, max_cells, 0
        self.x = np.zeros(len(problem.a0))
        self.x[problem.start[:-1]] = 1.0
        self.value = problem.value(self.x)
        self.reference = abs(self.value)
        if start is not None:
            self._offer(start)
        if problem.groups:
            self._offer(self._cheapest(problem.least_wait)[0])

    def _offer(self, x: Floats) -> None:
        value = self.problem.value(x)
        if value < self.value:
            self.x, self.value = x, value

    def _target(self) -> float:
        # Prices may make a value negative; then the gap is relative to its size.
        return self.value - self.gap * max(abs(self.value), 1e-3 * self.reference)

    def run(self) -> CertifiedPoint:
        p = self.problem
        if not p.groups or not self.rows.load.any():
            return self._separable()
        serial = itertools.count()
        whole = self._whole()
        heap = [(-math.inf, next(serial), whole)]
        finished = math.inf
        while heap and self.cells < self.max_cells:
            bound, _, cell = heapq.heappop(heap)
            if bound >= self._target():
                finished, heap = min(finished, bound), []
                break
            value, parts = self._explore(cell, whole)
            value = max(value, bound)
            if value >= self._target() or not parts:
                finished = min(finished, value)
                continue
            for part in parts:
                heapq.heappush(heap, (value, next(serial), part))
        lower = min([finished, *(b for b, _, _ in heap), self.value])
        return CertifiedPoint(self.x, self.value, lower, self.cells, lower >= self._target())

    def _explore(self, cell: Rectangle, whole: Rectangle) -> tuple[float, tuple[Rectangle, ...]]:
        """Return a bound on the cell, and the two halves that it falls into."""
        wait, load = self._middle(cell, whole)
        dual = self._prices(wait, load, cell.guess)
        for x in dual.points:
            self._offer(x)
        prices = (dual.wait_price, dual.load_price)
        if not math.isfinite(dual.bound):  # no point has so little wait and load: any prices will do
            prices = (float(self.problem.lines.slope.max()), cell.guess)
        tangents = Tangents.at_point(self.problem, self.rows, wait, load, prices)
        bound = tangents.least(cell)
        if bound >= self._target():
            return bound, ()
        by_wait, by_load = tangents.fall_across(cell)
        return bound, _halves(cell, wait, load, by_wait >= by_load, dual.load_price)

    def _prices(self, wait: float, load: float, guess: float) -> DualBound:
        p, r = self.problem, self.rows
        self.cells += 1
        idle, bundle, pair = r.curve.coefficients(load)
        rows = TwoRowDual(
            p.start, p.group, p.lines(wait), bundle * r.bundle + pair * r.pairs, wait - idle, r.load, load
        )
        return solve_two_rows(rows, guess, _DUAL * self.gap * abs(self.value))

    def _middle(self, cell: Rectangle, whole: Rectangle) -> tuple[float, float]:
        """Return a cell's middle, moved to the least wait where some x needs more than it has."""
        curve = self.rows.curve
        offset = 1e-3 * (whole.w1 - whole.w0)
        w0, w1 = (w - whole.w0 + offset for w in (cell.w0, cell.w1))
        wait = math.sqrt(w0 * w1) - offset + whole.w0
        full = curve.full_load
        load = full - math.sqrt((full - cell.y0) * (full - cell.y1))
        load = min(max(load, cell.y0), cell.y1)
        if curve.coefficients(load)[0] >= cell.w1:
            load = cell.y0
        return min(max(wait, curve.coefficients(load)[0], cell.w0), cell.w1), load

    def _whole(self) -> Rectangle:
        """Wait up to where nothing beats the incumbent, and the loads that bring about no more."""
        r, p = self.rows, self.problem
        first = p.least_wait
        last = self._last_wait(first)
        least = r.ratios[0]
        most = float(np.maximum.reduceat(r.load, p.start[:-1]).sum())
        low, high = 0.0, min(r.curve.full_load * (1 - 1e-12), most)
        idle, bundle, _ = r.curve.coefficients(high)
        if idle + bundle * least * high > last:
            for _ in range(60):
                middle = 0.5 * (low + high)
                idle, bundle, _ = r.curve.coefficients(middle)
                low, high = (low, middle) if idle + bundle * least * middle > last else (middle, high)
        return Rectangle(first, last, 0.0, high)

    def _cheapest(self, wait: float) -> tuple[Floats, float]:
        """Return the best point for one who waits ``wait`` whatever is sent, and its value at that wait."""
        p = self.problem
        cost = p.lines(wait)
        chosen = cheapest(p.start, p.group, cost)
        x = np.zeros(len(cost))
        x[chosen] = 1.0
        return x, p.constant + float(cost[chosen].sum())

    def _separable(self) -> CertifiedPoint:
        """Nothing crosses a link: every group for itself."""
        p = self.problem
        if p.groups:
            self._offer(self._cheapest(p.least_wait)[0])
        return CertifiedPoint(self.x, self.value, self.value, self.cells, True)

    def _last_wait(self, first: float) -> float:
        """Return a wait above which nothing beats the incumbent, by doubling; see :mod:`~.parametric`."""
        step = max(first, 1e-9 * max(self.reference, 1e-9))
        for _ in range(200):
            x, cost = self._cheapest(first + step)
            self._offer(x)
            if cost >= self.value - 1e-12 * self.reference:
                break
            step *= 2.0
        return first + step


def _halves(cell: Rectangle, wait: float, load: float, by_wait: bool, price: float) -> tuple[Rectangle, ...]:
    """Split where the tangents were taken, or in the middle where that is on the edge."""
    low, high, at = (cell.w0, cell.w1, wait) if by_wait else (cell.y0, cell.y1, load)
    if not low + 0.05 * (high - low) < at < high - 0.05 * (high - low):
        at = 0.5 * (low + high)
    if not low < at < high:
        return ()
    if by_wait:
        return Rectangle(low, at, cell.y0, cell.y1, price), Rectangle(at, high, cell.y0, cell.y1, price)
    return Rectangle(cell.w0, cell.w1, low, at, price), Rectangle(cell.w0, cell.w1, at, high, price)
