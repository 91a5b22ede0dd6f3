"""Exchange groups: tasks that exchange much data, such as the experts of a mixture, and what moving them
takes.

Disjoint connected groups K with work g are either on one server or pay for a tensor inside. On another
server than the root's, all paths from the root to K are crossed by messages to that server; on another
than the sink's, all paths from K to the sink by messages from it: minimum cuts, tensors counting once.
A tensor that leads to several groups serves as many of them as share a server, so each is charged its
share; one that lies in several kinds of cut is charged to each in part. So the load is at least

    (in + out)·(work away), or, the sink being away, out·(root's) + in·(sink's) + (in + out)·(the rest)

per second of work of groups, while span ≥ visit + (work of groups with the root). Work of groups that stay
there is in one block, but for tasks between them and for inputs that come from elsewhere, each of which is
paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from nona.placement.configurations.shape import Shape
from nona.placement.interiors.clusters import levels_of

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
_SCALE, _ALWAYS = 1e6, 10**9
_MOST = 16  # groups
_LIKE = 0.4  # of the heaviest group's work
_LEAST_WORK = 0.4  # of the interior's work


@dataclass(frozen=True, eq=False)
class ExchangeGroups:
    """What of a shape's groups the bound needs; bytes (column 0) and squared bytes (column 1).

    ``into``, ``out`` and ``away`` (n, 2): per second of work of groups and number of groups that share a
    server, 1 … n; ``extra`` (2,): direct messages from root to sink; ``cut`` (2,): for one more input
    from elsewhere, which begins ``begins`` blocks; ``between``: tasks amid the groups that may begin one.
    ``inside`` (m+2,): tasks of the groups; ``joined`` (m+2,): those of groups that all lead to one interior
    task, ``joined_s`` their work; ``meets`` (E,): edges on the way from these to there.
    """

    work_s: Floats
    class_share: Floats
    single_s: Floats
    into: Floats
    out: Floats
    away: Floats
    extra: Floats
    cut: Floats
    begins: int
    between: int
    inside: Bools
    joined: Bools
    joined_s: float
    meets: Bools


def exchange_groups_of(shape: Shape) -> tuple[ExchangeGroups, ...]:
    """Groups for each least size of joined tensors; none where root or sink is virtual."""
    if not (shape.has_root and shape.has_sink):
        return ()
    found: dict[tuple[tuple[int, ...], ...], None] = {}
    for groups in levels_of(shape):
        most = max(_work(shape, g) for g in groups)
        heavy = [g for g in groups if len(g) > 1 and _work(shape, g) > _LIKE * most]
        if 2 <= len(heavy) <= _MOST and sum(_work(shape, g) for g in heavy) > _LEAST_WORK * shape.local_s:
            found[tuple(heavy)] = None
    return tuple(_family(shape, groups) for groups in found)


def _work(shape: Shape, group: Sequence[int]) -> float:
    return float(sum(shape.mean_s[v - 1] for v in group))


@dataclass(frozen=True, eq=False)
class _Kinds:
    """For each group, tensors that lead to it, from it, and are inside (n, T); ``size`` (T,)."""

    leads: Bools
    leaves: Bools
    inside: Bools
    size: Floats


def _kinds(shape: Shape, groups: Sequence[tuple[int, ...]]) -> _Kinds:
    n, nodes, tensors = len(groups), shape.m + 2, int(shape.tensor.max()) + 1
    up, down, member = (np.zeros((n, nodes), dtype=bool) for _ in range(3))
    for i, group in enumerate(groups):
        member[i, list(group)] = True
    up |= member
    down |= member
    for v in range(nodes - 1, -1, -1):
        for e in shape.edges_into[v]:
            up[:, shape.source[e]] |= up[:, v]
    for v in range(nodes):
        for e in shape.edges_into[v]:
            down[:, v] |= down[:, shape.source[e]]
    leads, leaves, inside = (np.zeros((n, tensors), dtype=bool) for _ in range(3))
    size = np.zeros(tensors)
    for e, t in enumerate(shape.tensor.tolist()):
        u, v = int(shape.source[e]), int(shape.target[e])
        size[t] = shape.size[e]
        both = member[:, u] & member[:, v]
        inside[:, t] |= both
        leads[:, t] |= up[:, v] & ~member[:, u]
        leaves[:, t] |= down[:, u] & ~both
    return _Kinds(leads, leaves, inside, size)


def _family(shape: Shape, groups: Sequence[tuple[int, ...]]) -> ExchangeGroups:
    k = _kinds(shape, groups)
    roles = np.sum([kind.any(axis=0) for kind in (k.leads, k.leaves, k.inside)], axis=0, dtype=float)
    work = np.array([_work(shape, g) for g in groups])
    n = len(groups)
    into, out, away = (np.zeros((n, 2)) for _ in range(3))
    extra, cut = np.zeros(2), np.zeros(2)
    entering = np.array([_entering(shape, g) for g in groups])
    straight = {int(shape.tensor[e]) for e in shape.edges_into[shape.m + 1] if shape.source[e] == 0}
    for power in (0, 1):
        weight = k.size ** (power + 1) / np.maximum(roles, 1.0)
        split = np.array([weight[row].min() for row in k.inside])
        extra[power] = sum(weight[t] for t in straight if roles[t] == 0)
        cut[power] = _least(weight, entering)
        for q in range(1, n + 1):
            shared = [weight / np.clip(kind.sum(axis=0), 1, q) for kind in (k.leads, k.leaves)]
            ins = np.array([_cut(shape, g, shared[0], into=True) for g in groups])
            outs = np.array([_cut(shape, g, shared[1], into=False) for g in groups])
            into[q - 1, power] = (np.minimum(ins, split) / work).min()
            out[q - 1, power] = (np.minimum(outs, split) / work).min()
            away[q - 1, power] = (np.minimum(ins + outs, split) / work).min()
    rows = [[v - 1 for v in g] for g in groups]
    inner = sorted(v for g in groups for v in g)
    amid = set(range(inner[0] + 1, inner[-1])) - set(inner)
    return ExchangeGroups(
        work,
        np.array([min(c[r].sum() / w for r, w in zip(rows, work, strict=True)) for c in shape.class_s]),
        np.array(
            [min((c[r] ** 2).sum() / w for r, w in zip(rows, work, strict=True)) for c in shape.class_s]
        ),
        into,
        out,
        away,
        extra,
        cut,
        max((_begins(shape, g) for g in groups), default=0),
        sum(any(shape.source[e] > 0 for e in shape.edges_into[v]) for v in amid),
        np.isin(np.arange(shape.m + 2), inner),
        *_meeting(shape, groups),
    )


def _meeting(shape: Shape, groups: Sequence[tuple[int, ...]]) -> tuple[Bools, float, Bools]:
    """The groups with most work of which every task leads to one interior task, and the edges between."""
    above = np.eye(shape.m + 2, dtype=bool)
    for v in range(1, shape.m + 2):
        for e in shape.edges_into[v]:
            above[v] |= above[shape.source[e]]
    led = [[g for g in groups if above[z, list(g)].all()] for z in range(1, shape.m + 1)]
    work = [sum(_work(shape, g) for g in chosen) for chosen in led]
    z = int(np.argmax(work))
    joined = np.zeros(shape.m + 2, dtype=bool)
    joined[[v for g in led[z] for v in g]] = True
    below = above[:, joined].any(axis=1)
    meets: Bools = np.logical_and(np.take(below, shape.source), np.take(above[z + 1], shape.target))
    return joined, float(work[z]), meets


def _entering(shape: Shape, group: Sequence[int]) -> Bools:
    """(T,) Tensors of other tasks that the group takes in."""
    result = np.zeros(int(shape.tensor.max()) + 1, dtype=bool)
    for v in group:
        for e in shape.edges_into[v]:
            result[shape.tensor[e]] |= shape.source[e] > 0 and int(shape.source[e]) not in group
    return result


def _begins(shape: Shape, group: Sequence[int]) -> int:
    return sum(
        any(shape.source[e] > 0 and int(shape.source[e]) not in group for e in shape.edges_into[v])
        for v in group
    )


def _least(weight: Floats, entering: Bools) -> float:
    """The least that an input from elsewhere takes, for each group that it cuts."""
    used = entering.any(axis=0)
    return float((weight / np.maximum(entering.sum(axis=0), 1))[used].min()) if used.any() else 0.0


def _cut(shape: Shape, group: Sequence[int], weight: Floats, *, into: bool) -> float:
    """Least weight of tensors whose removal leaves no path from the root to the group, or on to the sink."""
    nodes, highest = shape.m + 2, float(weight.max())
    if highest <= 0.0:
        return 0.0
    ends = np.arange(nodes)
    ends[list(group)] = group[0]
    capacity = np.floor(weight * (_SCALE / highest)).astype(np.int32)
    rows: list[int] = []
    columns: list[int] = []
    values: list[int] = []
    for e, t in enumerate(shape.tensor.tolist()):
        u, v = int(ends[shape.source[e]]), int(ends[shape.target[e]])
        if u == v:
            continue
        home = nodes + 2 * t
        rows += [u, home, home + 1]
        columns += [home, home + 1, v]
        values += [_ALWAYS, int(capacity[t]), _ALWAYS]
    arcs = dict(zip(zip(rows, columns, strict=True), values, strict=True))
    size = nodes + 2 * (int(shape.tensor.max()) + 1)
    at = np.array(list(arcs), dtype=np.int32).reshape(-1, 2)
    graph = csr_array(
        (np.array(list(arcs.values()), dtype=np.int32), (at[:, 0], at[:, 1])), shape=(size, size)
    )
    first, last = (0, int(group[0])) if into else (int(group[0]), nodes - 1)
    return float(maximum_flow(graph, first, last).flow_value) * highest / _SCALE
