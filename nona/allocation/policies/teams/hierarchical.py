"""Hierarchical: teams share by weight, and each shares fairly or first in, first out among its jobs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.allocation.policies.base import Allocator, Policy
from nona.allocation.policies.problem import Allocation, EntityShare, Floats, Ints, Problem
from nona.allocation.policies.shares.proportional import proportional_shares
from nona.allocation.policies.switches import switch
from nona.allocation.policies.teams.filling import Flags, fill
from nona.allocation.programs.pairs import worthwhile_pairs
from nona.allocation.programs.polytope import Polytope, polytope
from nona.allocation.programs.program import max_min
from nona.allocation.programs.solve import solve
from nona.look import Look
from nona.options import Options

_DEFAULTS: Options = {"space_sharing": False, "agnostic": False}


@dataclass(frozen=True, eq=False, slots=True)
class Teams:
    """The teams of the jobs; those without one are a team of their own, of weight 1 and fair inside."""

    entities: tuple[EntityShare, ...]
    entity: Ints
    weights: Floats

    def weigh(self, open_: Flags) -> Floats:
        """(m,) W_e · w_i / Σ w of the team's unsaturated jobs; in a FIFO team all W_e for the first of them.

        >>> teams = Teams((EntityShare("a", 2.0),), np.zeros(3, np.int64), np.array([1.0, 3.0, 4.0]))
        >>> teams.weigh(np.array([True, True, False])).tolist()
        [0.5, 1.5, 0.0]
        """
        found = np.zeros(len(open_))
        for number, team in enumerate(self.entities):
            jobs = np.flatnonzero(open_ & (self.entity == number))
            if not jobs.size:
                continue
            if team.policy == "fifo":
                found[jobs[0]] = team.weight
            else:
                found[jobs] = team.weight * self.weights[jobs] / self.weights[jobs].sum()
        return found


def teams_of(problem: Problem) -> Teams:
    """The problem's teams, with one more for the jobs without a team."""
    entity = problem.entity if problem.entity.size else np.full(problem.jobs, -1, np.int64)
    alone = EntityShare("")
    return Teams(
        (*problem.entities, alone), np.where(entity < 0, len(problem.entities), entity), problem.weights
    )


def _space(problem: Problem, rates: Floats, pack: bool) -> Polytope:
    if not pack or not len(problem.pairs):
        return polytope(problem.gpus, problem.workers, rates)
    pairs = worthwhile_pairs(rates, problem.workers, problem.pairs, problem.pair_rates)
    return polytope(problem.gpus, problem.workers, rates, *pairs)


def _allocate(problem: Problem, pack: bool, agnostic: bool) -> Allocation:
    """Levels by water-filling, then shares that reach them: x = argmax min thr_i / (unit_i ȳ_i)."""
    rates = (problem.rates > 0).astype(np.float64) if agnostic else problem.rates
    space = _space(problem, rates, pack and not agnostic)
    units = (proportional_shares(problem) * rates).sum(axis=1)
    if not space.able.any():
        return Allocation(space.rows, space.shares(np.zeros(space.variables)), 0.0, 0.0)
    found = fill(space, units, problem.workers, teams_of(problem).weigh)
    shares = solve(max_min(space, found.levels * units)).x
    return Allocation(
        space.rows,
        space.shares(shares),
        found.first,
        found.bound,
        details={"rounds": float(found.rounds)},
    )


def _prepare(options: Options) -> Allocator:
    owner, chosen = "Policy 'hierarchical'", {**_DEFAULTS, **options}
    pack = switch(owner, chosen, "space_sharing", _DEFAULTS)
    agnostic = switch(owner, chosen, "agnostic", _DEFAULTS)
    return lambda problem: _allocate(problem, pack, agnostic)


POLICY = Policy(
    name="hierarchical",
    title="Hierarchical",
    summary="Teams share the cluster by weight; inside, jobs share fairly or run first in, first out.",
    source="Narayanan et al., OSDI 2020 (Gavel), section 4.3 (water-filling)",
    adaptation="Jobs without a team are one team of weight 1. Saturated jobs keep their level and no longer "
    "bound the others' rise; the public code's constant for them does where weights are below 1.",
    prepare=_prepare,
    defaults=_DEFAULTS,
    option_help={
        "space_sharing": "whether two jobs may share GPUs",
        "agnostic": "whether all types count as equally fast; jobs then do not share GPUs",
    },
    objective="first level of the water: least workers · normalised throughput / weight",
    space_sharing=True,
    look=Look("#cf7a10", "solid", "diamond"),
)
