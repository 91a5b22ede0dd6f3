"""Isolated: every job has an equal share of the cluster to itself."""

from __future__ import annotations

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.problem import Allocation, Floats, Ints, Problem
from nona.options import Options, check_known


def equal_shares(gpus: Floats, workers: Floats | Ints) -> Floats:
    """(m, J) x_iso = N_j / max(m·sf_i, N): job i's part of a cluster that is split equally.

    >>> equal_shares(np.array([2.0, 2.0]), np.array([1, 4])).tolist()
    [[0.5, 0.5], [0.25, 0.25]]
    """
    part: Floats = np.maximum(len(workers) * workers, gpus.sum())
    return gpus[None, :] / part[:, None]


def isolated_shares(problem: Problem) -> Floats:
    """:func:`equal_shares` of a problem's jobs."""
    return equal_shares(problem.gpus, problem.workers)


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
