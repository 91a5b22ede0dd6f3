"""Playback: the graph after any number of contraction steps, forwards and backwards."""

from __future__ import annotations

from dataclasses import dataclass

from nona.contraction.assemble import assemble
from nona.contraction.contracted import ContractedGraph, Step
from nona.errors import GraphError
from nona.graph.text import quote


@dataclass(frozen=True, slots=True)
class StepView:
    """One step as it is shown: the operators of the two tasks that it merged."""

    step: Step
    source_operators: tuple[str, ...]
    target_operators: tuple[str, ...]


class Playback:
    """The states that a contraction passed through.

    State 0 has a task for every operator, state ``len(playback)`` is the result. The steps are
    replayed once, into a union-find forest whose links carry the number of their step and are
    never shortened; a state then needs no other, so going back is as cheap as going forward.
    Building takes O(n log n), a state O((n + m) log n).

    Raises
    ------
    GraphError
        When the steps do not fit the graph.

    Examples
    --------
    >>> from nona.contraction.rules import contract
    >>> from nona.graph.model import Edge, Operator, ModelGraph
    >>> edges = tuple(Edge(u, v, u + v, 8.0) for u, v in ("ab", "bc"))
    >>> film = Playback(contract(ModelGraph("chain", tuple(Operator(i) for i in "abc"), edges)))
    >>> [[t.operators for t in film.state(k).tasks] for k in range(len(film) + 1)]
    [[('a',), ('b',), ('c',)], [('a', 'b'), ('c',)], [('a', 'b', 'c')]]
    """

    def __init__(self, contracted: ContractedGraph) -> None:
        self.contracted = contracted
        count = len(contracted.graph.operators)
        self._parent = list(range(count))
        self._linked = [len(contracted.steps)] * count  # number of the step that gave the parent
        size = [1] * count
        first = list(range(count))
        for k, step in enumerate(contracted.steps):
            a, b = self._root(step.source, k), self._root(step.target, k)
            head = min(first[a], first[b])
            if a == b or contracted.graph.operators[head].id != step.into:
                raise _misfit(k, step)
            if size[a] < size[b]:
                a, b = b, a
            self._parent[b], self._linked[b] = a, k
            size[a] += size[b]
            first[a] = head

    def __len__(self) -> int:
        return len(self.contracted.steps)

    def groups(self, k: int) -> tuple[tuple[int, ...], ...]:
        """Operator indices of every task after ``k`` steps, ordered by first operator.

        Raises
        ------
        GraphError
            For a ``k`` that is not in 0…number of steps.
        """
        if not 0 <= k <= len(self):
            raise GraphError(
                f"Contraction of {quote(self.contracted.graph.name)}: there is no state {k}; "
                f"give a number from 0 to {len(self)}."
            )
        groups: dict[int, list[int]] = {}
        for operator in range(len(self._parent)):
            groups.setdefault(self._find(operator, k), []).append(operator)
        return tuple(tuple(g) for g in groups.values())

    def state(self, k: int) -> ContractedGraph:
        """The contracted graph after ``k`` steps, with these steps."""
        done = self.contracted
        return assemble(done.graph, done.rule, self.groups(k), done.steps[:k])

    def view(self, k: int) -> StepView:
        """Step ``k`` (from 0), with the operators that it brought together."""
        if not 0 <= k < len(self):
            raise GraphError(
                f"Contraction of {quote(self.contracted.graph.name)}: there is no step {k}; "
                f"it has {len(self)}, counted from 0."
            )
        ids = [o.id for o in self.contracted.graph.operators]
        members = {ids[g[0]]: g for g in self.groups(k)}
        step = self.contracted.steps[k]
        source, target = (tuple(ids[o] for o in members[t]) for t in (step.source, step.target))
        return StepView(step, source, target)

    def _root(self, task: str, k: int) -> int:
        """Root of the task that has this id before step ``k``."""
        operator = self.contracted.graph.index.get(task)
        if operator is None:
            raise _misfit(k, self.contracted.steps[k])
        return self._find(operator, k)

    def _find(self, operator: int, k: int) -> int:
        while self._linked[operator] < k:
            operator = self._parent[operator]
        return operator


def _misfit(k: int, step: Step) -> GraphError:
    return GraphError(
        f"Contraction step {k}: {quote(step.source)} and {quote(step.target)} do not merge into "
        f"{quote(step.into)} there; contract the graph again."
    )
