"""The contracted graph: tasks, the steps that led there, played back and in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nona.models.graph.dag import Dag
from nona.models.graph.model import ModelGraph


@dataclass(frozen=True, slots=True)
class Task:
    """A node of the contracted graph: operators that run one after the other on one executor.

    The id is that of its first operator; ``operators`` are in a topological order.
    """

    id: str
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskEdge:
    """``target`` consumes ``tensor``, which ``source`` makes; one for each such triple."""

    source: str
    target: str
    tensor: str
    size_bytes: float


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One contraction: the tasks ``source`` and ``target`` became the task ``into``.

    ``edge`` is an edge between operators that the step swallowed; ``reason`` says in words why
    the rule allows it. ``rule`` names the rule whose condition held: the poset rule starts with the
    direct one, so its steps have both names.
    """

    source: str
    target: str
    into: str
    edge: tuple[str, str]
    reason: str
    rule: str = ""


@dataclass(frozen=True)
class ContractedGraph:
    """The result of a contraction rule; ``tasks`` are in a topological order.

    Edges are ordered by source, then target (in the order of ``tasks``), then tensor.
    """

    graph: ModelGraph
    rule: str
    tasks: tuple[Task, ...]
    edges: tuple[TaskEdge, ...]
    steps: tuple[MergeStep, ...]

    @cached_property
    def index(self) -> dict[str, int]:
        """Task id → its place in ``tasks``."""
        return {t.id: i for i, t in enumerate(self.tasks)}

    @cached_property
    def task_of(self) -> dict[str, str]:
        """The lift: operator id → id of the task that holds it."""
        return {o: t.id for t in self.tasks for o in t.operators}

    @cached_property
    def dag(self) -> Dag:
        """The tasks and their edges as an acyclic graph of indices."""
        index = self.index
        return Dag.from_edges(
            len(self.tasks), ((index[e.source], index[e.target]) for e in self.edges), self.graph.name
        )

    def sum_over_tasks(self, values: Sequence[float]) -> tuple[float, ...]:
        """Add up a value per operator (in the order of ``graph.operators``) for each task."""
        at = self.graph.index
        return tuple(sum(values[at[o]] for o in t.operators) for t in self.tasks)

    def pair_bytes(self) -> Mapping[tuple[str, str], float]:
        """(source, target) → bytes of all distinct tensors between the two."""
        total: dict[tuple[str, str], float] = {}
        for e in self.edges:
            total[e.source, e.target] = total.get((e.source, e.target), 0.0) + e.size_bytes
        return total


def assemble(
    graph: ModelGraph, rule: str, groups: Sequence[Sequence[int]], steps: Sequence[MergeStep]
) -> ContractedGraph:
    """Return the contracted graph whose tasks are ``groups``.

    ``graph``: the model graph.
    ``rule``: name of the rule that made the groups.
    ``groups``: a partition of the operator indices; each group in increasing order, the groups ordered by
        their first operator. That is a topological order of the tasks under every rule here: the first
        operator of a task has all the task's ancestors as its own.
    ``steps``: the merges that led from single operators to the groups.
    """
    ids = [o.id for o in graph.operators]
    place = [0] * len(ids)
    for i, group in enumerate(groups):
        for operator in group:
            place[operator] = i
    tasks = tuple(Task(ids[group[0]], tuple(ids[o] for o in group)) for group in groups)
    return ContractedGraph(graph, rule, tasks, _edges(graph, tasks, place), tuple(steps))


def _edges(graph: ModelGraph, tasks: Sequence[Task], place: Sequence[int]) -> tuple[TaskEdge, ...]:
    index = graph.index
    sizes: dict[tuple[int, int, str], float] = {}
    for edge in graph.edges:
        source, target = place[index[edge.source]], place[index[edge.target]]
        if source != target:
            key = (source, target, edge.tensor)
            sizes[key] = max(sizes.get(key, 0.0), edge.size_bytes)
    return tuple(TaskEdge(tasks[s].id, tasks[t].id, name, sizes[s, t, name]) for s, t, name in sorted(sizes))


@dataclass(frozen=True, slots=True)
class ContractionSummary:
    """Figures of a contraction.

    ``operators``, ``tasks``: nodes before and after; tasks = operators − steps.
    ``steps_by_rule``: number of steps for each rule whose condition allowed them.
    ``single``: tasks of one operator.
    ``largest``: the tasks with the most operators, at most ten, largest first.
    """

    operators: int
    tasks: int
    steps_by_rule: dict[str, int]
    single: int
    largest: tuple[Task, ...]

    @property
    def text(self) -> str:
        """One sentence.

        >>> ContractionSummary(9, 4, {"direct": 3, "poset": 2}, 2, ()).text
        '9 operators became 4 tasks in 5 steps (3 by the direct rule, 2 by the poset rule).'
        """
        steps = sum(self.steps_by_rule.values())
        if not steps:
            return f"Nothing was merged: each of the {self.operators} operators is a task."
        by = ", ".join(f"{count} by the {rule} rule" for rule, count in self.steps_by_rule.items())
        became = "1 task" if self.tasks == 1 else f"{self.tasks} tasks"
        return f"{self.operators} operators became {became} in {steps} step{'s' * (steps > 1)} ({by})."


def summarize_contraction(contracted: ContractedGraph) -> ContractionSummary:
    """Return the figures of ``contracted``.

    >>> from nona.models.contraction.rules import contract
    >>> from nona.models.graph.model import Edge, ModelGraph, Operator
    >>> pair = ModelGraph("pair", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),))
    >>> summarize_contraction(contract(pair)).text
    '2 operators became 1 task in 1 step (1 by the direct rule).'
    """
    return ContractionSummary(
        operators=len(contracted.graph.operators),
        tasks=len(contracted.tasks),
        steps_by_rule=dict(sorted(Counter(s.rule for s in contracted.steps).items())),
        single=sum(len(t.operators) == 1 for t in contracted.tasks),
        largest=tuple(sorted(contracted.tasks, key=lambda t: (-len(t.operators), t.id))[:10]),
    )
