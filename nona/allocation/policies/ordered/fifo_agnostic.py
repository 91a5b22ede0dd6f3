"""First in, first out without a look at rates: what heterogeneity-awareness is compared with."""

from __future__ import annotations

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.ordered.placing import most_free, place_in_order
from nona.allocation.policies.problem import Allocation, Problem
from nona.look import Look
from nona.options import Options, check_known


def _allocate(problem: Problem) -> Allocation:
    return place_in_order(problem, range(problem.jobs), most_free(problem), pack=False)


def _prepare(options: Options) -> Allocator:
    check_known("Policy 'fifo-agnostic'", options, ())
    return _allocate


POLICY = Policy(
    name="fifo-agnostic",
    title="FIFO, agnostic",
    summary="Runs jobs in order of arrival, each on the type with most free GPUs that can run it.",
    source="Narayanan et al., OSDI 2020 (Gavel), the agnostic baseline of FIFO",
    adaptation="The type is our choice: which one the paper takes is not known to us, and its public code "
    "puts all jobs on one type.",
    prepare=_prepare,
    defaults={},
    option_help={},
    heterogeneous=False,
    needs_share=True,
    look=Look("#8390a6", "dot", "hexagon-open"),
)
