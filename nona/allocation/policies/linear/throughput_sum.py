"""Sum of throughputs: as many steps per second as possible, whoever makes them."""

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
from nona.allocation.policies.problem import Allocation, Problem
from nona.allocation.programs.program import linear
from nona.allocation.programs.solve import solve
from nona.look import Look

NAME = "sum-of-throughputs"


def _ask(problem: Problem, pack: bool) -> Allocation:
    """max over F of Σ_i thr_i(x)."""
    space = space_of(problem, pack)
    if not space.able.any():
        return nothing(problem, space)
    found = solve(linear(space, space.rate + space.partner_rate))
    return told(problem, space, found.x, found.objective, found.bound)


POLICY = Policy(
    name=NAME,
    title="Sum of throughputs",
    summary="Maximises the steps per second of all jobs together; jobs with slow steps may get nothing.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Ties as for max-min fairness. " + PACKED,
    prepare=sharing_policy(NAME, _ask),
    defaults=SHARING,
    option_help=SHARING_HELP,
    objective="steps per second, all jobs together",
    space_sharing=True,
    look=Look("#4d7c0f", "longdash", "cross"),
)
