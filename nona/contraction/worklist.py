"""The worklist: contract edges by the direct rule until none is left, in linear time."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from nona.contraction.merging import Merging

Reason = Callable[[int, int], str | None]


class DirectWorklist:
    """Contracts u → v iff Pred(v)∖{u} ⊆ Pred(u) and Succ(u)∖{v} ⊆ Succ(v), on tasks.

    Where the rule holds, all other inputs of v come before u and all other consumers of u after v
    (operator indices are a topological order). So u is v's last input and v is u's first consumer,
    which no other merge changes: an operator has one edge at most to test, known beforehand. It keeps
    two cursors over its other inputs and consumers: what the cursor has passed stays in the
    larger set for good, because a merge maps subsets to subsets. So all tests together cost
    O(n + m); merges go by priority, for O(log n) each.

    Parameters
    ----------
    merging
        Where tasks are merged.
    rule
        Name of the rule, for the steps.
    reason
        Why u → v may be contracted, in words; ``None`` when it may not (a further condition). It
        is asked again when u's or v's task has grown.
    after
        Called before a merge with (u, v), for what the further condition keeps track of.
    """

    def __init__(
        self, merging: Merging, rule: str, reason: Reason, after: Callable[[int, int], None] | None = None
    ) -> None:
        self._merging, self._rule, self._reason, self._after = merging, rule, reason, after
        self._quotient, self._dag = merging.quotient, merging.graph.dag
        self._link = [-1] * len(self._dag)
        self._back = [-1] * len(self._dag)
        for u, consumers in enumerate(self._dag.successors):
            if consumers and self._dag.predecessors[consumers[0]][-1] == u:
                self._link[u], self._back[consumers[0]] = consumers[0], u
        self._inputs_passed = [0] * len(self._dag)
        self._consumers_passed = [0] * len(self._dag)
        self._ready: list[tuple[float, int]] = []
        self._waiting = [False] * len(self._dag)

    def run(self) -> None:
        """Merge until no edge may be contracted."""
        for u in range(len(self._dag)):
            self._test(u)
        while self._ready:
            _, u = heapq.heappop(self._ready)
            self._waiting[u] = False
            v = self._link[u]
            reason = self._reason(u, v)
            if reason is not None:
                self._merge(u, v, reason)

    def _merge(self, u: int, v: int, reason: str) -> None:
        head, tail = self._quotient.head[u], self._quotient.tail[v]
        if self._after is not None:
            self._after(u, v)
        readers, feeders = self._merging.merge(u, v, self._rule, reason)
        self._link[u] = self._back[v] = -1
        self._test(self._back[head])
        self._test(tail)
        for y in readers:
            self._test(self._back[y])
        for x in feeders:
            self._test(x)

    def _test(self, u: int) -> None:
        """Put the edge out of tail ``u`` on the worklist if the direct rule allows it."""
        v = self._link[u] if u >= 0 else -1
        if v >= 0 and not self._waiting[u] and self._inputs_nest(u, v) and self._consumers_nest(u, v):
            self._waiting[u] = True
            heapq.heappush(self._ready, (self._merging.priority[u], u))

    def _inputs_nest(self, u: int, v: int) -> bool:
        mine, theirs = self._quotient.inputs[v], self._quotient.inputs[self._quotient.head[u]]
        operators, i = self._dag.predecessors[v], self._inputs_passed[v]
        while i < len(operators):
            x = operators[i]
            if x != u and x in mine and x not in theirs:
                break
            i += 1
        self._inputs_passed[v] = i
        return i == len(operators)

    def _consumers_nest(self, u: int, v: int) -> bool:
        mine, theirs = self._quotient.consumers[u], self._quotient.consumers[self._quotient.tail[v]]
        operators, i = self._dag.successors[u], self._consumers_passed[u]
        while i < len(operators):
            y = operators[i]
            if y != v and y in mine and y not in theirs:
                break
            i += 1
        self._consumers_passed[u] = i
        return i == len(operators)
