"""Proportional: every job has each type for the type's part of all GPUs."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.look import Look
from nona.options import Options, check_known


def proportional_shares(problem: Problem) -> Floats:
    """(m, J) x_prop = N_j / N for every job, as if it had the cluster to itself.

    It normalises throughputs; with more GPUs asked for than there are it is not feasible.
    """
    part: Floats = problem.gpus / problem.gpus.sum()
    return np.tile(part, (problem.jobs, 1))


def _allocate(problem: Problem) -> Allocation:
    return Allocation(tuple((i,) for i in range(problem.jobs)), proportional_shares(problem))


def _prepare(options: Options) -> Allocator:
    check_known("Policy 'proportional'", options, ())
    return _allocate


POLICY = Policy(
    name="proportional",
    title="Proportional",
    summary="Gives every job each GPU type for that type's part of the cluster.",
    source="Narayanan et al., OSDI 2020 (Gavel), the normaliser of max-min fairness",
    adaptation="Its shares add up to more than the cluster when jobs ask for more GPUs than there are: the "
    "rounds then serve jobs in turn.",
    prepare=_prepare,
    defaults={},
    option_help={},
    heterogeneous=False,
    look=Look("#7a9a1e", "solid", "pentagon"),
)
