"""Placements to compare by simulation: starts, all configurations of small interiors, moves from the best.

*Starts* are the formula's optimum and what a person would try by hand: the presets, and the preset that is
fastest for each query class on an idle cluster.

*Choices* are the configurations that a group of equal sub-graphs may take instead of its own: every one where
there are at most :data:`ALL` (see :func:`relative_labels`), else moves from the configuration in use. A move
takes a unit, that is a part, a connected component of a part, or the sink, to the root's server, to the
server of another part, or to a server of its own. So parts merge and split, and the sink comes to the root's
server or leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from nona.core.arrays import Floats
from nona.models.decomposition import SubGraph
from nona.queries.placement.configurations import (
    SubgraphShape,
    canonical,
    connected,
    server_slots,
    set_partitions,
    shapes_of,
    to_configuration,
    to_labels,
)
from nona.queries.placement.fixed import PRESETS, idle_presets, place_fixed
from nona.queries.placement.result import Configuration, Queries, SubGraphPlacement
from nona.queries.system import System

ALL = 64  # configurations of a sub-graph up to which all are tried
Labels = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A placement to compare: its origin in a word, its configurations, its shares of executor classes."""

    origin: str
    queries: Queries
    shares: Floats | None


def starts(system: System, shares: Floats | None) -> tuple[Candidate, ...]:
    """Return the presets, and for each class the one that is fastest on an idle cluster; equal ones once."""
    named: dict[str, Queries] = {}
    for name in PRESETS:
        named[name] = tuple(place_fixed(system, q, name) for q in system.queries)
    idle = idle_presets(system)
    named["expert"] = tuple(place_fixed(system, q, p) for q, p in zip(system.queries, idle, strict=True))
    distinct: list[Candidate] = []
    for name, queries in named.items():
        if not any(same(queries, other.queries) for other in distinct):
            distinct.append(Candidate(name, queries, shares))
    return tuple(distinct)


def same(a: Queries, b: Queries) -> bool:
    """Return whether two placements give every configuration the same probability."""
    return all(
        dict(zip(p.configurations, p.probabilities.tolist(), strict=True))
        == dict(zip(q.configurations, q.probabilities.tolist(), strict=True))
        for row, other in zip(a, b, strict=True)
        for p, q in zip(row, other, strict=True)
    )


@lru_cache(maxsize=128)
def relative_labels(m: int, slots: int, has_root: bool, has_sink: bool) -> tuple[Labels, ...]:
    """Every way to place m interior tasks and the sink relative to the root's server, on ``slots`` servers.

    The sink stands on the root's server or with a part: alone on a server it would only wait once more.
    Without a root the first task's server is number 0, without a sink the sink's label is 0.

    >>> len(relative_labels(2, 9, True, True)), len(relative_labels(3, 9, True, True))
    (10, 37)
    >>> relative_labels(1, 9, True, True)
    ((0, 0), (1, 0), (1, 1))
    """
    partitions = set_partitions(m + 1, slots) if has_root else ((0, *p) for p in set_partitions(m, slots))
    rows = []
    for row in partitions:
        used = sorted({0, *row}) if has_sink else [0]
        rows += [(*row[1:], sink) for sink in used]
    return tuple(rows)


@dataclass(frozen=True, eq=False)
class EqualSubgraphs:
    """Equal sub-graphs, numbers ``members`` of class ``query``: they take one configuration."""

    query: int
    members: tuple[int, ...]
    shape: SubgraphShape
    subgraphs: tuple[SubGraph, ...]

    def placed(self, queries: Queries, row: Labels) -> Queries:
        """Return the placement with all members in the configuration of ``row``."""
        changed = list(queries[self.query])
        for k in self.members:
            configuration = to_configuration(row, self.subgraphs[k].interior)
            changed[k] = SubGraphPlacement(self.subgraphs[k], (configuration,), np.ones(1))
        return (*queries[: self.query], tuple(changed), *queries[self.query + 1 :])

    def row(self, queries: Queries) -> Labels:
        """Labels of the most probable configuration of the first member."""
        placed = queries[self.query][self.members[0]]
        c = placed.configurations[int(np.argmax(placed.probabilities))]
        return canonical(to_labels(c, placed.subgraph.interior))


def groups_of(system: System, queries: Queries) -> tuple[EqualSubgraphs, ...]:
    """Return the groups that have something to choose, those with most work a second first.

    Sub-graphs of one group are equal, and placed alike in ``queries``: the formula may split some of many
    equal ones, and leave the others whole.
    """
    groups = []
    if server_slots(system) < 2:
        return ()
    for j, query in enumerate(system.queries):
        subgraphs = query.decomposition.subgraphs
        shapes = shapes_of(query.tasks, subgraphs, system.uniform_shares[j])
        equal: dict[tuple[bytes, frozenset[tuple[Labels, float]]], list[int]] = {}
        for k, shape in enumerate(shapes):
            if shape.m > 0:
                equal.setdefault((shape.signature, _labels_of(queries[j][k])), []).append(k)
        groups += [EqualSubgraphs(j, tuple(ks), shapes[ks[0]], subgraphs) for ks in equal.values()]
    rate = [q.rate for q in system.queries]
    return tuple(sorted(groups, key=lambda g: -rate[g.query] * len(g.members) * g.shape.local_s))


def _labels_of(placed: SubGraphPlacement) -> frozenset[tuple[Labels, float]]:
    rows = (canonical(to_labels(c, placed.subgraph.interior)) for c in placed.configurations)
    return frozenset(zip(rows, placed.probabilities.tolist(), strict=True))


def choices(system: System, group: EqualSubgraphs, queries: Queries) -> tuple[Labels, ...]:
    """Rows of labels that ``group`` may take instead of its own: all, or moves from it."""
    shape, slots = group.shape, server_slots(system)
    if shape.m <= 3:
        rows: Sequence[Labels] = relative_labels(shape.m, slots, shape.has_root, shape.has_sink)
        if len(rows) <= ALL:
            return tuple(rows)
    return tuple(dict.fromkeys(_moves(shape, group.row(queries), slots)))


def _moves(shape: SubgraphShape, row: Labels, slots: int) -> Iterator[Labels]:
    """Yield the labels after each move of a part, of a connected component of one, or of the sink."""
    arcs = [
        (int(u) - 1, int(v) - 1)
        for u, v in zip(shape.source, shape.target, strict=True)
        if u > 0 and v <= shape.m
    ]
    used = sorted({0, *row})
    targets = [*used, len(used)] if len(used) < slots else used
    units: dict[tuple[int, ...], None] = {}
    for label in used:
        part = tuple(i for i in range(shape.m) if row[i] == label)
        if part:
            units[part] = None
        units |= dict.fromkeys(connected(part, arcs))
    sink = shape.m
    if shape.has_sink:
        units[(sink,)] = None
        units |= {(*unit, sink): None for unit in list(units) if unit != (sink,)}
    for unit in units:
        for target in targets:
            moved = list(row)
            for i in unit:
                moved[i] = target
            if not shape.has_root and moved[0] != 0:
                first = moved[0]
                moved = [0 if v == first else first if v == 0 else v for v in moved]
            new = canonical(moved)
            if new != row:
                yield new


def mixtures(a: Candidate, b: Candidate, parts: Sequence[float]) -> Iterator[Candidate]:
    """Return the placements that take ``a`` with probability 1 − p and ``b`` with p, p in ``parts``."""
    for p in parts:
        yield Candidate("mixture", blend(a.queries, b.queries, p), a.shares)


def blend(first: Queries, second: Queries, share: float) -> Queries:
    """Each sub-graph placed as in ``second`` with probability ``share``, else as in ``first``."""
    return tuple(
        tuple(_mixed(a, b, share) for a, b in zip(row, other, strict=True))
        for row, other in zip(first, second, strict=True)
    )


def _mixed(a: SubGraphPlacement, b: SubGraphPlacement, p: float) -> SubGraphPlacement:
    weights: dict[Configuration, float] = {}
    for placed, share in ((a, 1.0 - p), (b, p)):
        for c, probability in zip(placed.configurations, placed.probabilities.tolist(), strict=True):
            weights[c] = weights.get(c, 0.0) + share * probability
    kept = {c: w for c, w in weights.items() if w > 0}
    total = math.fsum(kept.values())
    return SubGraphPlacement(a.subgraph, tuple(kept), np.array([w / total for w in kept.values()]))
