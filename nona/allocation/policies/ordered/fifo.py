"""First in, first out: jobs in order of arrival, each on the free type that is fastest for it."""

from __future__ import annotations

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.ordered.placing import fastest, place_in_order
from nona.allocation.policies.problem import Allocation, Problem
from nona.allocation.policies.switches import switch
from nona.look import Look
from nona.options import Options

_DEFAULTS: Options = {"space_sharing": False}


def _prepare(options: Options) -> Allocator:
    pack = switch("Policy 'fifo'", {**_DEFAULTS, **options}, "space_sharing", _DEFAULTS)

    def allocate(problem: Problem) -> Allocation:
        return place_in_order(problem, range(problem.jobs), fastest(problem), pack=pack)

    return allocate


POLICY = Policy(
    name="fifo",
    title="FIFO",
    summary="Runs jobs in order of arrival, each on the free GPU type that is fastest for it.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4; rules of its public simulator",
    adaptation="Decided at every reallocation, so jobs may move. With space sharing a waiting job joins "
    "the running one with the largest Σ T_pair / T_alone, if that is above 1.5.",
    prepare=_prepare,
    defaults=_DEFAULTS,
    option_help={"space_sharing": "whether waiting jobs may join running ones on the same GPUs"},
    space_sharing=True,
    needs_share=True,
    look=Look("#8390a6", "dash", "hexagon"),
)
