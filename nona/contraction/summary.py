"""What a contraction did, in figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nona.contraction.contracted import ContractedGraph, Task


@dataclass(frozen=True, slots=True)
class ContractionSummary:
    """Figures of a contraction.

    Attributes
    ----------
    operators, tasks
        Nodes before and after; tasks = operators − steps.
    edges_before, edges_after
        Connected pairs.
    bytes_before, bytes_after
        Bytes of the distinct tensors between operators, and of those still between tasks.
    steps_by_rule
        Number of steps for each rule whose condition allowed them.
    single
        Tasks of one operator.
    largest
        The tasks with the most operators, at most ten, largest first.
    """

    operators: int
    tasks: int
    edges_before: int
    edges_after: int
    bytes_before: float
    bytes_after: float
    steps_by_rule: dict[str, int]
    single: int
    largest: tuple[Task, ...]

    @property
    def text(self) -> str:
        """One sentence.

        >>> ContractionSummary(9, 4, 9, 4, 0.0, 0.0, {"direct": 3, "poset": 2}, 2, ()).text
        '9 operators became 4 tasks in 5 steps (3 by the direct rule, 2 by the poset rule).'
        """
        steps = sum(self.steps_by_rule.values())
        if not steps:
            return f"Nothing was merged: each of the {self.operators} operators is a task."
        by = ", ".join(f"{count} by the {rule} rule" for rule, count in self.steps_by_rule.items())
        became = "1 task" if self.tasks == 1 else f"{self.tasks} tasks"
        return f"{self.operators} operators became {became} in {steps} step{'s' * (steps > 1)} ({by})."


def summarize_contraction(contracted: ContractedGraph) -> ContractionSummary:
    """The figures of ``contracted``.

    >>> from nona.contraction.rules import contract
    >>> from nona.graph.model import Edge, ModelGraph, Operator
    >>> pair = ModelGraph("pair", (Operator("a"), Operator("b")), (Edge("a", "b", "t", 8.0),))
    >>> summarize_contraction(contract(pair)).text
    '2 operators became 1 task in 1 step (1 by the direct rule).'
    """
    graph = contracted.graph
    task_of = contracted.task_of
    before = {(e.source, e.tensor): e.size_bytes for e in graph.edges}
    after = {
        (e.source, e.tensor): e.size_bytes for e in graph.edges if task_of[e.source] != task_of[e.target]
    }
    return ContractionSummary(
        operators=len(graph.operators),
        tasks=len(contracted.tasks),
        edges_before=len({(e.source, e.target) for e in graph.edges}),
        edges_after=len(contracted.pair_bytes()),
        bytes_before=sum(before.values()),
        bytes_after=sum(after.values()),
        steps_by_rule=dict(sorted(Counter(s.rule for s in contracted.steps).items())),
        single=sum(len(t.operators) == 1 for t in contracted.tasks),
        largest=tuple(sorted(contracted.tasks, key=lambda t: (-len(t.operators), t.id))[:10]),
    )
