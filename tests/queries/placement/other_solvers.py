"""Solvers to compare with: SLSQP from several starts, and every placement of tiny systems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import scipy

from nona.core.arrays import Floats, Ints
from nona.core.errors import PlacementError
from nona.core.units import format_number
from nona.queries.placement.model import PlacementModel, gradient, objective_s, value_at
from nona.queries.placement.solver.inner_program import cheapest
from nona.queries.placement.solver.parametric import solve_parametric
from nona.queries.placement.solver.problem import PlacementProgram, ProgramGroup, build_problem, groups_of
from nona.queries.placement.solver.solution import CertifiedPoint, Solution, price

_MOST_COLUMNS = 200
_GUARD = 0.999


class _Reduced:
    """The objective on a few columns of every group; equal sub-graphs share their probabilities."""

    def __init__(
        self, model: PlacementModel, groups: Sequence[ProgramGroup], problem: PlacementProgram, columns: Ints
    ) -> None:
        self.columns, self.problem = columns, problem
        self.group = problem.group[columns]
        rows = [problem.column[columns[self.group == g]] for g in range(len(groups))]
        table = [list(row) for row in model.candidates]
        self.members = [(g.query, k) for g in groups for k in g.members]
        for g, kept in zip(groups, rows, strict=True):
            small = g.candidates.select(kept)
            for k in g.members:
                table[g.query][k] = small
        self.full, self.rows, self.groups = model, rows, groups
        self.model = PlacementModel(model.system, tuple(tuple(row) for row in table), model.class_shares)
        self.slices = [np.flatnonzero(self.group == g) for g in range(len(groups))]

    def spread_out(self, z: Floats) -> list[list[Floats]]:
        x = [[np.zeros(0) for _ in row] for row in self.model.candidates]
        for g, at in zip(self.groups, self.slices, strict=True):
            for k in g.members:
                x[g.query][k] = z[at]
        return x

    def value_and_gradient(self, z: Floats) -> tuple[float, Floats]:
        x = self.spread_out(z)
        value = value_at(self.model, x, every=True)
        full = gradient(self.model, value, x, server_wait_fixed=False)
        slope = np.zeros(len(z))
        for g, at in zip(self.groups, self.slices, strict=True):
            slope[at] = np.sum([full[g.query][k] for k in g.members], axis=0)
        return objective_s(self.model, value), slope

    def lift(self, z: Floats) -> list[list[Floats]]:
        x = [[np.zeros(len(c)) for c in row] for row in self.full.candidates]
        for g, at, kept in zip(self.groups, self.slices, self.rows, strict=True):
            for k in g.members:
                x[g.query][k][kept] = z[at]
        return x

    def constraints(self) -> list[scipy.optimize.LinearConstraint]:
        """Probabilities add up to 1 in every group; the link's load stays below the guard."""
        sums = np.zeros((len(self.groups), len(self.columns)))
        sums[self.group, np.arange(len(self.columns))] = 1.0
        limits = [scipy.optimize.LinearConstraint(sums, 1.0, 1.0)]
        a1 = self.problem.a1[self.columns]
        if a1.any():
            limits.append(scipy.optimize.LinearConstraint(a1[None, :] / self.problem.b1, -np.inf, _GUARD))
        return limits


def solve_slsqp(model: PlacementModel, *, starts: int = 6, seed: int = 0, polish: bool = True) -> Solution:
    """Multi-start SLSQP with the analytic gradient, W_c following the placement.

    Its bound is that of the parametric program at the solution's own, linearised W_c. When there are
    more than 200 columns only those are kept that are best at some wait and price of the link
    (SLSQP's work grows with the cube of their number).

    ``starts``: random starting points besides the local placement. ``polish``: start from the parametric
    solution as well.
    """
    # At the least server wait there is, no column is left out that could be worth its visits.
    idle = model.server_wait_s([[np.zeros(len(c)) for c in row] for row in model.candidates])
    groups = groups_of(model)
    problem = build_problem(model, groups, idle)
    certified = solve_parametric(problem, gap=1e-4)
    reduced = _Reduced(model, groups, problem, _shortlist(problem, certified.x))
    best = _vector(reduced, problem, problem.start[:-1])
    value = reduced.value_and_gradient(best)[0]
    for start in _starts(reduced, problem, certified.x if polish else None, starts, seed):
        z = _descend(reduced, start)
        end_value = reduced.value_and_gradient(z)[0]
        if end_value < value:
            best, value = z, end_value
    return _solution(model, reduced.lift(best), value)


def _descend(reduced: _Reduced, start: Floats) -> Floats:
    if not len(start):
        return start
    scale = max(abs(reduced.value_and_gradient(start)[0]), 1e-300)

    def scaled(z: Floats) -> tuple[float, Floats]:
        value, slope = reduced.value_and_gradient(np.clip(z, 0.0, None))
        if not math.isfinite(value):
            return 1e6, np.zeros(len(z))
        return value / scale, slope / scale

    result = scipy.optimize.minimize(
        scaled,
        start,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * len(start),
        constraints=reduced.constraints(),
        options={"maxiter": 200, "ftol": 1e-12},
    )
    z = np.clip(result.x, 0.0, None)
    z[z < 1e-9] = 0.0
    sums = np.bincount(reduced.group, weights=z, minlength=len(reduced.groups))
    return start if (sums <= 0).any() else z / sums[reduced.group]


def _starts(
    reduced: _Reduced, problem: PlacementProgram, given: Floats | None, count: int, seed: int
) -> list[Floats]:
    """The local point, the known one, and random ones, each mixed with local until the link is stable."""
    rng = np.random.default_rng(seed)
    local = _vector(reduced, problem, problem.start[:-1])
    points = [0.9 * local + 0.1 * _uniform(reduced)]
    if given is not None:
        points.append(given[reduced.columns])
    for _ in range(count):
        draw = rng.exponential(size=len(local))
        points.append(draw / np.bincount(reduced.group, weights=draw)[reduced.group] if len(draw) else draw)
    a1 = problem.a1[reduced.columns] / problem.b1
    stable = []
    for p in points:
        load = float(a1 @ p)
        share = min(1.0, 0.9 * _GUARD / load) if load > 0.9 * _GUARD else 1.0
        stable.append(share * p + (1 - share) * local)
    return stable


def _uniform(reduced: _Reduced) -> Floats:
    sizes = np.bincount(reduced.group, minlength=len(reduced.groups))
    result: Floats = 1.0 / sizes[reduced.group]
    return result


def _vector(reduced: _Reduced, problem: PlacementProgram, columns: Ints) -> Floats:
    return np.isin(reduced.columns, columns).astype(float)


def _shortlist(problem: PlacementProgram, x: Floats) -> Ints:
    """All columns if they are few; else local ones, those in use, and the best at some wait and price."""
    n = len(problem.a0)
    if n <= _MOST_COLUMNS:
        return np.arange(n)
    keep = np.zeros(n, dtype=bool)
    keep[problem.start[:-1]] = True
    keep[x > 0] = True
    used = np.flatnonzero(x)
    middle = max(problem.wait(used, x[used]), 1e-12)
    for wait in middle * np.array([0.0, 0.5, 1.0, 2.0, 8.0]):
        cost = problem.lines(float(wait))
        row = problem.a0 + wait * problem.a1
        unit = cost.sum() / row.sum() if row.any() else 0.0
        for level in (0.0, 0.01, 0.1, 1.0, 10.0):
            keep[cheapest(problem.start, problem.group, cost + level * unit * row)] = True
    return np.flatnonzero(keep)


def _solution(model: PlacementModel, x: list[list[Floats]], value: float) -> Solution:
    priced = price(model, x, value_at(model, x))
    bound = solve_parametric(priced.problem(model), gap=1e-5)
    return Solution(x, value, priced, bound)


_LIMIT = 5_000
_REFINED = 5


def solve_exhaustive(model: PlacementModel, *, grid: int = 17) -> Solution:
    """The best pure placement, and the best mixture of two configurations in one sub-graph.

    Every pure placement is evaluated; around the five best ones, every mixture with another
    configuration of one sub-graph is searched on a grid and refined. No bound is given (``nan``).
    """
    sizes = [len(c) for row in model.candidates for c in row]
    if math.prod(sizes) > _LIMIT:
        raise PlacementError(
            f"Exhaustive solver: {format_number(math.prod(sizes))} placements are more than {_LIMIT}; use "
            "'parametric'."
        )
    ranked = sorted(
        (_value(model, _pure(model, chosen)), chosen) for chosen in itertools.product(*map(range, sizes))
    )
    value, x = ranked[0][0], _pure(model, ranked[0][1])
    for _, chosen in ranked[:_REFINED]:
        for position, size in enumerate(sizes):
            for other in range(size):
                if other != chosen[position]:
                    mixed_value, mixed = _best_mixture(model, chosen, position, other, grid)
                    if mixed_value < value:
                        value, x = mixed_value, mixed
    at = value_at(model, x)
    end = CertifiedPoint(np.zeros(0), value, math.nan, len(ranked), True)
    return Solution(x, value, price(model, x, at), end)


def _value(model: PlacementModel, x: list[list[Floats]]) -> float:
    return objective_s(model, value_at(model, x))


def _pure(model: PlacementModel, chosen: tuple[int, ...]) -> list[list[Floats]]:
    numbers = iter(chosen)
    return [[np.eye(1, len(c), next(numbers))[0] for c in row] for row in model.candidates]


def _best_mixture(
    model: PlacementModel, chosen: tuple[int, ...], position: int, other: int, grid: int
) -> tuple[float, list[list[Floats]]]:
    changed = tuple(other if i == position else c for i, c in enumerate(chosen))
    ends = _pure(model, chosen), _pure(model, changed)

    def mixed(share: float) -> list[list[Floats]]:
        return [
            [(1 - share) * a + share * b for a, b in zip(*rows, strict=True)]
            for rows in zip(*ends, strict=True)
        ]

    shares = np.linspace(0.0, 1.0, grid)
    values = [_value(model, mixed(s)) for s in shares]
    at = int(np.argmin(values))
    low, high = shares[max(at - 1, 0)], shares[min(at + 1, grid - 1)]
    refined = scipy.optimize.minimize_scalar(
        lambda s: _value(model, mixed(s)), bounds=(low, high), method="bounded", options={"xatol": 1e-7}
    )
    if refined.fun < values[at]:
        return float(refined.fun), mixed(float(refined.x))
    return values[at], mixed(float(shares[at]))
