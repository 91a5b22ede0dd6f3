"""The bounds of a solution: at its own server wait, and at every server wait."""

from __future__ import annotations

import math

from nona.placement.certificate.unlisted_bound import linearised_bound_s, unconditional_bound_s
from nona.placement.formula.model import Model
from nona.placement.interiors.budget import Budget
from nona.placement.program.problem import build_problem, groups_of
from nona.placement.solver.linearised import Solution
from nona.placement.solver.parametric import solve_parametric

CLOSED = 1e-4  # a gap at which nothing is said to be left out


def bounds_s(model: Model, solution: Solution, budget: Budget) -> tuple[float, float]:
    """(bound at this server wait, bound for every server wait), of all configurations, listed or not.

    Where the columns that are quickly made leave a gap, those of
    :mod:`nona.placement.certificate.unlisted_bound` are taken, within the ``budget``. ``nan`` without a
    certificate.
    """
    bound = solution.certified.lower_bound_s
    if math.isnan(bound):
        return bound, bound
    value, everywhere = solution.value_s, global_bound_s(model)
    if not all(g.candidates.exhaustive for g in solution.priced.groups):
        relaxed = solution.priced.problem(model, relaxed=True)
        listed, bound = bound, min(bound, solve_parametric(relaxed, gap=1e-4).lower_bound_s)
        if bound < value * (1.0 - CLOSED):
            bound = max(bound, min(listed, linearised_bound_s(model, solution, budget)))
        if bound < value * (1.0 - CLOSED):
            everywhere = max(everywhere, unconditional_bound_s(model, solution, budget))
    everywhere = min(everywhere, value)
    return max(bound, everywhere), everywhere


def global_bound_s(model: Model) -> float:
    """A bound for every placement with the server wait that it itself brings about.

    The objective grows with W_c, so its minimum at the least W_c there can be lies below.
    """
    problem = build_problem(model, groups_of(model), model.least_server_wait_s, relaxed=True)
    return solve_parametric(problem, gap=1e-3).lower_bound_s
