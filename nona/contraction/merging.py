"""A contraction under way: the quotient graph, and a record of every step."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from nona.contraction.assemble import assemble
from nona.contraction.contracted import ContractedGraph, Step
from nona.contraction.quotient import Quotient
from nona.graph.model import ModelGraph
from nona.graph.text import quote

NAME_WIDTH = 40
NAMES_SHOWN = 3


class Merging:
    """Merges tasks of ``graph`` and keeps the steps; a rule decides which ones.

    Parameters
    ----------
    graph
        The model graph; its operators are in a topological order.
    priority
        Among edges that may be contracted, the one whose first operator has the smallest priority
        goes first; by default the operator's place, so that steps run from inputs to outputs.
    """

    def __init__(self, graph: ModelGraph, priority: Sequence[float] | None = None) -> None:
        self.graph = graph
        self.priority = priority if priority is not None else range(len(graph.operators))
        self.quotient = Quotient(graph.dag)
        self.steps: list[Step] = []
        self._ids = [o.id for o in graph.operators]
        self._quoted: dict[int, str] = {}

    def merge(self, u: int, v: int, rule: str, reason: str) -> tuple[set[int], set[int]]:
        """Contract u → v, which the direct rule allows; the result is that of :meth:`Quotient.merge`."""
        self._record(u, v, rule, reason)
        return self.quotient.merge(u, v)

    def join(self, u: int, v: int, rule: str, reason: str) -> None:
        """Contract u → v without keeping the neighbours up to date (:meth:`Quotient.join`)."""
        self._record(u, v, rule, reason)
        self.quotient.join(u, v)

    def _record(self, u: int, v: int, rule: str, reason: str) -> None:
        first = self._ids[self.quotient.head[u]]
        edge = (self._ids[u], self._ids[v])
        self.steps.append(Step(first, edge[1], first, edge, reason, rule))

    def name(self, head: int) -> str:
        """The task that starts in ``head``, quoted and clipped for a sentence."""
        if head not in self._quoted:
            self._quoted[head] = quote(self._ids[head], NAME_WIDTH)
        return self._quoted[head]

    def ends(self, u: int, v: int) -> tuple[str, str]:
        """Names of the two tasks that u → v joins."""
        return self.name(self.quotient.head[u]), self.name(v)

    def other_inputs(self, u: int, v: int) -> str:
        """Names of what feeds the task that starts in ``v`` besides u's, or ``""``."""
        return self._list(self.quotient.inputs[v], self.quotient.find(u), v)

    def other_consumers(self, u: int, v: int) -> str:
        """Names of what reads from the task that ends in ``u`` besides v's, or ``""``."""
        return self._list(self.quotient.consumers[u], self.quotient.find(u), v)

    def _list(self, neighbours: set[int], a: int, b: int) -> str:
        if len(neighbours) == 1:  # the other one of the two
            return ""
        found = {self.quotient.find(t) for t in neighbours} - {a, b}
        if not found:
            return ""
        shown = ", ".join([self.name(h) for h in heapq.nsmallest(NAMES_SHOWN, found)])
        more = len(found) - NAMES_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown

    def result(self, rule: str) -> ContractedGraph:
        """The contracted graph as it stands."""
        groups = [self.quotient.path(head) for head in self.quotient.heads()]
        return assemble(self.graph, rule, groups, self.steps)
