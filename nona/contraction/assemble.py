"""Make a contracted graph of groups of operators."""

from __future__ import annotations

from collections.abc import Sequence

from nona.contraction.contracted import ContractedGraph, Step, Task, TaskEdge
from nona.graph.model import ModelGraph


def assemble(
    graph: ModelGraph, rule: str, groups: Sequence[Sequence[int]], steps: Sequence[Step]
) -> ContractedGraph:
    """The contracted graph whose tasks are ``groups``.

    Parameters
    ----------
    graph
        The model graph.
    rule
        Name of the rule that made the groups.
    groups
        A partition of the operator indices; each group in increasing order, the groups ordered by
        their first operator. That is a topological order of the tasks under every rule here: the
        first operator of a task has all the task's ancestors as its own.
    steps
        The merges that led from single operators to the groups.
    """
    ids = [o.id for o in graph.operators]
    place = [0] * len(ids)
    for i, group in enumerate(groups):
        for operator in group:
            place[operator] = i
    tasks = tuple(Task(ids[group[0]], tuple(ids[o] for o in group)) for group in groups)
    return ContractedGraph(graph, rule, tasks, _edges(graph, tasks, place), tuple(steps))


def _edges(graph: ModelGraph, tasks: Sequence[Task], place: Sequence[int]) -> tuple[TaskEdge, ...]:
    """One edge for each (source task, target task, tensor) with different ends."""
    index = graph.index
    sizes: dict[tuple[int, int, str], float] = {}
    for edge in graph.edges:
        source, target = place[index[edge.source]], place[index[edge.target]]
        if source != target:
            key = (source, target, edge.tensor)
            sizes[key] = max(sizes.get(key, 0.0), edge.size_bytes)
    return tuple(TaskEdge(tasks[s].id, tasks[t].id, name, sizes[s, t, name]) for s, t, name in sorted(sizes))
