"""Which GPUs a job gets: those that it had, else on as few nodes as possible."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


class Board:
    """The GPUs of one type, numbered node by node; ``nodes`` are their counts.

    >>> board = Board((2, 4))
    >>> board.place([("a", 3), ("b", 1)], {})
    {'a': (2, 3, 4), 'b': (5,)}
    """

    def __init__(self, nodes: Sequence[int]) -> None:
        self._node_of = [n for n, count in enumerate(nodes) for _ in range(count)]
        self._count = len(nodes)

    def __len__(self) -> int:
        return len(self._node_of)

    def node(self, gpu: int) -> int:
        """The node of a GPU."""
        return self._node_of[gpu]

    def place(
        self,
        rows: Iterable[tuple[K, int]],
        before: Mapping[K, tuple[int, ...]],
        held: Iterable[int] = (),
        *,
        apart: bool = False,
    ) -> dict[K, tuple[int, ...]]:
        """GPUs for rows of (key, count): rows that can keep theirs do, then larger counts first.

        ``before``: the GPUs of each key in the last round; ``held``: GPUs that others have; ``apart``: each
        GPU of a row on a different node. The counts fit (with ``apart`` a row that does not is left out).
        """
        free = set(range(len(self._node_of))) - set(held)
        found: dict[K, tuple[int, ...]] = {}
        waiting = []
        for key, count in rows:
            mine = before.get(key, ())
            if len(mine) == count and free.issuperset(mine):
                found[key] = mine
                free.difference_update(mine)
            else:
                waiting.append((key, count))
        waiting.sort(key=lambda entry: -entry[1])
        nodes = self._by_node(free) if waiting else []
        for key, count in waiting:
            if gpus := _apart(nodes, count) if apart else _together(nodes, count):
                found[key] = gpus
        return found

    def _by_node(self, free: set[int]) -> list[list[int]]:
        nodes: list[list[int]] = [[] for _ in range(self._count)]
        for gpu in sorted(free):
            nodes[self._node_of[gpu]].append(gpu)
        return nodes


def _together(nodes: list[list[int]], count: int) -> tuple[int, ...]:
    """Take GPUs of the tightest node with room; without one, of the emptiest nodes."""
    roomy = [n for n in nodes if len(n) >= count]
    if roomy:
        return _taken(min(roomy, key=len), count)
    found: tuple[int, ...] = ()
    while len(found) < count:
        node = max(nodes, key=len)
        found += _taken(node, min(count - len(found), len(node)))
    return tuple(sorted(found))


def _apart(nodes: list[list[int]], count: int) -> tuple[int, ...]:
    """Take one GPU of each of the emptiest nodes; none where there are too few."""
    roomy = sorted((n for n in nodes if n), key=len, reverse=True)[:count]
    return tuple(sorted(gpu for n in roomy for gpu in _taken(n, 1))) if len(roomy) == count else ()


def _taken(node: list[int], count: int) -> tuple[int, ...]:
    gpus = tuple(node[:count])
    del node[:count]
    return gpus
