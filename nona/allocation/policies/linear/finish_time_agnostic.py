"""Finish-time fairness that takes all types of GPU for equal."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.linear.fairest_finish import fairest_finish
from nona.allocation.policies.linear.question import space_of
from nona.allocation.policies.problem import Allocation, Problem
from nona.allocation.policies.shares.isolated import isolated_shares
from nona.look import Look
from nona.options import Options, check_known

NAME = "finish-time-fairness-agnostic"


def allocate(problem: Problem) -> Allocation:
    """Finish-time fairness with the job's mean rate over the GPUs on which it can run, on each of them."""
    runs = problem.rates > 0
    mean = (problem.rates @ problem.gpus) / np.maximum(runs @ problem.gpus, 1e-300)
    rates = np.where(runs, mean[:, None], 0.0)
    isolated = (rates * isolated_shares(problem)).sum(axis=1)
    return fairest_finish(problem, space_of(problem, rates=rates), isolated)


def _prepare(options: Options) -> Allocator:
    check_known(f"Policy {NAME!r}", options, ())
    return allocate


POLICY = Policy(
    name=NAME,
    title="Finish-time fairness, agnostic",
    summary="Minimises the worst ρ as if every job had its mean rate on all types of GPU.",
    source="Mahajan et al., NSDI 2020 (Themis), as in Narayanan et al., OSDI 2020 (Gavel), section 7",
    adaptation="The public code takes the V100's rate for all types; here it is the job's mean rate over the "
    "GPUs on which it can run. Otherwise as finish-time fairness.",
    prepare=_prepare,
    defaults={},
    option_help={},
    objective="worst ρ by mean rates",
    heterogeneous=False,
    needs_steps=True,
    look=Look("#e8956b", "dash", "triangle-up-open"),
)
