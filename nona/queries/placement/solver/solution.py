"""Result of a solver: a point with its bound, the problem there, its probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nona.core.arrays import Floats
from nona.queries.placement.configurations import to_configuration
from nona.queries.placement.model import ObjectiveValue, PlacementModel, Probabilities
from nona.queries.placement.result import SubGraphPlacement
from nona.queries.placement.solver.problem import PlacementProgram, ProgramGroup, build_problem, groups_of
from nona.queries.placement.spans import VISITS


@dataclass(frozen=True, eq=False)
class CertifiedPoint:
    """A point, its value, and a bound below which no point of the problem lies (seconds).

    ``cells`` counts the linear programs that were solved; ``complete`` is False when the limit on
    them was reached before the wanted gap.
    """

    x: Floats
    value_s: float
    lower_bound_s: float
    cells: int
    complete: bool

    @property
    def gap(self) -> float:
        """(value − bound) / value."""
        return (self.value_s - self.lower_bound_s) / self.value_s if self.value_s > 0 else 0.0


Table = list[list[Floats]]


@dataclass(frozen=True, eq=False)
class LinearisedProblem:
    """The problem linearised at a point; ``server_wait_s`` (J,) of each query class."""

    groups: tuple[ProgramGroup, ...]
    server_wait_s: Floats
    credit_s: float

    def problem(self, model: PlacementModel) -> PlacementProgram:
        """Its arrays."""
        return build_problem(model, self.groups, self.server_wait_s, credit_s=self.credit_s)


@dataclass(frozen=True, eq=False)
class Solution:
    """A placement ``x``, its objective, and the certificate of the problem linearised there."""

    x: Table
    value_s: float
    priced: LinearisedProblem
    certified: CertifiedPoint


def price(model: PlacementModel, x: Sequence[Sequence[Floats]], value: ObjectiveValue) -> LinearisedProblem:
    """Linearise the server wait at ``x``."""
    prices = model.servers.gradient(x, model.weights * value.terms[:, VISITS])
    credit = sum(
        float(p @ s) for row, xs in zip(prices, x, strict=True) for s, p in zip(row, xs, strict=True)
    )
    return LinearisedProblem(groups_of(model, prices), value.server_wait_s, credit)


_NEGLIGIBLE = 1e-9


def probabilities(
    model: PlacementModel, groups: Sequence[ProgramGroup], problem: PlacementProgram, x: Floats
) -> list[list[Floats]]:
    """Probabilities over the candidates of every sub-graph.

    A group's x is an average over its equal sub-graphs. It is distributed so that all of them are
    deterministic but at most (columns in use − 1): of n members, a column with share s fills
    ⌊n·s⌋ whole ones, in the order of the columns, and the remainders share what is left.
    """
    result = [[np.zeros(len(c)) for c in row] for row in model.candidates]
    for g, group in enumerate(groups):
        low, high = int(problem.start[g]), int(problem.start[g + 1])
        left = np.clip(x[low:high], 0.0, None) * len(group.members)
        left *= len(group.members) / left.sum()
        for k in group.members:
            for column, share in _next_member(left):
                result[group.query][k][problem.column[low + column]] += share
    return result


def _next_member(left: Floats) -> list[tuple[int, float]]:
    """Take one member's worth of probability out of ``left``: a whole column if there is one."""
    whole = np.flatnonzero(left >= 1 - _NEGLIGIBLE)
    if len(whole):
        left[whole[0]] = max(left[whole[0]] - 1.0, 0.0)
        return [(int(whole[0]), 1.0)]
    taken: list[tuple[int, float]] = []
    room = 1.0
    for column in np.argsort(-left, kind="stable").tolist():
        share = min(float(left[column]), room)
        if share > _NEGLIGIBLE:
            taken.append((column, share))
            left[column] -= share
            room -= share
    total = sum(share for _, share in taken)
    return [(column, share / total) for column, share in taken]


def placements(model: PlacementModel, x: Probabilities) -> tuple[tuple[SubGraphPlacement, ...], ...]:
    """Return the result's sub-graphs: configurations of positive probability, most probable first."""
    rows = []
    for j, query in enumerate(model.system.queries):
        row = []
        for k, subgraph in enumerate(query.decomposition.subgraphs):
            p = x[j][k]
            used = [int(c) for c in np.argsort(-p, kind="stable") if p[c] > _NEGLIGIBLE]
            labels = model.candidates[j][k].labels
            row.append(
                SubGraphPlacement(
                    subgraph,
                    tuple(to_configuration(labels[c].tolist(), subgraph.interior) for c in used),
                    p[used] / p[used].sum(),
                )
            )
        rows.append(tuple(row))
    return tuple(rows)
