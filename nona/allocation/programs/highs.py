"""A program of allocations on HiGHS, through scipy."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from nona.allocation.programs.polytope import Floats, Ints
from nona.allocation.programs.program import Optimum, Prices, Program, certified
from nona.errors import SimulationError

LARGE = 1000  # variables
SOLVED, INFEASIBLE = 0, 2


class InfeasibleError(SimulationError):
    """No allocation gives every job the least throughput that it needs."""


def solve_highs(program: Program) -> Optimum:
    """An optimal vertex; the same one for the same program, to the byte (HiGHS runs on one thread).

    Large programs are solved by its interior-point method with crossover to a vertex, which is about 5 times
    faster there than its dual simplex method.

    Raises
    ------
    InfeasibleError
        When no allocation keeps the floors.
    SimulationError
        When HiGHS gives up.
    """
    space = program.space
    on = np.flatnonzero((program.steps > 0) | (program.floors > 0))
    scale = _row_scale(program, on)
    need = csr_array(space.throughput_matrix()[on] * (-1.0 / scale)[:, None])
    matrix = vstack([need, space.limit_matrix()], format="csr")
    limits = np.concatenate([-program.floors[on] / scale, space.limits])
    cost, unit = -program.gains, 1.0
    free = 0
    if program.levelled:
        steps = program.steps[on] / scale
        unit = float(steps.max())
        column = np.concatenate([steps / unit, np.zeros(len(space.limits))])
        matrix = hstack([matrix, csr_array(column[:, None])], format="csr")
        cost = np.append(cost * unit, -1.0)
        free = 1
    bounds = [(0.0, None)] * space.variables + [(None, None)] * free
    large = space.variables > LARGE
    done = linprog(cost, matrix, limits, bounds=bounds, method="highs-ipm" if large else "highs-ds")
    if large and done.status not in (SOLVED, INFEASIBLE):
        done = linprog(cost, matrix, limits, bounds=bounds, method="highs-ds")
    if done.status == INFEASIBLE:
        raise InfeasibleError(
            "Allocation: no shares of time give every job the throughput it needs; need less."
        )
    if done.status != SOLVED:
        raise SimulationError(f"Allocation: HiGHS stopped ({done.message}); report this problem.")
    x = np.asarray(done.x, np.float64)[: space.variables]
    return _optimum(program, x, -done.ineqlin.marginals / unit, on, scale)


def _row_scale(program: Program, on: Ints) -> Floats:
    """The largest rate of each job, so that all rows have coefficients of about 1."""
    space = program.space
    most = np.zeros(space.jobs)
    np.maximum.at(most, space.first, space.rate)
    return np.where(most[on] > 0, most[on], 1.0)


def _optimum(program: Program, x: Floats, duals: Floats, on: Ints, scale: Floats) -> Optimum:
    space, k, kinds = program.space, len(on), len(program.space.gpus)
    y = np.zeros(space.jobs)
    y[on] = duals[:k] / scale
    bound, prices = certified(program, Prices(y, duals[k : k + kinds], duals[k + kinds :]))
    return Optimum(x, program.value(x), bound, prices)
