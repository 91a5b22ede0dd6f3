"""A linear program over allocations: objective, judgement, HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from nona.allocation.polytope import Polytope
from nona.core.arrays import Floats, Ints
from nona.core.errors import SimulationError


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """max g·x + κλ over x in F and λ, subject to thr_i(x) ≥ floor_i + λ·step_i for each job i.

    κ is 1 where some step is above 0, otherwise there is no λ. So a max-min program has ``steps`` and no
    ``gains``; a linear one has ``gains``, and its ``floors`` are what each job needs at least.

    ``gains``: (n,) g, per variable of ``space``. ``floors``, ``steps``: (m,) in steps/s, at least 0. A job
    with neither has no constraint. Jobs that can run nowhere must have neither.
    """

    space: Polytope
    gains: Floats
    floors: Floats
    steps: Floats

    @property
    def levelled(self) -> bool:
        """True where the program has λ."""
        return bool(self.steps.any())

    def value(self, x: Floats) -> float:
        """Return the objective at x, with the largest λ that x allows."""
        total = float(self.gains @ x)
        if not self.levelled:
            return total
        on = self.steps > 0
        return total + float(np.min((self.space.throughputs(x) - self.floors)[on] / self.steps[on]))


class Prices(NamedTuple):
    """Dual values: of the constraints of throughput (m), of GPUs (J), of jobs' time (m); all at least 0."""

    throughput: Floats
    gpus: Floats
    time: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Optimum:
    """Values of the variables, the objective there, and a bound that no allocation exceeds."""

    x: Floats
    objective: float
    bound: float
    prices: Prices


def max_min(space: Polytope, steps: Floats, floors: Floats | None = None) -> Program:
    """Maximise λ such that thr_i ≥ floor_i + λ·step_i."""
    least = np.zeros(space.jobs) if floors is None else floors
    return Program(space, np.zeros(space.variables), least, np.where(space.able, steps, 0.0))


def linear(space: Polytope, gains: Floats, floors: Floats | None = None) -> Program:
    """Maximise gains·x such that thr_i ≥ floor_i."""
    m = space.jobs
    return Program(space, gains, np.zeros(m) if floors is None else floors, np.zeros(m))


def certified(program: Program, prices: Prices) -> tuple[float, Prices]:
    """Return the bound that prices prove by weak duality, after they are made feasible, and these prices.

    With y, p, u ≥ 0 and Σ y_i step_i = 1, if g_v + Σ_i y_i T_iv ≤ sf_v p_j + Σ_i u_i for each variable v,
    then no allocation exceeds Σ N_j p_j + Σ u_i − Σ y_i floor_i. Prices of a solver
    keep this up to its tolerance: y is scaled, and u is the least that keeps it for singles, then raised
    where pairs exceed it.
    """
    space = program.space
    y = np.maximum(prices.throughput, 0.0)
    p = np.maximum(prices.gpus, 0.0)
    if program.levelled:
        scale = float(y @ program.steps)
        if scale <= 0:
            return np.inf, prices
        y, p = y / scale, p / scale
    reduced = program.gains + y[space.first] * space.rate - space.workers * p[space.column]
    two = space.second >= 0
    reduced[two] += y[space.second[two]] * space.partner_rate[two]
    u = np.maximum(prices.time, 0.0) if space.paired else np.zeros(space.jobs)
    np.maximum.at(u, space.first[~two], reduced[~two])
    if space.paired:
        a, b = space.first[two], space.second[two]
        over = np.maximum(reduced[two] - u[a] - u[b], 0.0)
        raised = u.copy()
        np.maximum.at(raised, a, u[a] + over)
        u = raised
    bound = float(space.gpus @ p + u.sum() - y @ program.floors)
    return bound, Prices(y, p, u)


LARGE = 1000  # variables
SOLVED, INFEASIBLE = 0, 2


class InfeasibleError(SimulationError):
    """No allocation gives every job the least throughput that it needs."""


def solve_highs(program: Program) -> Optimum:
    """Return an optimal vertex; the same one for the same program, to the byte (HiGHS runs on one thread).

    Large programs are solved by its interior-point method with crossover to a vertex, which is about 5 times
    faster there than its dual simplex method.
    """
    space = program.space
    on = np.flatnonzero((program.steps > 0) | (program.floors > 0))
    scale = _row_scale(program, on)
    need = scipy.sparse.csr_array(space.throughput_matrix()[on] * (-1.0 / scale)[:, None])
    matrix = scipy.sparse.vstack([need, space.limit_matrix()], format="csr")
    limits = np.concatenate([-program.floors[on] / scale, space.limits])
    cost, unit = -program.gains, 1.0
    free = 0
    if program.levelled:
        steps = program.steps[on] / scale
        unit = float(steps.max())
        column = np.concatenate([steps / unit, np.zeros(len(space.limits))])
        matrix = scipy.sparse.hstack([matrix, scipy.sparse.csr_array(column[:, None])], format="csr")
        cost = np.append(cost * unit, -1.0)
        free = 1
    bounds = [(0.0, None)] * space.variables + [(None, None)] * free
    large = space.variables > LARGE
    done = scipy.optimize.linprog(
        cost, matrix, limits, bounds=bounds, method="highs-ipm" if large else "highs-ds"
    )
    if large and done.status not in (SOLVED, INFEASIBLE):
        done = scipy.optimize.linprog(cost, matrix, limits, bounds=bounds, method="highs-ds")
    if done.status == INFEASIBLE:
        raise InfeasibleError(
            "Allocation: no shares of time give every job the throughput it needs; need less."
        )
    if done.status != SOLVED:
        raise SimulationError(f"Allocation: HiGHS stopped ({done.message}); report this problem.")
    x = np.asarray(done.x, np.float64)[: space.variables]
    return _optimum(program, x, -done.ineqlin.marginals / unit, on, scale)


def _row_scale(program: Program, on: Ints) -> Floats:
    """Return the largest rate of each job, so that all rows have coefficients of about 1."""
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
