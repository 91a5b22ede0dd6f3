"""Groups under way: a union-find whose representative is the first node of a group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Groups:
    """Partition of the nodes 0…n−1, at first each by itself.

    >>> g = Groups(4)
    >>> g.join(3, 1), g.join(1, 3), g.find(3), g.single(2), g.array().tolist()
    (True, False, 1, True, [0, 1, 2, 1])
    """

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))
        self._size = [1] * n

    def find(self, v: int) -> int:
        """First node of v's group."""
        while self._parent[v] != v:
            self._parent[v] = self._parent[self._parent[v]]
            v = self._parent[v]
        return v

    def together(self, u: int, v: int) -> bool:
        """Whether two nodes are in one group."""
        return self.find(u) == self.find(v)

    def single(self, v: int) -> bool:
        """Whether v is alone."""
        return self._size[self.find(v)] == 1

    def join(self, u: int, v: int) -> bool:
        """Make one group of two; False when they are one already."""
        a, b = sorted((self.find(u), self.find(v)))
        if a == b:
            return False
        self._parent[b] = a
        self._size[a] += self._size[b]
        return True

    def array(self) -> NDArray[np.int64]:
        """(n,) The first node of every node's group."""
        return np.array([self.find(v) for v in range(len(self._parent))], dtype=np.int64)
