"""A rectangle of waits and loads, and a bound on the objective of every point whose own lie in it.

With prices μ ≥ 0 of the wait and ν of the load, a point x whose wait is w and whose load is y has

    F(x) = Σ x_c·cost_c(w) + μ·(A0(y) + A1(y)·B·x + A2(y)·P·x − w) + ν·(load·x − y)

because both brackets are 0. cost_c and the A are convex, so each may be replaced by its tangent at a
point of the rectangle; then every column's term is affine in (w, y), their minimum over the columns
of each group is concave, and the least value over the rectangle is at one of its corners. The
minimum over the columns is over all x, so that is a bound. At the prices of the linear program at the
tangents' point the error is of second order in the size of the rectangle. With the costs and curves
of the lower corner and the rows of the upper one there is a second bound, for large rectangles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nona.placement.program.link_columns import Rows
from nona.placement.program.problem import Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cell:
    """Waits ``w0``…``w1`` in seconds, loads ``y0``…``y1``; ``guess``: a price of the load near by."""

    w0: float
    w1: float
    y0: float
    y1: float
    guess: float = 0.0

    def holds_none(self, rows: Rows) -> bool:
        """Whether no point has its wait and its load in the cell, by the messages' sizes alone."""
        least, most, pairs = rows.ratios
        idle, bundle, _ = rows.curve.at(self.y0)
        if idle + bundle * least * self.y0 > self.w1 * (1 + 1e-12):
            return True
        idle, bundle, pair = rows.curve.at(self.y1)
        return idle + (bundle * most + pair * pairs) * self.y1 < self.w0 * (1 - 1e-12)


@dataclass(frozen=True, eq=False)
class Tangents:
    """The bound's terms at (``wait``, ``load``) with the prices μ, ν of wait and load."""

    problem: Problem
    rows: Rows
    wait: float
    load: float
    wait_price: float
    load_price: float
    cost: Floats
    slope: Floats

    @staticmethod
    def at(problem: Problem, rows: Rows, wait: float, load: float, prices: tuple[float, float]) -> Tangents:
        """The tangents at one point."""
        return Tangents(problem, rows, wait, load, *prices, *problem.lines.tangents(wait))

    def value(self, wait: float, load: float) -> float:
        """The concave function of the module's head."""
        p, r, dw, dy = self.problem, self.rows, wait - self.wait, load - self.load
        (i0, b0, p0), (i1, b1, p1) = r.curve.at(self.load), r.curve.slopes(self.load)
        price = self.cost + self.slope * dw + self.load_price * r.load
        price += self.wait_price * ((b0 + b1 * dy) * r.bundle + (p0 + p1 * dy) * r.pairs)
        rest = self.wait_price * (i0 + i1 * dy - wait) - self.load_price * load
        return p.constant + float(np.minimum.reduceat(price, p.start[:-1]).sum()) + rest

    def least(self, cell: Cell) -> float:
        """Its least value on the cell."""
        return min(self.value(w, y) for w in (cell.w0, cell.w1) for y in (cell.y0, cell.y1))

    def across(self, cell: Cell) -> tuple[float, float]:
        """How far it falls towards the ends of the waits, and towards those of the loads."""
        here = self.value(self.wait, self.load)
        by_wait = here - min(self.value(w, self.load) for w in (cell.w0, cell.w1))
        by_load = here - min(self.value(self.wait, y) for y in (cell.y0, cell.y1))
        return by_wait, by_load

    def coarse(self, cell: Cell) -> float:
        """The second bound: costs and curves of the lower corner, rows of the upper one."""
        p, r = self.problem, self.rows
        idle, bundle, pair = r.curve.at(cell.y0)
        price = p.lines(cell.w0) + self.load_price * r.load
        price += self.wait_price * (bundle * r.bundle + pair * r.pairs)
        rest = self.wait_price * (idle - cell.w1) - self.load_price * cell.y1
        found = p.constant + float(np.minimum.reduceat(price, p.start[:-1]).sum()) + rest
        return found if math.isfinite(found) else -math.inf
