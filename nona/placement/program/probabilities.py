"""From the solver's columns to probabilities of every sub-graph, and to the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.labels import to_configuration
from nona.placement.formula.model import Model, Probabilities
from nona.placement.program.problem import Group, Problem
from nona.placement.result.configuration import SubGraphPlacement

Floats = NDArray[np.float64]
_NEGLIGIBLE = 1e-9


def probabilities(model: Model, groups: Sequence[Group], problem: Problem, x: Floats) -> list[list[Floats]]:
    """Probabilities over the candidates of every sub-graph.

    A group's x is an average over its equal sub-graphs. It is dealt out so that all of them are
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


def placements(model: Model, x: Probabilities) -> tuple[tuple[SubGraphPlacement, ...], ...]:
    """The result's sub-graphs: configurations of positive probability, most probable first."""
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
