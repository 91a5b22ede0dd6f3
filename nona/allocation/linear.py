"""Policies by one linear program: max-min fairness, makespan, sum of throughputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any

import numpy as np

from nona.allocation.centre import solve
from nona.allocation.polytope import Polytope, polytope, worthwhile_pairs
from nona.allocation.problem import Allocation, AllocationPolicy, AllocationProblem, Allocator
from nona.allocation.program import linear, max_min
from nona.core.arrays import Floats
from nona.core.options import PolicyOption
from nona.core.registry import ChartStyle

SHARING = {
    "space_sharing": PolicyOption(
        False, "whether two jobs may run on the same GPUs; a job's 8 best partners are considered"
    )
}
PACKED = (
    "With space_sharing a pair gets a row if it gains on some type, and is among the 8 best of one of its "
    "jobs. The answer is then one optimal vertex instead of the centre of the optimal face."
)


def space_of(
    problem: AllocationProblem, space_sharing: bool = False, rates: Floats | None = None
) -> Polytope:
    """F for the problem's jobs, with rows for worthwhile pairs where two jobs may share GPUs.

    ``rates``: what the policy believes instead of the problem's rates; it then knows no pairs.
    """
    if rates is not None or not space_sharing or not len(problem.pairs):
        return polytope(problem.gpus, problem.workers, problem.rates if rates is None else rates)
    pairs, both = worthwhile_pairs(problem.rates, problem.workers, problem.pairs, problem.pair_rates)
    return polytope(problem.gpus, problem.workers, problem.rates, pairs, both)


def _proportional_rates(problem: AllocationProblem, rates: Floats) -> Floats:
    """(m,) prop_i = Σ_j T_ij N_j / N: throughputs where each job has N_j / N of each type."""
    proportional: Floats = rates @ (problem.gpus / problem.gpus.sum())
    return proportional


def to_allocation(
    problem: AllocationProblem,
    space: Polytope,
    x: Floats,
    objective: float,
    bound: float,
    warnings: tuple[str, ...] = (),
) -> Allocation:
    """Return the answer, with a warning for each job that can run nowhere."""
    idle = [problem.names[i] for i in np.flatnonzero(~space.able)]
    stuck = tuple(
        f"Job {name!r} can run on no type of GPU: it gets no share, and the objective leaves it out."
        for name in idle
    )
    return Allocation(space.rows, space.shares(x), objective, bound, (*stuck, *warnings))


def empty_allocation(problem: AllocationProblem, space: Polytope) -> Allocation:
    """Return the answer where no job can run."""
    return to_allocation(problem, space, np.zeros(space.variables), nan, nan)


def sharing_policy(
    ask: Callable[[AllocationProblem, bool], Allocation],
) -> Callable[[Mapping[str, Any]], Allocator]:
    """``build`` of a policy whose only option is ``space_sharing``."""
    return lambda options: lambda problem: ask(problem, options["space_sharing"])


def _fairest(problem: AllocationProblem, space: Polytope, rates: Floats) -> Allocation:
    """Maximise min_i sf_i thr_i(x) / (w_i prop_i) over F, both by ``rates``."""
    if not space.able.any():
        return empty_allocation(problem, space)
    steps = problem.weights * _proportional_rates(problem, rates) / problem.workers
    optimum = solve(max_min(space, steps))
    return to_allocation(problem, space, optimum.x, optimum.objective, optimum.bound)


def _max_min_fair(problem: AllocationProblem, pack: bool) -> Allocation:
    return _fairest(problem, space_of(problem, pack), problem.rates)


MAX_MIN = AllocationPolicy(
    name="max-min-fairness",
    title="Max-min fairness",
    summary="Maximises the least throughput, each relative to the job's equal share of all types.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.1 (least attained service)",
    adaptation="Among equal optima it takes the analytic centre of the optimal face, so that equal jobs get "
    "equal shares and runs repeat. " + PACKED,
    build=sharing_policy(_max_min_fair),
    settings=SHARING,
    objective="least sf·throughput / (weight · throughput on a proportional share)",
    space_sharing=True,
    style=ChartStyle("#1f5fbf", "solid", "circle"),
)


def allocate(problem: AllocationProblem) -> Allocation:
    """Max-min fairness with rate 1 on every type on which the job can run."""
    rates = np.where(problem.rates > 0, 1.0, 0.0)
    return _fairest(problem, space_of(problem, rates=rates), rates)


MAX_MIN_AGNOSTIC = AllocationPolicy(
    name="max-min-fairness-agnostic",
    title="Max-min fairness, agnostic",
    summary="Maximises the least share of time, as if all types of GPU were equally fast.",
    source="Narayanan et al., OSDI 2020 (Gavel), the baseline LAS of section 7",
    adaptation="A job gets no share on types on which it cannot run. Ties as for max-min fairness.",
    build=lambda options: allocate,
    objective="least sf·share / weight, relative to the types on which the job can run",
    heterogeneous=False,
    style=ChartStyle("#7aa6dc", "dash", "circle-open"),
)


def _min_makespan(problem: AllocationProblem, pack: bool) -> Allocation:
    """T* = 1 / max{λ: thr_i(x) ≥ λ rem_i for all i, x in F}."""
    space = space_of(problem, pack)
    if not space.able.any():
        return empty_allocation(problem, space)
    optimum = solve(max_min(space, problem.remaining))
    return to_allocation(problem, space, optimum.x, 1.0 / optimum.objective, 1.0 / optimum.bound)


MAKESPAN = AllocationPolicy(
    name="makespan",
    title="Makespan",
    summary="Minimises the time at which the last of the present jobs is complete.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Solved exactly by one program, where the public code bisects and ends up to 5 % above the "
    "optimum. Ties as for max-min fairness. " + PACKED,
    build=sharing_policy(_min_makespan),
    settings=SHARING,
    objective="seconds until the last job is complete",
    space_sharing=True,
    needs_steps="all jobs",
    style=ChartStyle("#7b3fa0", "dot", "diamond"),
)


def _max_throughput(problem: AllocationProblem, pack: bool) -> Allocation:
    """Maximise Σ_i thr_i(x) over F."""
    space = space_of(problem, pack)
    if not space.able.any():
        return empty_allocation(problem, space)
    optimum = solve(linear(space, space.rate + space.partner_rate))
    return to_allocation(problem, space, optimum.x, optimum.objective, optimum.bound)


THROUGHPUT_SUM = AllocationPolicy(
    name="sum-of-throughputs",
    title="Sum of throughputs",
    summary="Maximises the steps per second of all jobs together; jobs with slow steps may get nothing.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.2",
    adaptation="Ties as for max-min fairness. " + PACKED,
    build=sharing_policy(_max_throughput),
    settings=SHARING,
    objective="steps per second, all jobs together",
    space_sharing=True,
    style=ChartStyle("#4d7c0f", "longdash", "cross"),
)
