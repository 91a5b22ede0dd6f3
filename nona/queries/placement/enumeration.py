"""Enumeration of configurations, of small and large interiors, and their number.

For a sub-graph three times stand side by side, from the end of its root to the start of its sink:

* ``local_s`` = Σ p(v), its interior on one server, one task after the other;
* ``critical_s`` = the longest chain of p(v), the bound when messages cost nothing;
* ``best_s`` = min over configurations c of span(c) with W_n = W_c = 0: transfers over the idle link
  count, waits do not. (Equations 10 and 11 of the project page, nona.csail.mit.edu, without waits.)

critical_s ≤ best_s ≤ local_s, and no load makes any of them shorter.

1. Whole components are placed, one representative for each symmetry class. Where every component
   is a single task, and all classes are listed, that is exhaustive.
2. Where components have several tasks, or the classes are too many, the family is restricted, and
   says so: every task on its own, list schedules on 2, 3, … servers at several prices of the link,
   and what a local search that moves single tasks makes of the best of these.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from nona.core.arrays import Floats, Ints
from nona.models.contraction.task_graph import TaskGraph
from nona.models.decomposition import VIRTUAL, Decomposition, SubGraph
from nona.queries.placement.configurations import (
    ENUMERATED,
    SubgraphShape,
    canonical,
    configuration_labels,
    connected,
    shape_of,
    shapes_of,
)
from nona.queries.placement.messages import PlacementLink, ShapeCandidates
from nona.queries.placement.spans import spans

Content = tuple[int, ...]  # how many components of each class a part holds


def components(shape: SubgraphShape) -> tuple[tuple[int, ...], ...]:
    """Return connected components of the interior: tuples of interior nodes 1…m, ordered by first task."""
    arcs = zip(shape.source.tolist(), shape.target.tolist(), strict=True)
    return tuple(connected(range(1, shape.m + 1), arcs))


def component_classes(shape: SubgraphShape, parts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Return a class number for each component; components of one class can be exchanged.

    They are equal when their tasks (in topological order), times, inner edges and messages from
    root and to sink are, and when they use the same of those root tensors that several use.
    """
    owner = {v: c for c, part in enumerate(parts) for v in part}
    users: dict[int, set[int]] = {}
    for e in shape.edges_of[0]:
        users.setdefault(int(shape.tensor[e]), set()).add(owner.get(int(shape.target[e]), -1))
    keys: dict[tuple[object, ...], int] = {}
    result = []
    for part in parts:
        place = {0: -1, shape.m + 1: -2} | {v: i for i, v in enumerate(part)}
        own: dict[int, int] = {}
        edges = []
        for v in part:
            for e in (*shape.edges_into[v], *(e for e in shape.edges_of[v] if shape.target[e] > shape.m)):
                t = int(shape.tensor[e])
                shared = len(users.get(t, ())) > 1
                name = ("shared", t) if shared else ("own", own.setdefault(t, len(own)))
                ends = place[int(shape.source[e])], place[int(shape.target[e])]
                edges.append((*ends, name, float(shape.size[e])))
        times = tuple(shape.class_s[:, [v - 1 for v in part]].ravel().tolist())
        result.append(keys.setdefault((times, tuple(edges)), len(keys)))
    return tuple(result)


def multiset_partitions(
    counts: Content, largest: Content | None = None, most: int = 10**9
) -> Iterator[tuple[Content, ...]]:
    """Ways to split ``counts`` things of each class into at most ``most`` parts, largest part first.

    >>> list(multiset_partitions((3,)))
    [((3,),), ((2,), (1,)), ((1,), (1,), (1,))]
    >>> len(list(multiset_partitions((12,)))), len(list(multiset_partitions((1, 1, 1))))
    (77, 5)
    """
    if not any(counts):
        yield ()
        return
    if most <= 1:
        if most == 1 and (largest is None or counts <= largest):
            yield (counts,)
        return
    for part in _contents(counts):
        if any(part) and (largest is None or part <= largest):
            rest = tuple(a - b for a, b in zip(counts, part, strict=True))
            for others in multiset_partitions(rest, part, most - 1):
                yield (part, *others)


def _contents(counts: Content) -> Iterator[Content]:
    """All vectors between 0 and ``counts``, in decreasing lexicographic order."""
    if not counts:
        yield ()
        return
    for first in range(counts[0], -1, -1):
        for rest in _contents(counts[1:]):
            yield (first, *rest)


def _class_labels(
    shape: SubgraphShape, parts: Sequence[Sequence[int]], classes: Sequence[int], slots: int
) -> Iterator[list[int]]:
    """Rows of labels: every placement of whole components, one for each symmetry class.

    Of equal components the first in order go to the part with most work, as its messages are first
    in their batch; the sink's part, which sends none back, comes after those of equal work or after all
    others, and the part on the root's server, which needs none, at the end. Servers being
    drawn uniformly, the probability of a class may rest on this one member: sharing it evenly over
    the others would change neither load nor waits.
    """
    members: dict[int, list[int]] = {}
    for c, k in enumerate(classes):
        members.setdefault(k, []).append(c)
    counts = tuple(len(m) for m in members.values())
    work = [shape.work_s(parts[m[0]]) for m in members.values()]
    for split in multiset_partitions(counts, most=slots):
        kinds = range(len(split))
        roots = _distinct(split, kinds) if shape.has_root else [0]
        for root in roots:
            for sink in _distinct_sinks(split, root) if shape.has_sink else [root]:
                load = [float(np.dot(content, work)) for content in split]
                away = [i for i in kinds if i != root]
                by_work = sorted(away, key=lambda i: (-load[i], i == sink))
                sink_last = sorted(away, key=lambda i: (i == sink, -load[i]))
                for order in dict.fromkeys((tuple(by_work), tuple(sink_last))):
                    yield _row(shape, parts, members, split, [*order, root], root, sink)


def _distinct(split: Sequence[Content], kinds: Sequence[int]) -> list[int]:
    """One index for every different content."""
    return list({split[i]: i for i in reversed(kinds)}.values())[::-1]


def _distinct_sinks(split: Sequence[Content], root: int) -> list[int]:
    return [root, *_distinct(split, [i for i in range(len(split)) if i != root])]


def _row(
    shape: SubgraphShape,
    parts: Sequence[Sequence[int]],
    members: dict[int, list[int]],
    split: Sequence[Content],
    order: Sequence[int],
    root: int,
    sink: int,
) -> list[int]:
    left = [iter(m) for m in members.values()]
    server = [0] * (shape.m + 1)
    for label, i in enumerate(order, start=1):
        for kind, amount in enumerate(split[i]):
            for _ in range(amount):
                for v in parts[next(left[kind])]:
                    server[v - 1] = 0 if i == root else label
    server[-1] = 0 if sink == root else list(order).index(sink) + 1
    return list(canonical(server))


_WORK = 4_000_000  # task evaluations of one search, and of one of its rounds, which bounds its time


def _list_schedule(
    shape: SubgraphShape, link: PlacementLink, servers: int, message_s: float
) -> tuple[int, ...]:
    """Labels of a greedy schedule: each task, in order, where it ends first.

    A message takes ``message_s`` plus its own transfer; ties go to the server with the lowest
    label (after H. Topcuoglu et al., Performance-Effective Task Scheduling, 2002: the earliest
    finish time without insertion, tasks in topological order).
    """
    free = [0.0] * servers
    end, place = [0.0] * (shape.m + 2), [0] * (shape.m + 2)
    for v in range(1, shape.m + 2):
        time = float(shape.mean_s[v - 1]) if v <= shape.m else 0.0
        finish = []
        for server in range(servers):
            ready = 0.0
            for e in shape.edges_into[v]:
                u = int(shape.source[e])
                moved = message_s + link.latency_s + float(shape.size[e]) / link.speed
                ready = max(ready, end[u] + (moved if place[u] != server and link.crosses else 0.0))
            finish.append(max(ready, free[server]) + time)
        place[v] = min(range(servers), key=lambda s: (finish[s], s))
        end[v] = free[place[v]] = finish[place[v]]
    return canonical(place[1:] if shape.has_sink else [*place[1:-1], 0])


def _improve(candidates: ShapeCandidates, slots: int) -> Ints:
    """Add to the candidates the results of moving single tasks of the best of them.

    For several waits of the link and prices of its load, the best candidate is taken and the best
    move of one task (or the sink) to another server in use, the root's or a new one, is made while
    that lowers span + price·load. The number of evaluations is bounded; interiors so large that one
    round would exceed it are left as they are.
    """
    shape = candidates.shape
    labels = {tuple(row) for row in candidates.labels.tolist()}
    scale = shape.local_s
    prices = [(0.0, 0.0), (0.02 * scale, 0.0), (0.1 * scale, 0.0), (0.0, 1.0), (0.02 * scale, 4.0)]
    for wait, price in prices:
        budget = _WORK // len(prices)
        score = _score(candidates, wait, price)
        row, best = candidates.labels[int(np.argmin(score))], float(score.min())
        while budget > 0 and (int(row.max()) + 1) * shape.m**2 <= _WORK:
            moves = _moves(row, shape.has_sink, slots)
            budget -= len(moves) * shape.m
            tried = ShapeCandidates(shape, moves, candidates.link)
            score = _score(tried, wait, price)
            if not len(moves) or score.min() >= best * (1 - 1e-9):
                break
            row, best = moves[int(np.argmin(score))], float(score.min())
        labels.add(canonical(row.tolist()))
    local = (0,) * (shape.m + 1)
    return np.array([local, *sorted(labels - {local})], dtype=np.int64)


def _score(c: ShapeCandidates, wait: float, price: float) -> Floats:
    stretched = wait if c.link.discipline == "fifo" else (0.1 if wait > 0 else 0.0)
    score: Floats = spans(c, stretched, 0.0)[0] + price * c.messages.load_s
    return score


def _moves(row: Ints, has_sink: bool, slots: int) -> Ints:
    labels = range(min(int(row.max()) + 2, slots))
    moves = []
    for i in range(len(row) if has_sink else len(row) - 1):
        for label in labels:
            if label != row[i]:
                moved = row.copy()
                moved[i] = label
                moves.append(moved)
    return np.array(moves, dtype=np.int64).reshape(-1, len(row))


CLASSES = 4000
_MOST_SERVERS = 8
Rows = list[tuple[int, ...]]


@lru_cache(maxsize=64)
def _too_many(counts: Content, slots: int, has_root: bool, has_sink: bool) -> bool:
    """Whether :func:`_class_labels` certainly has more than :data:`CLASSES` rows."""
    number = 0
    for split in multiset_partitions(counts, most=slots):
        for root in _distinct(split, range(len(split))) if has_root else [0]:
            number += len(_distinct_sinks(split, root)) if has_sink else 1
        if number > CLASSES:
            return True
    return False


def _large_candidates(shape: SubgraphShape, link: PlacementLink, slots: int) -> ShapeCandidates:
    parts = components(shape)
    classes = component_classes(shape, parts)
    counts = [classes.count(k) for k in sorted(set(classes))]
    rows: Rows = [(0,) * (shape.m + 1)]
    complete = False
    if math.prod(c + 1 for c in counts) <= CLASSES and not _too_many(
        tuple(counts), slots, shape.has_root, shape.has_sink
    ):
        listed = [tuple(r) for r in islice(_class_labels(shape, parts, classes, slots), CLASSES + 1)]
        complete = len(listed) <= CLASSES
        rows += listed[:CLASSES] if complete else []
    if complete and len(parts) == shape.m:
        return ShapeCandidates(shape, _unique(rows), link)
    if slots > 1:
        rows.append((*(1 + i % (slots - 1) for i in range(shape.m)), 0))
        rows += list_schedules(shape, link, slots)
    considered = ShapeCandidates(shape, _unique(rows), link, exhaustive=False)
    if slots > 1:
        considered = ShapeCandidates(shape, _improve(considered, slots), link, exhaustive=False)
    what = "whole components, " if complete else ""
    return ShapeCandidates(
        shape,
        considered.labels,
        link,
        exhaustive=False,
        note=f"interior of {shape.m} tasks in {len(parts)} component{'s' if len(parts) > 1 else ''}: "
        f"{len(considered)} configurations from {what}list schedules and local search",
    )


def list_schedules(shape: SubgraphShape, link: PlacementLink, slots: int) -> Rows:
    """List schedules on 2, 3, … servers with the link's wait at several fractions of the local span."""
    rows: Rows = []
    for k in range(2, min(slots, shape.m, _MOST_SERVERS) + 1):
        rows.extend(_list_schedule(shape, link, k, f * shape.local_s) for f in (0.0, 0.05, 0.2))
    return rows


def _unique(rows: Rows) -> Ints:
    return np.array(list(dict.fromkeys(rows)), dtype=np.int64)


def candidates(
    shape: SubgraphShape, link: PlacementLink, slots: int, enumerated: int = ENUMERATED
) -> ShapeCandidates:
    """All configurations on at most ``slots`` servers for interiors of up to ``enumerated`` tasks.

    One more stands beside them: every task on a server of its own, the root's and the sink's left
    without a part. It moves more bytes than its neighbours in the enumeration, but its blocks of work
    are the shortest, which can pay where the servers' wait rules.

    Larger interiors are partitioned by connected component and symmetry class, see
    :mod:`nona.queries.placement.enumeration`; ``exhaustive`` and ``note`` of the result say what was
    left out.
    """
    if shape.m > enumerated:
        return _large_candidates(shape, link, slots)
    labels = configuration_labels(
        shape.m,
        servers=slots if slots < shape.m else None,
        root_free=not shape.has_root,
        sink_free=not shape.has_sink,
    )
    return ShapeCandidates(shape, _with_spread(labels, shape.m, slots), link)


def _with_spread(labels: Ints, m: int, slots: int) -> Ints:
    if m < 2 or slots <= m:
        return labels
    return np.vstack([labels, [*range(1, m + 1), 0]])


def configurations_considered(tasks: TaskGraph, subgraph: SubGraph) -> int:
    """Return the number of configurations when the cluster has servers enough for every part.

    For an interior of m ≤ 6 tasks these are all: Σ over partitions into k parts of k² (the part
    with the root times the part with the sink), Bell(m+2) − 2·Bell(m+1), where neither is virtual.
    """
    m = len(subgraph.interior)
    if m <= ENUMERATED:
        free = {"root_free": subgraph.root == VIRTUAL, "sink_free": subgraph.sink == VIRTUAL}
        return len(configuration_labels(m, **free))
    weights = np.full(tasks.compute_s.shape[0], 1 / tasks.compute_s.shape[0])
    link = PlacementLink(capacity=1.0, latency_s=0.0)
    return len(candidates(shape_of(tasks, subgraph, weights), link, m + 2))


@dataclass(frozen=True, slots=True)
class IdleSpan:
    """The three times of a sub-graph in seconds, and the bytes of the tensors into and out of it.

    ``exhaustive`` is False where configurations were left out, so that ``best_s`` may be too long.
    """

    subgraph: SubGraph
    local_s: float
    critical_s: float
    best_s: float
    border_bytes: float
    exhaustive: bool = True


def idle_spans(
    tasks: TaskGraph,
    decomposition: Decomposition,
    link: PlacementLink,
    servers: int,
) -> tuple[IdleSpan, ...]:
    """Return the spans of every sub-graph with an interior, on an idle cluster of ``servers`` servers.

    Times are those of the first executor class; equal sub-graphs are evaluated once.

    >>> from nona.models.decomposition import decompose
    >>> arcs = [(0, 1, 1e6), (0, 2, 1e6), (1, 3, 1e6), (2, 3, 1e6)]
    >>> tasks = TaskGraph.from_edges("slides", [0.002, 0.010, 0.008, 0.002], arcs)
    >>> found = idle_spans(tasks, decompose(tasks.dag), PlacementLink(1e9, 0.0), 2)[0]
    >>> [round(1e3 * s, 6) for s in (found.local_s, found.critical_s, found.best_s)]
    [18.0, 10.0, 10.0]
    >>> found.border_bytes
    4000000.0
    """
    inner = tuple(s for s in decomposition.subgraphs if s.interior)
    weights = np.zeros(len(tasks.compute_s))
    weights[0] = 1.0
    by_signature: dict[bytes, tuple[float, bool]] = {}
    idle = []
    for subgraph, shape in zip(inner, shapes_of(tasks, inner, weights), strict=True):
        if shape.signature not in by_signature:
            considered = candidates(shape, link, servers)
            shortest = min(float(spans(considered, 0.0, 0.0)[0].min()), shape.local_s)
            by_signature[shape.signature] = shortest, considered.exhaustive
        best_s, exhaustive = by_signature[shape.signature]
        idle.append(
            IdleSpan(subgraph, shape.local_s, shape.critical_s, best_s, _border_bytes(shape), exhaustive)
        )
    return tuple(idle)


def _border_bytes(shape: SubgraphShape) -> float:
    """Bytes of the distinct tensors that enter the interior from its root or leave it for its sink."""
    crossing = (shape.source == 0) | (shape.target == shape.m + 1)
    _, first = np.unique(shape.tensor[crossing], return_index=True)
    return float(shape.size[crossing][first].sum())


def configuration_counts(tasks: TaskGraph, decomposition: Decomposition) -> list[int]:
    """Count the configurations that the placement considers for each sub-graph of a model."""
    return [configurations_considered(tasks, subgraph) for subgraph in decomposition.subgraphs]
