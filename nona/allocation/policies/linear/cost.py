"""Cost: as many steps per dollar as possible."""

from __future__ import annotations

from nona.allocation.policies.base import Policy
from nona.allocation.policies.linear.question import (
    PACKED,
    SHARING,
    SHARING_HELP,
    nothing,
    sharing_policy,
    space_of,
    told,
)
from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.allocation.programs.polytope import Polytope
from nona.allocation.programs.program import linear
from nona.allocation.programs.solve import solve
from nona.look import Look

NAME = "cost"


def steps_per_price(problem: Problem, space: Polytope) -> Floats:
    """(n,) T / cost_j of each variable, both jobs of a pair together."""
    return (space.rate + space.partner_rate) / problem.prices[space.column]


def _ask(problem: Problem, pack: bool) -> Allocation:
    """max over F of Σ T x / cost_j."""
    space = space_of(problem, pack)
    if not space.able.any():
        return nothing(problem, space)
    found = solve(linear(space, steps_per_price(problem, space)))
    return told(problem, space, found.x, found.objective, found.bound)


POLICY = Policy(
    name=NAME,
    title="Cost",
    summary="Maximises throughput over price, summed over jobs and types.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="The sum of T·x / price, as in the public code; it does not count how many GPUs a job takes. "
    "Ties as for max-min fairness. " + PACKED,
    prepare=sharing_policy(NAME, _ask),
    defaults=SHARING,
    option_help=SHARING_HELP,
    objective="Σ throughput / price (steps/s per US dollar/hour)",
    space_sharing=True,
    needs_prices=True,
    look=Look("#a16207", "dashdot", "pentagon"),
)
