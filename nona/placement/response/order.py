"""In which order a job alone on the cluster does things: when tasks join their queue, and when they send.

A walk takes many jobs through a plan at once. Each job has its own order, but one that is right for a
job without company is right for most: it puts tasks of one server in the order in which they are
ready, which neither their depth nor their number tells, and messages in that in which they are asked for.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Inputs = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks that join, in order; then nodes that end and send what they made."""

    joins: tuple[int, ...]
    sends: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """What the order depends on; nodes 0 (root), 1…m (interior), m + 1 (sink).

    ``label`` and ``seconds`` of every node, ``feeds[u]`` the tasks that read from u on its own server,
    ``sent[u]`` its messages: seconds on the link, and the tasks that wait for each.
    """

    label: Sequence[int]
    seconds: Sequence[float]
    feeds: Inputs
    sent: Sequence[Sequence[tuple[float, Sequence[int]]]]
    latency_s: float
    has_root: bool


def blocks_of(errand: Errand) -> tuple[Block, ...]:
    """The events of a job alone, in order of time: joins up to the next sending, then all sendings up
    to the next join.

    Examples
    --------
    Tasks 1 and 2 of one server get their inputs over the link, task 2 the short one, and first:

    >>> sent = (((0.5, (2,)), (9.0, (1,))), (), (), ())
    >>> alone = Errand((0, 1, 1, 1), (0.0, 1.0, 1.0, 0.0), ((), (3,), (3,), ()), sent, 0.0, True)
    >>> [(b.joins, b.sends) for b in blocks_of(alone)]
    [((), (0,)), ((2,), (2,)), ((1,), (1,))]
    """
    order = _Alone(errand).events()
    found: list[tuple[list[int], list[int]]] = [([], [])]
    for kind, node in order:
        joins, sends = found[-1]
        if kind == "join" and sends:
            found.append(([node], []))
        elif kind == "join":
            joins.append(node)
        else:
            sends.append(node)
    return tuple(Block(tuple(joins), tuple(sends)) for joins, sends in found)


class _Alone:
    """One job by itself: first come first served at servers and at the link."""

    def __init__(self, errand: Errand) -> None:
        self.e = errand
        last = len(errand.label) - 1
        self.missing = [0] * (last + 1)
        for readers in (*errand.feeds, *(r for sent in errand.sent for _, r in sent)):
            for v in readers:
                self.missing[v] += 1
        self.free = [0.0] * (max(errand.label) + 1)
        self.link_free, self.pushed = 0.0, 0
        self.heap: list[tuple[float, int, Callable[[float, int], None], int]] = []
        self.told: list[tuple[str, int]] = []

    def events(self) -> list[tuple[str, int]]:
        last = len(self.e.label) - 1
        if self.e.has_root:
            self._push(0.0, self._end, 0)
        for v in range(1, last):
            if self.missing[v] == 0:
                self._push(0.0, self._join, v)
        while self.heap:
            now, _, act, node = heapq.heappop(self.heap)
            act(now, node)
        return self.told

    def _push(self, time: float, act: Callable[[float, int], None], node: int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (time, self.pushed, act, node))

    def _join(self, now: float, v: int) -> None:
        if v == len(self.e.label) - 1:
            return
        self.told.append(("join", v))
        server = self.e.label[v]
        self.free[server] = max(self.free[server], now) + self.e.seconds[v]
        self._push(self.free[server], self._end, v)

    def _end(self, now: float, u: int) -> None:
        self.told.append(("send", u))
        for v in self.e.feeds[u]:
            self._arrive(now, v)
        for work, readers in self.e.sent[u]:
            self.link_free = max(self.link_free, now) + work
            for v in readers:
                self._push(self.link_free + self.e.latency_s, self._arrive, v)

    def _arrive(self, now: float, v: int) -> None:
        self.missing[v] -= 1
        if self.missing[v] == 0:
            self._join(now, v)
