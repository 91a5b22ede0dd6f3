"""Max-min fairness: the least of all jobs' normalised throughputs is as large as possible."""

from __future__ import annotations

from nona.allocation.policies.base import Policy
from nona.allocation.policies.linear.question import (
    PACKED,
    SHARING,
    SHARING_HELP,
    nothing,
    proportional_rates,
    sharing_policy,
    space_of,
    told,
)
from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.allocation.programs.polytope import Polytope
from nona.allocation.programs.program import max_min
from nona.allocation.programs.solve import solve
from nona.look import Look

NAME = "max-min-fairness"


def fairest(problem: Problem, space: Polytope, rates: Floats) -> Allocation:
    """max over F of min_i sf_i thr_i(x) / (w_i prop_i), both by ``rates``."""
    if not space.able.any():
        return nothing(problem, space)
    steps = problem.weights * proportional_rates(problem, rates) / problem.workers
    found = solve(max_min(space, steps))
    return told(problem, space, found.x, found.objective, found.bound)


def _ask(problem: Problem, pack: bool) -> Allocation:
    return fairest(problem, space_of(problem, pack), problem.rates)


POLICY = Policy(
    name=NAME,
    title="Max-min fairness",
    summary="Maximises the least throughput, each relative to the job's equal share of all types.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.1 (least attained service)",
    adaptation="Among equal optima it takes the analytic centre of the optimal face, so that equal jobs get "
    "equal shares and runs repeat. " + PACKED,
    prepare=sharing_policy(NAME, _ask),
    defaults=SHARING,
    option_help=SHARING_HELP,
    objective="least sf·throughput / (weight · throughput on a proportional share)",
    space_sharing=True,
    look=Look("#1f5fbf", "solid", "circle"),
)
