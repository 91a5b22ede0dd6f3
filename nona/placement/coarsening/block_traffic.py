"""Bytes that a block takes in and gives out: what gluing it can add to the link's load."""

from __future__ import annotations

from collections.abc import Container

from nona.placement.coarsening.union_find import Groups
from nona.placement.configurations.shape import Shape


class Traffic:
    """Tensors around the block ``inside`` that joins the group of ``anchor``.

    *Outside* is every node that is neither in the block nor in that group. A message of the block
    to itself, or from or to the group, vanishes when the block joins; one to the outside may appear.
    """

    def __init__(self, shape: Shape, groups: Groups, anchor: int, inside: Container[int]) -> None:
        self._shape, self._inside = shape, inside
        self._home = [groups.together(v, anchor) for v in range(shape.m + 2)]

    def outside(self, v: int) -> bool:
        """Whether node v is neither in the block nor in the anchor's group."""
        return v not in self._inside and not self._home[v]

    def sent(self, v: int) -> list[float]:
        """Bytes of every edge from v to the outside: at most one message each."""
        shape = self._shape
        return [float(shape.size[e]) for e in shape.edges_of[v] if self.outside(int(shape.target[e]))]

    def given_bytes(self, v: int) -> float:
        """Bytes of v's distinct tensors that a task outside the anchor's group reads."""
        shape = self._shape
        read = {
            int(shape.tensor[e]): float(shape.size[e])
            for e in shape.edges_of[v]
            if not self._home[int(shape.target[e])]
        }
        return sum(read.values())

    def credit_bytes(self, v: int, *, home: bool = False) -> dict[int, float]:
        """For every producer that v reads from, the bytes that v's move saves for sure.

        A tensor that the outside reads too may have to be sent all the same: nothing is saved. One
        that several of the block read is shared out among them. ``home``: from the group only.
        """
        shape, saved = self._shape, dict[int, float]()
        for tensor, e in {int(shape.tensor[e]): e for e in shape.edges_into[v]}.items():
            u = int(shape.source[e])
            if home and not self._home[u]:
                continue
            readers = [int(shape.target[i]) for i in shape.edges_of[u] if shape.tensor[i] == tensor]
            if not any(map(self.outside, readers)):
                block = sum(r in self._inside for r in readers)
                saved[u] = saved.get(u, 0.0) + float(shape.size[e]) / block
        return saved

    def shift_bytes(self, u: int) -> float:
        """Bytes by which a message of u's batch may move back when the block's no longer go first.

        A tensor that the block and the outside read may have been sent with the block's edge; then
        it is sent with a later one, behind the messages between the two.
        """
        shape, most = self._shape, 0.0
        edges = shape.edges_of[u]
        targets = [int(shape.target[e]) for e in edges]
        for tensor in {int(shape.tensor[e]) for e in edges}:
            own = [i for i, e in enumerate(edges) if int(shape.tensor[e]) == tensor]
            first = min((i for i in own if targets[i] in self._inside), default=len(edges))
            last = max((i for i in own if self.outside(targets[i])), default=0)
            between = [edges[i] for i in range(first + 1, last) if self.outside(targets[i])]
            most = max(most, sum(float(shape.size[e]) for e in between))
        return most
