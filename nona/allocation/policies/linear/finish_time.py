"""Finish-time fairness: no job is much later than on an equal share of the cluster."""

from __future__ import annotations

from nona.allocation.policies.base import Policy
from nona.allocation.policies.linear.fairest_finish import fairest_finish
from nona.allocation.policies.linear.question import PACKED, SHARING, SHARING_HELP, sharing_policy, space_of
from nona.allocation.policies.problem import Allocation, Problem
from nona.allocation.policies.shares.isolated import isolated_shares
from nona.look import Look

NAME = "finish-time-fairness"


def _ask(problem: Problem, pack: bool) -> Allocation:
    isolated = (problem.rates * isolated_shares(problem)).sum(axis=1)
    return fairest_finish(problem, space_of(problem, pack), isolated)


POLICY = Policy(
    name=NAME,
    title="Finish-time fairness",
    summary="Minimises the worst ratio ρ of a job's completion time to that on an equal share.",
    source="Mahajan et al., NSDI 2020 (Themis), as in Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Solved to a relative gap of 1e-7, with a bound from the last program's prices. Weights are "
    "not used, as in the public code. Ties as for max-min fairness at the optimal ρ. " + PACKED,
    prepare=sharing_policy(NAME, _ask),
    defaults=SHARING,
    option_help=SHARING_HELP,
    objective="worst ρ: completion time / completion time on an equal share",
    space_sharing=True,
    needs_steps=True,
    look=Look("#c2410c", "solid", "triangle-up"),
)
