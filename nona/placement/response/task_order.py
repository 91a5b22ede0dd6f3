"""In which order a walk takes the tasks of a plan: server by server as a job alone on the cluster would.

A walk takes many jobs through a plan at once. Each job has its own order, but at a server one that
is right for a job without company is right for most: tasks in the order in which they are ready, which
neither their depth nor their number shows. Messages of several tasks are put in each job's own order
when they are sent, so as many tasks as possible end before any of them sends.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Inputs = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks that run, in order; then nodes that send what they made."""

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
    """Rounds: all tasks that have their inputs and are next at their server; then what these send.

    Examples
    --------
    Tasks 1 and 2 of one server get their inputs over the link, task 2 the short one, and first; task 3
    reads from both:

    >>> sent = (((0.5, (2,)), (9.0, (1,))), (), (), (), ())
    >>> feeds = ((), (3,), (3,), (4,), ())
    >>> alone = Errand((0, 1, 1, 1, 1), (0.0, 1.0, 1.0, 1.0, 0.0), feeds, sent, 0.0, True)
    >>> [(b.joins, b.sends) for b in blocks_of(alone)]
    [((), (0,)), ((2, 1), (2, 1)), ((3,), (3,))]
    """
    waiting = _Alone(errand).joins()
    needs: dict[int, set[int]] = {v: set() for v in (*waiting, len(errand.label) - 1)}
    for u, (readers, sent) in enumerate(zip(errand.feeds, errand.sent, strict=True)):
        for v in (*readers, *(v for _, waits in sent for v in waits)):
            needs[v].add(u)
    known = {0}
    found = [Block((), (0,))] if errand.has_root else []
    while waiting:
        joins: list[int] = []
        held: set[int] = set()
        for v in waiting:
            if errand.label[v] not in held and needs[v] <= known:
                joins.append(v)
            else:
                held.add(errand.label[v])
        known.update(joins)
        waiting = [v for v in waiting if v not in known]
        found.append(Block(tuple(joins), tuple(joins)))
    return tuple(found)


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
        self.joined: list[int] = []

    def joins(self) -> list[int]:
        """The interior tasks in the order in which they become ready."""
        last = len(self.e.label) - 1
        if self.e.has_root:
            self._push(0.0, self._end, 0)
        for v in range(1, last):
            if self.missing[v] == 0:
                self._push(0.0, self._join, v)
        while self.heap:
            now, _, act, node = heapq.heappop(self.heap)
            act(now, node)
        return self.joined

    def _push(self, time: float, act: Callable[[float, int], None], node: int) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, (time, self.pushed, act, node))

    def _join(self, now: float, v: int) -> None:
        if v == len(self.e.label) - 1:
            return
        self.joined.append(v)
        server = self.e.label[v]
        self.free[server] = max(self.free[server], now) + self.e.seconds[v]
        self._push(self.free[server], self._end, v)

    def _end(self, now: float, u: int) -> None:
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
