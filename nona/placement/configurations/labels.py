"""Enumeration of configurations: every way to place an interior relative to root and sink.

Inside the placement a configuration is a row of *labels*: the server of each interior task and
of the sink, 0 being the root's server and 1, 2, … others in the order of their first task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from nona.decomposition.subgraph import VIRTUAL, SubGraph
from nona.placement.result.configuration import Configuration

Labels = NDArray[np.int64]
ENUMERATED = 6


def set_partitions(m: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Set partitions of m things into at most ``most`` parts, as restricted growth strings.

    >>> list(set_partitions(3))
    [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]
    """

    def grow(prefix: tuple[int, ...], used: int) -> Iterator[tuple[int, ...]]:
        if len(prefix) == m:
            yield prefix
            return
        for part in range(min(used + 1, m if most is None else most)):
            yield from grow((*prefix, part), max(used, part + 1))

    return grow((), 0)


@lru_cache(maxsize=128)
def configuration_labels(
    m: int, *, servers: int | None = None, root_free: bool = False, sink_free: bool = False
) -> Labels:
    """All configurations of m interior tasks in which root and sink share a server with a part.

    A configuration is a set partition π, the part ρ on the root's server and the part σ on the
    sink's. Their number is Σₖ S(m, k)·k² = Bell(m+2) − 2·Bell(m+1), S being Stirling's number of
    the second kind: 1, 5, 22, 99, 471, 2386 for m = 1…6. (Leaving the root's or sink's server
    without a part gains nothing: the load on the servers is the same, the messages are more.)

    Parameters
    ----------
    servers
        At most so many servers are used.
    root_free, sink_free
        The root or the sink is virtual, so it does not matter which part is with it: the first
        part stands on the root's server, or the sink stays on the root's.

    Returns
    -------
    (n, m+1) labels, the last column being the sink's; the local configuration is the first row.

    Examples
    --------
    >>> configuration_labels(2).tolist()
    [[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 0, 0]]
    >>> [len(configuration_labels(m)) for m in range(6)]
    [1, 1, 5, 22, 99, 471]
    """
    if m == 0:
        return np.zeros((1, 1), dtype=np.int64)
    rows: list[list[int]] = []
    for part in set_partitions(m, servers):
        k = max(part) + 1
        for root in range(1 if root_free else k):
            label = _relabelled(range(k), root)
            place = [label[p] for p in part]
            rows.extend([*place, label[sink]] for sink in ((root,) if sink_free else range(k)))
    labels = np.array(rows, dtype=np.int64)
    labels.setflags(write=False)
    return labels


def _relabelled(parts: Sequence[int], root: int) -> dict[int, int]:
    """Part → label: ``root`` gets 0, the others 1, 2, … in their order."""
    others = [p for p in parts if p != root]
    return {root: 0} | {p: i for i, p in enumerate(others, start=1)}


def canonical(labels: Sequence[int]) -> tuple[int, ...]:
    """The same placement with servers other than the root's numbered by first use.

    >>> canonical([3, 0, 3, 2, 3])
    (1, 0, 1, 2, 1)
    """
    seen = {0: 0}
    return tuple(seen.setdefault(v, len(seen)) for v in labels)


def enumerate_configurations(subgraph: SubGraph, *, servers: int | None = None) -> tuple[Configuration, ...]:
    """All configurations of a sub-graph with an interior of at most 6 tasks.

    >>> [c.parts for c in enumerate_configurations(SubGraph(0, 3, (1, 2)))]
    [((1, 2),), ((1,), (2,)), ((1,), (2,)), ((1,), (2,)), ((1,), (2,))]
    """
    labels = configuration_labels(
        len(subgraph.interior),
        servers=servers,
        root_free=subgraph.root == VIRTUAL,
        sink_free=subgraph.sink == VIRTUAL,
    )
    return tuple(to_configuration(row, subgraph.interior) for row in labels.tolist())


def to_configuration(labels: Sequence[int], interior: Sequence[int]) -> Configuration:
    """The :class:`Configuration` of a row of labels.

    >>> to_configuration([1, 0, 1, 1], (5, 6, 7))
    Configuration(parts=((5, 7), (6,)), root_part=1, sink_part=0)
    """
    parts: dict[int, list[int]] = {}
    for label, task in zip(labels[:-1], interior, strict=True):
        parts.setdefault(label, []).append(task)
    order = list(parts)
    root = order.index(0) if 0 in parts else -1
    return Configuration(
        tuple(tuple(p) for p in parts.values()),
        root,
        order.index(labels[-1]) if labels[-1] in parts else -1,
    )


def to_labels(configuration: Configuration, interior: Sequence[int]) -> list[int]:
    """The row of labels of a configuration: the inverse of :func:`to_configuration`.

    >>> to_labels(Configuration(((5, 7), (6,)), 1, 0), (5, 6, 7))
    [1, 0, 1, 1]
    >>> to_labels(Configuration(((5,), (6,)), -1, -1), (5, 6))
    [1, 2, 0]
    """
    label = _relabelled(range(len(configuration.parts)), configuration.root_part)
    place = {task: label[i] for i, part in enumerate(configuration.parts) for task in part}
    sink = label[configuration.sink_part] if configuration.sink_moves else 0
    return [place[task] for task in interior] + [sink]
