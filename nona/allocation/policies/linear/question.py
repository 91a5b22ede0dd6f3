"""A problem as a program's polytope, and an optimum as an answer; the same for all policies of this room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan

import numpy as np

from nona.allocation.policies.base import Allocator
from nona.allocation.policies.problem import Allocation, Floats, Problem
from nona.allocation.policies.switches import switch
from nona.allocation.programs.pairs import worthwhile_pairs
from nona.allocation.programs.polytope import Polytope, polytope
from nona.options import Options

SHARING: Options = {"space_sharing": False}
SHARING_HELP: Mapping[str, str] = {
    "space_sharing": "whether two jobs may run on the same GPUs; a job's 8 best partners are considered"
}
PACKED = (
    "With space_sharing a pair gets a row where it gains on some type, and where one of its jobs has it "
    "among its 8 best; the answer is then one optimal vertex instead of the centre of the optimal face."
)


def space_of(problem: Problem, space_sharing: bool = False, rates: Floats | None = None) -> Polytope:
    """F for the problem's jobs, with rows for worthwhile pairs where two jobs may share GPUs.

    ``rates``: what the policy believes instead of the problem's rates; it then knows no pairs.
    """
    if rates is not None or not space_sharing or not len(problem.pairs):
        return polytope(problem.gpus, problem.workers, problem.rates if rates is None else rates)
    pairs, both = worthwhile_pairs(problem.rates, problem.workers, problem.pairs, problem.pair_rates)
    return polytope(problem.gpus, problem.workers, problem.rates, pairs, both)


def proportional_rates(problem: Problem, rates: Floats) -> Floats:
    """(m,) prop_i = Σ_j T_ij N_j / N: throughputs where each job has N_j / N of each type."""
    found: Floats = rates @ (problem.gpus / problem.gpus.sum())
    return found


def told(
    problem: Problem,
    space: Polytope,
    x: Floats,
    objective: float,
    bound: float,
    warnings: tuple[str, ...] = (),
) -> Allocation:
    """The answer, with a warning for each job that can run nowhere."""
    idle = [problem.names[i] for i in np.flatnonzero(~space.able)]
    stuck = tuple(
        f"Job {name!r} can run on no type of GPU: it gets no share, and the objective leaves it out."
        for name in idle
    )
    return Allocation(space.rows, space.shares(x), objective, bound, (*stuck, *warnings))


def nothing(problem: Problem, space: Polytope) -> Allocation:
    """The answer where no job can run."""
    return told(problem, space, np.zeros(space.variables), nan, nan)


def sharing_policy(name: str, ask: Callable[[Problem, bool], Allocation]) -> Callable[[Options], Allocator]:
    """``prepare`` of a policy whose only option is ``space_sharing``."""

    def prepare(options: Options) -> Allocator:
        pack = switch(f"Policy {name!r}", {**SHARING, **options}, "space_sharing", SHARING)
        return lambda problem: ask(problem, pack)

    return prepare
