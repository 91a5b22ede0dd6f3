"""Makespan: the last of the jobs that are there is complete as early as possible."""

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
from nona.allocation.programs.program import max_min
from nona.allocation.programs.solve import solve
from nona.look import Look

NAME = "makespan"


def _ask(problem: Problem, pack: bool) -> Allocation:
    """T* = 1 / max{λ: thr_i(x) ≥ λ rem_i for all i, x in F}."""
    space = space_of(problem, pack)
    if not space.able.any():
        return nothing(problem, space)
    found = solve(max_min(space, problem.remaining))
    return told(problem, space, found.x, 1.0 / found.objective, 1.0 / found.bound)


POLICY = Policy(
    name=NAME,
    title="Makespan",
    summary="Minimises the time at which the last of the present jobs is complete.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Solved exactly by one program, where the public code bisects and ends up to 5 % above the "
    "optimum. Ties as for max-min fairness. " + PACKED,
    prepare=sharing_policy(NAME, _ask),
    defaults=SHARING,
    option_help=SHARING_HELP,
    objective="seconds until the last job is complete",
    space_sharing=True,
    needs_steps=True,
    look=Look("#7b3fa0", "dot", "diamond"),
)
