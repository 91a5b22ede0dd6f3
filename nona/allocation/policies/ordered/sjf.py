"""Shortest job first: as FIFO, in order of the time left on the fastest type."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.ordered.placing import fastest, place_in_order
from nona.allocation.policies.problem import Allocation, Ints, Problem
from nona.allocation.policies.switches import switch
from nona.look import Look
from nona.options import Options

_DEFAULTS: Options = {"space_sharing": False}


def shortest_first(problem: Problem) -> Ints:
    """Jobs by rem_i / max_j T_ij, then by number; those that run nowhere are last."""
    best = problem.rates.max(axis=1)
    left = np.divide(problem.remaining, best, out=np.full(problem.jobs, np.inf), where=best > 0)
    return np.argsort(left, kind="stable")


def _prepare(options: Options) -> Allocator:
    pack = switch("Policy 'sjf'", {**_DEFAULTS, **options}, "space_sharing", _DEFAULTS)

    def allocate(problem: Problem) -> Allocation:
        return place_in_order(problem, shortest_first(problem).tolist(), fastest(problem), pack=pack)

    return allocate


POLICY = Policy(
    name="sjf",
    title="Shortest job first",
    summary="Runs the jobs with the least time left on their fastest GPU type first.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2, from memory",
    adaptation="The paper's problem (least time left of a single job) says nothing about the other jobs, "
    "and no public code has it. Ours: FIFO's placing, in order of remaining steps over the best rate.",
    prepare=_prepare,
    defaults=_DEFAULTS,
    option_help={"space_sharing": "whether waiting jobs may join running ones on the same GPUs"},
    space_sharing=True,
    needs_share=True,
    needs_steps=True,
    look=Look("#9c6b2f", "dashdot", "star"),
)
