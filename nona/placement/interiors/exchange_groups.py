"""Tasks that exchange much data, and what moving them costs at least.

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
import scipy

from nona.arrays import Bools, Floats, Ints
from nona.placement.configurations import Shape
from nona.placement.interiors import start_bounds
from nona.placement.interiors.column_generation import levels_of
from nona.placement.interiors.prices import Prices

_SCALE, _ALWAYS = 1e6, 10**9
_MOST = 16  # groups
_LIKE = 0.4  # of the heaviest group's work
_LEAST_WORK = 0.4  # of the interior's work


@dataclass(frozen=True, eq=False)
class ExchangeGroups:
    """Groups of a shape as the bound needs them; bytes (column 0) and squared bytes (column 1).

    ``into``, ``out`` and ``away`` (n, 2): per second of work of groups and number of groups that share a
    server, 1 … n; ``extra`` (2,): direct messages from root to sink; ``cut`` (2,): for one more input
    from elsewhere, which begins ``begins`` blocks; ``between``: tasks amid the groups that may begin one.
    ``inside`` (m+2,): tasks of the groups.
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


def exchange_groups_of(shape: Shape) -> tuple[ExchangeGroups, ...]:
    """Groups for each least size of joined tensors; none where root or sink is virtual."""
    if not (shape.has_root and shape.has_sink):
        return ()
    distinct: dict[tuple[tuple[int, ...], ...], None] = {}
    for groups in levels_of(shape):
        most = max(shape.work_s(g) for g in groups)
        heavy = [g for g in groups if len(g) > 1 and shape.work_s(g) > _LIKE * most]
        if 2 <= len(heavy) <= _MOST and sum(shape.work_s(g) for g in heavy) > _LEAST_WORK * shape.local_s:
            distinct[tuple(heavy)] = None
    return tuple(_family(shape, groups) for groups in distinct)


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
    work = np.array([shape.work_s(g) for g in groups])
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
    )


def _entering(shape: Shape, group: Sequence[int]) -> Bools:
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
    graph = scipy.sparse.csr_array(
        (np.array(list(arcs.values()), dtype=np.int32), (at[:, 0], at[:, 1])), shape=(size, size)
    )
    first, last = (0, int(group[0])) if into else (int(group[0]), nodes - 1)
    return float(scipy.sparse.csgraph.maximum_flow(graph, first, last).flow_value) * highest / _SCALE


_CELLS = 48


@dataclass(frozen=True, slots=True)
class Ends:
    """Bounds on span + charges on a path, with crossings of one price.

    Of every configuration that is not local; of what passes before and after the groups of another server.
    """

    least_s: float
    before_s: float
    after_s: float


def exchange_group_ends(f: start_bounds.Flat, family: ExchangeGroups, charged: Floats) -> Ends:
    """The bounds when an edge that is crossed costs ``charged`` (E,) besides its time."""
    delay = start_bounds.crossing_s(f, charged)
    start, tail = start_bounds.starts(f, delay), start_bounds.tails_s(f, delay)
    away, back = start_bounds.elsewhere_s(f, start, delay), start_bounds.tails_elsewhere_s(f, tail, delay)
    before, after = float(away[family.inside].min()) + f.visit_s, float(back[family.inside].min())
    return Ends(start_bounds.earliest_end(f, start, delay), before, after)


def exchange_group_cost_s(
    f: start_bounds.Flat, prices: Prices, family: ExchangeGroups, per_byte: Floats, free: Ends, priced: Ends
) -> float:
    """A bound on span + α·load + γ·M of all configurations that are not local, but for what they share.

    Formula: min over the work of groups W with the root of
    max(e(α), max(e(0), visit + W) + α·load(W)) + γ·(W²/blocks + squares of the rest).

    ``per_byte`` (2,): α for a byte and a squared byte. ``free``, ``priced``: e(0) and e(α).
    """
    low, high = _cells(family)
    n, total = len(family.work_s), float(family.work_s.sum())
    fewest = np.cumsum(np.sort(family.work_s))
    paid = np.arange(n + 1.0) * float(family.cut @ per_byte)
    timed = np.full((len(low), n + 1), np.inf)
    for q in range(1, n + 1):  # groups on the one of the other servers that has most
        home, apart = _at(f, family, per_byte, (low, high), free, (q, float(fewest[q - 1])))
        home, apart = home[:, None] + paid, apart[:, None] + paid
        cost = np.maximum(priced.least_s, np.minimum(home, apart))
        fits = (q == 1) | (fewest[q - 1] + low <= total * (1.0 + 1e-9))
        timed = np.minimum(timed, np.where(fits[:, None], cost, np.inf))
    return float((timed + _squares(f, prices, family, (low, high), np.arange(n + 1.0))).min())


def _at(
    f: start_bounds.Flat,
    family: ExchangeGroups,
    per_byte: Floats,
    cells: tuple[Floats, Floats],
    free: Ends,
    most: tuple[int, float],
) -> tuple[Floats, Floats]:
    """(cells,) Span and load with the sink at the root, and away, when q groups or fewer share a server.

    ``most``: q and the work of that many.
    """
    (low, high), (q, busy_s), total = cells, most, float(family.work_s.sum())
    into, away = float(family.into[q - 1] @ per_byte), float(family.away[q - 1] @ per_byte)
    n, least = len(family.work_s), float(family.work_s.min())
    out = (family.out @ per_byte)[_count(high / least, n)]
    home = apart = free.least_s
    if q > 1:
        home = max(home, free.before_s + busy_s + free.after_s)
        apart = max(apart, free.before_s + busy_s)
    at_home = np.maximum(home, f.visit_s + low) + away * (total - high)
    # The sink on another server, where groups of work ``low`` (second axis) are too.
    rest = np.maximum(total - high[:, None] - high[None, :], 0.0)
    both = np.maximum(apart, f.visit_s + np.maximum(low[:, None], low[None, :]))
    both = both + (out * low)[:, None] + into * low[None, :] + away * rest + float(family.extra @ per_byte)
    possible = low[:, None] + low[None, :] <= total * (1.0 + 1e-9)
    return at_home, np.where(possible, both, np.inf).min(axis=1)


def _squares(
    f: start_bounds.Flat, prices: Prices, family: ExchangeGroups, cells: tuple[Floats, Floats], cuts: Floats
) -> Floats:
    """(cells, cuts) γ·M at least."""
    charged, blocks = np.zeros((len(cells[0]), len(cuts))), 1.0 + family.between + family.begins * cuts
    for k, factor in enumerate(prices.blocks.factor.tolist()):
        stays = np.multiply.outer((family.class_share[k] * cells[0]) ** 2, 1.0 / blocks)
        others = family.single_s[k] * (float(family.work_s.sum()) - cells[1])
        single = float((f.class_s[k] ** 2).sum())
        charged += factor * (np.maximum(stays + others[:, None], single) + f.root_s[k] ** 2)
    return charged


def _cells(family: ExchangeGroups) -> tuple[Floats, Floats]:
    """Ranges of the work that stays: exactly 0, 1, 2, … groups where all are equal."""
    n, total = len(family.work_s), float(family.work_s.sum())
    if np.ptp(family.work_s) <= 1e-9 * total:
        low = np.arange(n + 1.0) * (total / n)
        return low, low
    ends = np.linspace(0.0, total, _CELLS + 1)
    return ends[:-1], ends[1:]


def _count(groups: Floats, n: int) -> Ints:
    """Row of the tables for at most so many groups."""
    return np.clip(np.floor(groups + 1e-6), 1, n).astype(np.int64) - 1
