"""A contraction under way: the quotient graph, the traffic of its tasks, the worklist."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence

from nona.models.contraction.contracted import ContractedGraph, MergeStep, assemble
from nona.models.graph.dag import Dag
from nona.models.graph.model import ModelGraph
from nona.models.graph.text import quote


class Quotient:
    """A DAG whose nodes are paths of operators, cheap to contract.

    Every rule here only ever merges the last operator of one path with the first of another, so a
    task has a ``head`` and a ``tail``. Readers know a task by its tail and producers know it by its
    head: :meth:`merge` renames nothing, and all merges together cost O(n + m).

    ``head``, ``tail``: ``head[t]`` is the first operator of the task that ends in ``t``; ``tail[h]`` the last
        of the task that starts in ``h``. Entries of other operators mean nothing.
    ``inputs``: ``inputs[h]``: tails of the tasks that feed the task starting in ``h``.
    ``consumers``: ``consumers[t]``: heads of the tasks that read from the task ending in ``t``.
    """

    def __init__(self, dag: Dag) -> None:
        self.head = list(range(len(dag)))
        self.tail = list(range(len(dag)))
        self.inputs = [set(p) for p in dag.predecessors]
        self.consumers = [set(s) for s in dag.successors]
        self._first = list(range(len(dag)))  # union-find towards the head of the task
        self._after: list[int] = [-1] * len(dag)

    def merge(self, u: int, v: int) -> tuple[set[int], set[int]]:
        """Contract u → v (tail of one task, head of another), which the direct rule must allow.

        Then the merged task reads what u's task read, and feeds what v's task fed.

        Return heads of the other tasks that read from u's task, and tails of the other tasks that feed v's
        task: the neighbours whose edges may have become contractible.
        """
        readers, feeders = self.consumers[u], self.inputs[v]
        readers.discard(v)
        feeders.discard(u)
        self.consumers[u], self.inputs[v] = set(), set()
        for y in readers:
            self.inputs[y].discard(u)
        for x in feeders:
            self.consumers[x].discard(v)
        self.join(u, v)
        return readers, feeders

    def join(self, u: int, v: int) -> None:
        """Make one path of the two that meet in u → v; ``inputs`` and ``consumers`` stay as they are."""
        head, tail = self.head[u], self.tail[v]
        self.head[tail], self.tail[head] = head, tail
        self._first[v] = head
        self._after[u] = v

    def find(self, operator: int) -> int:
        """First operator of the task that holds ``operator``. O(log n) amortised."""
        first = self._first
        while first[operator] != operator:
            first[operator] = first[first[operator]]
            operator = first[operator]
        return operator

    def heads(self) -> list[int]:
        """First operators of all tasks, in increasing (and so topological) order."""
        return [v for v, first in enumerate(self._first) if first == v]

    def path(self, head: int) -> list[int]:
        """Operators of the task that starts in ``head``, in order."""
        path = [head]
        while self._after[path[-1]] >= 0:
            path.append(self._after[path[-1]])
        return path

    def dag(self) -> tuple[list[int], Dag]:
        """Heads of the tasks, and the graph on their places in that list."""
        heads = self.heads()
        place = {h: i for i, h in enumerate(heads)}
        arcs = ((place[self.head[t]], i) for i, h in enumerate(heads) for t in self.inputs[h])
        return heads, Dag.from_edges(len(heads), arcs)


class BorderSizes:
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

    def input_bytes(self, head: int) -> float:
        """Bytes that the task starting in ``head`` reads from other tasks."""
        return math.fsum(self._size[t] for t in self._in[head])

    def out_of(self, head: int) -> float:
        """Bytes that the task starting in ``head`` makes for other tasks."""
        return math.fsum(self._size[t] for t in self._out[head])

    def edge_bytes(self, a: int, b: int) -> float:
        """Bytes that the task starting in ``b`` reads from the task starting in ``a``."""
        return math.fsum(self._size[t] for t in self._in[b] if self._find(t[0]) == a)

    def merge(self, a: int, b: int) -> None:
        """Update the neighbours' records before ``a`` and ``b`` become one task, which starts in ``a``."""
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


NAME_WIDTH = 40
NAMES_SHOWN = 3


class Merging:
    """Merges tasks of ``graph`` and keeps the steps; a rule decides which ones.

    ``graph``: the model graph; its operators are in a topological order.
    ``priority``: among edges that may be contracted, the one whose first operator has the smallest priority
        goes first; by default the operator's place, so that steps run from inputs to outputs.
    """

    def __init__(self, graph: ModelGraph, priority: Sequence[float] | None = None) -> None:
        self.graph = graph
        self.priority = priority if priority is not None else range(len(graph.operators))
        self.quotient = Quotient(graph.dag)
        self.steps: list[MergeStep] = []
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
        self.steps.append(MergeStep(first, edge[1], first, edge, reason, rule))

    def name(self, head: int) -> str:
        """Return the task that starts in ``head``, quoted and clipped for a sentence."""
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
        others = {self.quotient.find(t) for t in neighbours} - {a, b}
        if not others:
            return ""
        shown = ", ".join([self.name(h) for h in heapq.nsmallest(NAMES_SHOWN, others)])
        more = len(others) - NAMES_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown

    def result(self, rule: str) -> ContractedGraph:
        """Return the contracted graph of the present groups, with the steps that led to it."""
        groups = [self.quotient.path(head) for head in self.quotient.heads()]
        return assemble(self.graph, rule, groups, self.steps)


Reason = Callable[[int, int], str | None]


class DirectWorklist:
    """Contracts u → v iff Pred(v)∖{u} ⊆ Pred(u) and Succ(u)∖{v} ⊆ Succ(v), on tasks.

    Where the rule holds, all other inputs of v come before u and all other consumers of u after v
    (operator indices are a topological order). So u is v's last input and v is u's first consumer,
    which no other merge changes: an operator has one edge at most to test, known beforehand. It keeps
    two cursors over its other inputs and consumers: what the cursor has passed stays in the
    larger set for good, because a merge maps subsets to subsets. So all tests together cost
    O(n + m); merges go by priority, for O(log n) each.

    ``merging``: where tasks are merged.
    ``rule``: name of the rule, for the steps.
    ``reason``: why u → v may be contracted, in words; ``None`` when it may not (a further condition). It is
        asked again when u's or v's task has grown.
    ``after``: called before a merge with (u, v), for what the further condition keeps track of.
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
