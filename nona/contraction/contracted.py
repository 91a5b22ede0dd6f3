"""The contracted graph: tasks in place of operators, the steps that led there, the way back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from nona.graph.dag import Dag
from nona.graph.model import ModelGraph


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
class Step:
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
    steps: tuple[Step, ...]

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
        """The graph on task indices."""
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
