"""Column generation: the cheapest configurations at a solution's prices join the program.

A solution of the listed configurations gives waits W_n, W_c and prices: of link load and squared
batches (the multiplier of the link's row), and of blocks of work. At these a local search starts from
the best listed configurations; what it finds is listed too, and the problem is solved again, until
nothing new is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nona.arrays import Ints
from nona.placement.configurations import Shape, canonical, connected, server_slots
from nona.placement.interiors.prices import Prices, costs, group_prices, shadow
from nona.placement.interiors.start_bounds import flatten
from nona.placement.messages import Candidates
from nona.placement.model import Model, objective_s, value_at
from nona.placement.solver.problem import Group
from nona.placement.solver.solution import Solution, Table

_STEPS_PER_S = 8e7  # edges and tasks looked at by compiled code on one core, about


class Budget:
    """Steps that are left of about ``time_s`` seconds."""

    def __init__(self, time_s: float) -> None:
        self._left = time_s * _STEPS_PER_S

    def spend(self, steps: float) -> None:
        """Take ``steps`` off."""
        self._left -= steps

    @property
    def spent(self) -> bool:
        """True where nothing is left."""
        return self._left <= 0

    def times(self, steps: float) -> int:
        """Return how often ``steps`` fit into the rest of the budget."""
        return max(int(self._left / steps), 0)


def clusters(shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Single tasks, the sink, and every group that arises when edges are joined, largest tensor first.

    Nodes are 1…m and m+1, the sink; groups with all nodes are left out. Of edges of equal size the
    ones whose groups have least work are joined first, so that groups grow evenly.

    >>> from nona.placement.configurations import Shape
    >>> ints = lambda *v: np.array(v, dtype=np.int64)
    >>> two = np.ones(2)
    >>> shape = Shape(False, False, two[None], two, ints(1), ints(2), ints(0), np.array([5.0]))
    >>> clusters(shape)
    ((1,), (2,), (1, 2))
    """
    members: dict[int, tuple[int, ...]] = {v: (v,) for v in range(1, shape.m + 1)}
    if shape.has_sink:
        members[shape.m + 1] = (shape.m + 1,)
    home = {v: v for v in members}
    work = {v: float(shape.mean_s[v - 1]) if v <= shape.m else 0.0 for v in members}
    groups = list(members.values())
    left = [
        (-float(shape.size[e]), int(shape.source[e]), int(shape.target[e]))
        for e in range(len(shape.size))
        if shape.source[e] > 0
    ]
    for _, level in _levels(left):
        while level:
            level = [(u, v) for u, v in level if home[u] != home[v]]
            if not level:
                break
            u, v = min(level, key=lambda e: (max(work[home[e[0]]], work[home[e[1]]]), e))
            a, b = home[u], home[v]
            members[a] = (*members[a], *members[b])
            work[a] += work[b]
            for node in members[b]:
                home[node] = a
            groups.append(members[a])
    whole = shape.m + shape.has_sink
    return tuple(tuple(sorted(c)) for c in groups if len(c) < whole or not shape.has_sink)


def levels_of(shape: Shape) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """For each size of tensor, largest first: the groups of tasks that edges of at least that size join."""
    inner = (shape.source > 0) & (shape.target <= shape.m)
    levels = []
    for size in np.unique(shape.size[inner])[::-1].tolist():
        kept = inner & (shape.size >= size)
        arcs = zip(shape.source[kept].tolist(), shape.target[kept].tolist(), strict=True)
        levels.append(tuple(connected(range(1, shape.m + 1), arcs)))
    return tuple(levels)


def _levels(edges: list[tuple[float, int, int]]) -> list[tuple[float, list[tuple[int, int]]]]:
    levels: dict[float, list[tuple[int, int]]] = {}
    for size, u, v in sorted(edges):
        levels.setdefault(size, []).append((u, v))
    return sorted(levels.items())


def flat_groups(groups: tuple[tuple[int, ...], ...]) -> tuple[Ints, Ints]:
    """(where each group begins, all members one after the other)."""
    ends = np.cumsum([0, *(len(g) for g in groups)]).astype(np.int64)
    return ends, np.array([v for g in groups for v in g], dtype=np.int64)


Tried = tuple[tuple[float, float], ...]
_STARTS = 2  # local searches at each set of prices
_TRIALS = 60_000  # configurations tried in one of them
_ROUNDS = 20


# Shares of the server wait, and what is charged for a second of link load besides the solution's price.
_USUAL = ((1.0, 0.0), (0.3, 0.0), (0.05, 0.0), (0.3, 3.0), (0.05, 30.0))


_FURTHER = ((0.1, 1.0), (0.02, 3.0), (0.15, 10.0), (0.02, 100.0))  # where these gain nothing
_GAIN = 1e-4
_FOUND = ", and configurations by column generation at the prices of the solutions"


def climbed(candidates: Candidates, slots: int, prices: Prices, budget: Budget) -> Ints:
    """Improve the best candidates at these prices by local search; labels (n, m+1) without known ones."""
    from nona.placement.interiors.compiled_searches import climb

    shape = candidates.shape
    flat = flatten(shape, candidates.link, slots, prices)
    group_at, members = flat_groups(clusters(shape))
    listed = {tuple(row) for row in candidates.labels.tolist()}
    tensors = int(shape.tensor.max(initial=0)) + 1
    new_labels: dict[tuple[int, ...], None] = {}
    for row in np.argsort(costs(candidates, prices), kind="stable")[:_STARTS].tolist():
        server = np.concatenate([[0], candidates.labels[row]]).astype(np.int64)
        most = min(_TRIALS, budget.times(shape.m + len(shape.source)))
        _, tried = climb(flat, tensors, server, group_at, members, most)
        budget.spend(tried * (shape.m + len(shape.source)))
        if not shape.has_root:
            server[1:] = _from_first(server[1:])
        label = canonical(server[1:].tolist())
        if label not in listed:
            new_labels[label] = None
    return np.array(list(new_labels), dtype=np.int64).reshape(-1, shape.m + 1)


def _from_first(server: Ints) -> Ints:
    """Behind a virtual root: the first task's server gets number 0."""
    first = server[0]
    return np.where(server == first, 0, np.where(server == 0, first, server))


def generate(
    model: Model, solution: Solution, again: Callable[[Model, Table], Solution], budget: Budget
) -> tuple[Model, Solution]:
    """List columns that the prices of the solution call for and solve ``again``, until nothing is gained.

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
        counts = {id(c): len(c) for row in model.candidates for c in row if id(c) in new}
        groups = [(g, counts.get(id(g.candidates), 0)) for g in solution.priced.groups]
        model, x = _extended(model, solution.x, {k: np.unique(np.vstack(v), axis=0) for k, v in new.items()})
        solution = again(model, _best_pure(model, x, [(g, n) for g, n in groups if n]))
        stalled = stalled + 1 if solution.value_s >= before * (1.0 - _GAIN) else 0
        if stalled > 1 or budget.spent:
            break
    return model, solution


def _wanted(
    model: Model, solution: Solution, slots: int, budget: Budget, tried: Tried
) -> dict[int, list[Ints]]:
    """New configurations for each set of candidates, by its identity."""
    at = shadow(solution.priced.problem(model), solution.certified.x, model.system.discipline)
    new: dict[int, list[Ints]] = {}
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
    for g, first in groups:
        size = len(x[g.query][g.members[0]])
        for at in range(first, size):
            moved = [list(row) for row in x]
            for k in g.members:
                moved[g.query][k] = np.eye(1, size, at)[0]
            moved_value = objective_s(model, value_at(model, moved))
            if moved_value < value:
                best, value = moved, moved_value
    return best


def _extended(model: Model, x: Table, new: dict[int, Ints]) -> tuple[Model, Table]:
    extended: dict[int, Candidates] = {}
    for row in model.candidates:
        for c in row:
            if id(c) in new and id(c) not in extended:
                labels = np.vstack([c.labels, new[id(c)]])
                first = c.note.partition(_FOUND)[0]
                extended[id(c)] = replace(c, labels=labels, note=f"{first}{_FOUND}, {len(labels)} in all")
    rows = tuple(tuple(extended.get(id(c), c) for c in row) for row in model.candidates)
    padded = [
        [np.pad(p, (0, len(c) - len(p))) for c, p in zip(row, ps, strict=True)]
        for row, ps in zip(rows, x, strict=True)
    ]
    return replace(model, candidates=rows), padded
