"""Bytes into, out of and between the tasks of a contraction under way."""

from __future__ import annotations

import math
from collections import Counter

from nona.contraction.quotient import Quotient
from nona.graph.model import ModelGraph


class Traffic:
    """Sizes of the distinct tensors that cross the borders of tasks.

    A tensor counts once for a task, however many operators there read it, and once for its
    producer, however many tasks read it. What comes from outside the graph does not count.
    """

    def __init__(self, graph: ModelGraph, quotient: Quotient) -> None:
        self._find = quotient.find
        self._size: dict[tuple[int, str], float] = {}  # (producer, tensor name) is a tensor
        self._readers: Counter[tuple[int, str]] = Counter()  # operators outside the producer's task
        self._in: list[Counter[tuple[int, str]]] = [Counter() for _ in graph.operators]
        self._out: list[set[tuple[int, str]]] = [set() for _ in graph.operators]
        for edge in graph.edges:
            source, target = graph.index[edge.source], graph.index[edge.target]
            tensor = (source, edge.tensor)
            self._size[tensor] = max(self._size.get(tensor, 0.0), edge.size_bytes)
            self._readers[tensor] += 1
            self._in[target][tensor] += 1
            self._out[source].add(tensor)

    def into(self, head: int) -> float:
        """Bytes that the task starting in ``head`` reads from other tasks."""
        return math.fsum(self._size[t] for t in self._in[head])

    def out_of(self, head: int) -> float:
        """Bytes that the task starting in ``head`` makes for other tasks."""
        return math.fsum(self._size[t] for t in self._out[head])

    def between(self, a: int, b: int) -> float:
        """Bytes that the task starting in ``b`` reads from the task starting in ``a``."""
        return math.fsum(self._size[t] for t in self._in[b] if self._find(t[0]) == a)

    def merge(self, a: int, b: int) -> None:
        """The tasks starting in ``a`` and ``b`` are about to become one, which starts in ``a``."""
        mine, theirs = self._in[a], self._in[b]
        for tensor in [t for t in theirs if self._find(t[0]) == a]:
            self._readers[tensor] -= theirs.pop(tensor)
            if self._readers[tensor] == 0:
                self._out[a].discard(tensor)
        if len(mine) < len(theirs):
            mine, theirs = theirs, mine
        for tensor, count in theirs.items():
            mine[tensor] += count
        self._in[a], self._in[b] = mine, Counter()
        small, large = sorted((self._out[a], self._out[b]), key=len)
        large |= small
        self._out[a], self._out[b] = large, set()
