"""Isolated: every job has an equal share of the cluster to itself."""

from __future__ import annotations

import numpy as np

from nona.options import Options, check_known
from nona.training.policies.base import Allocator, Policy
from nona.training.policies.problem import Allocation, Floats, Problem


def isolated_shares(problem: Problem) -> Floats:
    """(m, J) x_iso = N_j / max(m·sf_i, N): job i's part of a cluster that is split equally."""
    part: Floats = np.maximum(problem.jobs * problem.workers, problem.gpus.sum())
    return problem.gpus[None, :] / part[:, None]


def allocate(problem: Problem) -> Allocation:
    """The shares of :func:`isolated_shares`, as rows of single jobs."""
    return Allocation(tuple((i,) for i in range(problem.jobs)), isolated_shares(problem))


def _prepare(options: Options) -> Allocator:
    check_known("Policy 'isolated'", options, ())
    return allocate


POLICY = Policy(
    name="isolated",
    title="Isolated",
    summary="Splits every type of GPU equally among the jobs.",
    source="Narayanan et al., OSDI 2020 (Gavel), the baseline of sharing incentive",
    adaptation="",
    prepare=_prepare,
    defaults={},
    option_help={},
    heterogeneous=False,
)
