"""Isolated and proportional: every job has an equal part of the cluster."""

from __future__ import annotations

import numpy as np

from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem
from nona.core.arrays import Floats, Ints
from nona.core.registry import ChartStyle


def equal_shares(gpus: Floats, workers: Floats | Ints) -> Floats:
    """(m, J) x_iso = N_j / max(m·sf_i, N): job i's part of a cluster that is split equally.

    >>> equal_shares(np.array([2.0, 2.0]), np.array([1, 4])).tolist()
    [[0.5, 0.5], [0.25, 0.25]]
    """
    part: Floats = np.maximum(len(workers) * workers, gpus.sum())
    return gpus[None, :] / part[:, None]


def isolated_shares(problem: AllocationProblem) -> Floats:
    """:func:`equal_shares` of a problem's jobs."""
    return equal_shares(problem.gpus, problem.workers)


def allocate(problem: AllocationProblem) -> Allocation:
    """Return the shares of :func:`isolated_shares`, as rows of single jobs."""
    return Allocation(tuple((i,) for i in range(problem.jobs)), isolated_shares(problem))


ISOLATED = AllocationPolicy(
    name="isolated",
    title="Isolated",
    summary="Splits every type of GPU equally among the jobs.",
    source="Narayanan et al., OSDI 2020 (Gavel), the baseline of sharing incentive",
    adaptation="",
    build=lambda options: allocate,
    heterogeneous=False,
)


def proportional_shares(problem: AllocationProblem) -> Floats:
    """(m, J) x_prop = N_j / N for every job, as if it had the cluster to itself.

    It normalises throughputs; with more GPUs asked for than there are it is not feasible.
    """
    part: Floats = problem.gpus / problem.gpus.sum()
    return np.tile(part, (problem.jobs, 1))


def _allocate(problem: AllocationProblem) -> Allocation:
    return Allocation(tuple((i,) for i in range(problem.jobs)), proportional_shares(problem))


PROPORTIONAL = AllocationPolicy(
    name="proportional",
    title="Proportional",
    summary="Gives every job each GPU type for that type's part of the cluster.",
    source="Narayanan et al., OSDI 2020 (Gavel), the normaliser of max-min fairness",
    adaptation="Its shares add up to more than the cluster when jobs ask for more GPUs than there are: the "
    "rounds then serve jobs in turn.",
    build=lambda options: _allocate,
    heterogeneous=False,
    style=ChartStyle("#7a9a1e", "solid", "pentagon"),
)
