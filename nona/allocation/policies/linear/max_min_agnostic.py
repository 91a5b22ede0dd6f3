"""Max-min fairness that takes all types of GPU for equal."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.linear.max_min import fairest
from nona.allocation.policies.linear.question import space_of
from nona.allocation.policies.problem import Allocation, Problem
from nona.look import Look
from nona.options import Options, check_known

NAME = "max-min-fairness-agnostic"


def allocate(problem: Problem) -> Allocation:
    """Max-min fairness with rate 1 on every type on which the job can run."""
    rates = np.where(problem.rates > 0, 1.0, 0.0)
    return fairest(problem, space_of(problem, rates=rates), rates)


def _prepare(options: Options) -> Allocator:
    check_known(f"Policy {NAME!r}", options, ())
    return allocate


POLICY = Policy(
    name=NAME,
    title="Max-min fairness, agnostic",
    summary="Maximises the least share of time, as if all types of GPU were equally fast.",
    source="Narayanan et al., OSDI 2020 (Gavel), the baseline LAS of section 7",
    adaptation="A job gets no share on types on which it cannot run. Ties as for max-min fairness.",
    prepare=_prepare,
    defaults={},
    option_help={},
    objective="least sf·share / weight, relative to the types on which the job can run",
    heterogeneous=False,
    look=Look("#7aa6dc", "dash", "circle-open"),
)
