"""Fixed configurations that have a name: what a person would try by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from nona.decomposition.subgraph import SubGraph
from nona.placement.placement import Configuration, SubGraphPlacement
from nona.system import QueryClass

Partition = tuple[tuple[tuple[int, ...], ...], int]  # the parts, and which one stays (−1: none)


def local(query: QueryClass, subgraph: SubGraph) -> Partition:
    """Everything on the root's server."""
    return ((subgraph.interior,), 0) if subgraph.interior else ((), -1)


def spread(query: QueryClass, subgraph: SubGraph) -> Partition:
    """Every interior task on a server of its own, none on the root's."""
    return tuple((t,) for t in subgraph.interior), -1


def keep_heaviest(query: QueryClass, subgraph: SubGraph) -> Partition:
    """As spread, but the task that would move the most bytes stays on the root's server."""
    moved = _moved_bytes(query, [(t,) for t in subgraph.interior])
    return tuple((t,) for t in subgraph.interior), int(np.argmax(moved)) if moved else -1


def half(query: QueryClass, subgraph: SubGraph) -> Partition:
    """Two parts of nearly equal compute time; the one that would move more bytes stays.

    Independent branches (connected components of the interior) are kept whole and dealt out
    longest first to the shorter part. A single branch is not cut: that is ``local``.
    """
    time = query.tasks.compute_s.mean(axis=0)
    branches = sorted(_branches(query, subgraph), key=lambda b: (-time[list(b)].sum(), b))
    if len(branches) < 2:
        return local(query, subgraph)
    parts: tuple[list[int], list[int]] = ([], [])
    for branch in branches:
        shorter = min((0, 1), key=lambda i: time[parts[i]].sum())
        parts[shorter].extend(branch)
    place = {t: i for i, t in enumerate(subgraph.interior)}
    ordered = sorted((tuple(sorted(p, key=place.__getitem__)) for p in parts), key=lambda p: place[p[0]])
    return tuple(ordered), int(np.argmax(_moved_bytes(query, ordered)))


PRESETS: Mapping[str, Callable[[QueryClass, SubGraph], Partition]] = {
    "local": local,
    "spread": spread,
    "keep-heaviest": keep_heaviest,
    "half": half,
}


def fixed(subgraph: SubGraph, partition: Partition) -> SubGraphPlacement:
    """A distribution with one configuration; the sink stays with the root."""
    parts, home = partition
    return SubGraphPlacement(subgraph, (Configuration(parts, home, home),), np.ones(1))


def place_fixed(query: QueryClass, preset: str) -> tuple[SubGraphPlacement, ...]:
    """The preset's configuration for each sub-graph of a query class."""
    return tuple(fixed(s, PRESETS[preset](query, s)) for s in query.decomposition.subgraphs)


def _moved_bytes(query: QueryClass, parts: list[tuple[int, ...]]) -> list[float]:
    """Bytes into and out of each part; a tensor counts once for each direction."""
    tasks = query.tasks
    ends = list(
        zip(tasks.edge_source.tolist(), tasks.edge_target.tolist(), tasks.edge_tensor.tolist(), strict=True)
    )
    moved = []
    for part in map(frozenset, parts):
        inward = {t for a, b, t in ends if b in part and a not in part}
        outward = {t for a, b, t in ends if a in part and b not in part}
        moved.append(float(sum(tasks.tensor_bytes[t] for t in (*sorted(inward), *sorted(outward)))))
    return moved


def _branches(query: QueryClass, subgraph: SubGraph) -> list[tuple[int, ...]]:
    """Connected components of the interior, each in topological order."""
    label = {t: t for t in subgraph.interior}
    for t in subgraph.interior:
        for s in query.tasks.dag.successors[t]:
            if s in label and label[s] != label[t]:
                old, new = label[s], label[t]
                label = {k: new if v == old else v for k, v in label.items()}
    groups: dict[int, list[int]] = {}
    for t in subgraph.interior:
        groups.setdefault(label[t], []).append(t)
    return [tuple(g) for g in groups.values()]
