"""Groups of tasks that belong together: what exchanges most bytes is joined first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.configurations.shape import Shape

Ints = NDArray[np.int64]


def clusters(shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Single tasks, the sink, and every group that arises when edges are joined, largest tensor first.

    Nodes are 1…m and m+1, the sink; groups with all nodes are left out. Of edges of equal size the
    ones whose groups have least work are joined first, so that groups grow evenly.

    >>> from nona.placement.configurations.shape import Shape
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
    found = list(members.values())
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
            found.append(members[a])
    whole = shape.m + shape.has_sink
    return tuple(tuple(sorted(c)) for c in found if len(c) < whole or not shape.has_sink)


def levels_of(shape: Shape) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """For each size of tensor, largest first: the groups of tasks that edges of at least that size join."""
    home = list(range(shape.m + 1))

    def find(v: int) -> int:
        while home[v] != v:
            v = home[v]
        return v

    left = [
        (-float(shape.size[e]), int(shape.source[e]), int(shape.target[e]))
        for e in range(len(shape.size))
        if shape.source[e] > 0 and shape.target[e] <= shape.m
    ]
    found = []
    for _, level in _levels(left):
        for u, v in level:
            home[find(v)] = find(u)
        groups: dict[int, list[int]] = {}
        for v in range(1, shape.m + 1):
            groups.setdefault(find(v), []).append(v)
        found.append(tuple(tuple(g) for g in groups.values()))
    return tuple(found)


def _levels(edges: list[tuple[float, int, int]]) -> list[tuple[float, list[tuple[int, int]]]]:
    levels: dict[float, list[tuple[int, int]]] = {}
    for size, u, v in sorted(edges):
        levels.setdefault(size, []).append((u, v))
    return sorted(levels.items())


def flat_groups(groups: tuple[tuple[int, ...], ...]) -> tuple[Ints, Ints]:
    """(where each group begins, all members one after the other)."""
    ends = np.cumsum([0, *(len(g) for g in groups)]).astype(np.int64)
    return ends, np.array([v for g in groups for v in g], dtype=np.int64)
