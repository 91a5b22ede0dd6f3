"""Column generation: configurations that are worth their price, for interiors of which not all are listed.

A solution of the listed configurations gives waits W_n, W_c and prices: of link load and squared
batches (the multiplier of the link's row), and of blocks of work. At these a local search starts from
the best listed configurations; what it finds is listed too, and the problem is solved again, until
nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.extremes import server_slots
from nona.placement.configurations.labels import Labels, canonical
from nona.placement.formula.mean_jct import objective_s, value_at
from nona.placement.formula.model import Model
from nona.placement.interiors.budget import Budget
from nona.placement.interiors.clusters import clusters, flat_groups
from nona.placement.interiors.flat_shape import flatten
from nona.placement.interiors.prices import Prices, costs
from nona.placement.interiors.shadow_prices import group_prices, shadow
from nona.placement.program.problem import Group
from nona.placement.solver.linearised import Solution
from nona.placement.spans.candidates import Candidates

Floats = NDArray[np.float64]
Table = list[list[Floats]]
Tried = tuple[tuple[float, float], ...]
_STARTS = 2  # local searches at each set of prices
_TRIALS = 60_000  # configurations tried in one of them
_ROUNDS = 20


# Shares of the server wait, and what is charged for a second of link load besides the solution's price.
_USUAL = ((1.0, 0.0), (0.3, 0.0), (0.05, 0.0), (0.3, 3.0), (0.05, 30.0))


_FURTHER = ((0.1, 1.0), (0.02, 3.0), (0.15, 10.0), (0.02, 100.0))  # where these gain nothing
_GAIN = 1e-4
_FOUND = ", and configurations by column generation at the prices of the solutions"


def climbed(candidates: Candidates, slots: int, prices: Prices, budget: Budget) -> Labels:
    """(n, m+1) What the local search makes of the best candidates at these prices, without known ones."""
    from nona.placement.interiors.cluster_moves import climb

    shape = candidates.shape
    flat = flatten(shape, candidates.link, slots, prices)
    group_at, members = flat_groups(clusters(shape))
    known = {tuple(row) for row in candidates.labels.tolist()}
    tensors = int(shape.tensor.max(initial=0)) + 1
    found: dict[tuple[int, ...], None] = {}
    for row in np.argsort(costs(candidates, prices), kind="stable")[:_STARTS].tolist():
        server = np.concatenate([[0], candidates.labels[row]]).astype(np.int64)
        most = min(_TRIALS, budget.times(shape.m + len(shape.source)))
        _, tried = climb(flat, tensors, server, group_at, members, most)
        budget.spend(tried * (shape.m + len(shape.source)))
        if not shape.has_root:
            server[1:] = _from_first(server[1:])
        label = canonical(server[1:].tolist())
        if label not in known:
            found[label] = None
    return np.array(list(found), dtype=np.int64).reshape(-1, shape.m + 1)


def _from_first(server: Labels) -> Labels:
    """Behind a virtual root: the first task's server gets number 0."""
    first = server[0]
    return np.where(server == first, 0, np.where(server == 0, first, server))


def generate(
    model: Model, solution: Solution, again: Callable[[Model, Table], Solution], budget: Budget
) -> tuple[Model, Solution]:
    """List what the prices of the solution call for and solve ``again``, until nothing is gained.

    The prices are taken at this placement's server wait and at less, because a placement with
    shorter blocks of work brings the wait down that speaks against it; and with a dearer link,
    because one that nobody uses yet costs nothing.
    """
    slots, stalled = server_slots(model.system), 0
    for _ in range(_ROUNDS):
        new = _wanted(model, solution, slots, budget, (_USUAL, _FURTHER)[stalled])
        if not new and not stalled:
            stalled = 1
            continue
        if not new:
            break
        before = solution.value_s
        known = {id(c): len(c) for row in model.candidates for c in row if id(c) in new}
        groups = [(g, known.get(id(g.candidates), 0)) for g in solution.priced.groups]
        model, x = _extended(model, solution.x, {k: np.unique(np.vstack(v), axis=0) for k, v in new.items()})
        solution = again(model, _best_pure(model, x, [(g, n) for g, n in groups if n]))
        stalled = stalled + 1 if solution.value_s >= before * (1.0 - _GAIN) else 0
        if stalled > 1 or budget.spent:
            break
    return model, solution


def _wanted(
    model: Model, solution: Solution, slots: int, budget: Budget, tried: Tried
) -> dict[int, list[Labels]]:
    """New configurations for each set of candidates, by its identity."""
    at = shadow(solution.priced.problem(model), solution.certified.x, model.system.discipline)
    new: dict[int, list[Labels]] = {}
    for share, extra in tried:
        for g, prices in zip(solution.priced.groups, group_prices(model, solution, at), strict=True):
            if g.candidates.exhaustive or model.weights[g.query] == 0 or budget.spent:
                continue
            cheaper = replace(prices, server_wait_s=share * prices.server_wait_s, load=prices.load + extra)
            rows = climbed(g.candidates, slots, cheaper, budget)
            if len(rows):
                new.setdefault(id(g.candidates), []).append(rows)
    return new


def _best_pure(model: Model, x: Table, groups: list[tuple[Group, int]]) -> Table:
    """``x``, or better: one group at a time all in one of its new configurations (from the n-th on)."""
    best, value = x, objective_s(model, value_at(model, x))
    for g, known in groups:
        size = len(x[g.query][g.members[0]])
        for at in range(known, size):
            moved = [list(row) for row in x]
            for k in g.members:
                moved[g.query][k] = np.eye(1, size, at)[0]
            found = objective_s(model, value_at(model, moved))
            if found < value:
                best, value = moved, found
    return best


def _extended(model: Model, x: Table, new: dict[int, Labels]) -> tuple[Model, Table]:
    """The model with more candidates, and the same point there."""
    made: dict[int, Candidates] = {}
    for row in model.candidates:
        for c in row:
            if id(c) in new and id(c) not in made:
                labels = np.vstack([c.labels, new[id(c)]])
                first = c.note.partition(_FOUND)[0]
                made[id(c)] = replace(c, labels=labels, note=f"{first}{_FOUND}, {len(labels)} in all")
    rows = tuple(tuple(made.get(id(c), c) for c in row) for row in model.candidates)
    padded = [
        [np.pad(p, (0, len(c) - len(p))) for c, p in zip(row, ps, strict=True)]
        for row, ps in zip(rows, x, strict=True)
    ]
    return replace(model, candidates=rows), padded
