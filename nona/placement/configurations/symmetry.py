"""Interiors as connected components, and their placements up to exchange of equal components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from nona.placement.configurations.labels import canonical
from nona.placement.configurations.shape import Shape

Content = tuple[int, ...]  # how many components of each class a part holds


def components(shape: Shape) -> tuple[tuple[int, ...], ...]:
    """Connected components of the interior: tuples of interior nodes 1…m, ordered by first task."""
    parent = list(range(shape.m + 1))

    def find(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for u, v in zip(shape.source.tolist(), shape.target.tolist(), strict=True):
        if u > 0 and v <= shape.m:
            parent[find(v)] = find(u)
    found: dict[int, list[int]] = {}
    for v in range(1, shape.m + 1):
        found.setdefault(find(v), []).append(v)
    return tuple(tuple(c) for c in found.values())


def component_classes(shape: Shape, parts: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """A class number for each component; components of one class can be exchanged.

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


def class_labels(
    shape: Shape, parts: Sequence[Sequence[int]], classes: Sequence[int], slots: int
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
    work = [float(sum(shape.mean_s[v - 1] for v in parts[m[0]])) for m in members.values()]
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
    shape: Shape,
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
