"""The DAG view's facts about a model: its operators, its tasks, the operators of one module."""

from __future__ import annotations

from collections.abc import Sequence

from nona.contraction.contracted import ContractedGraph
from nona.decomposition.subgraph import Decomposition
from nona.graph.dag import Dag
from nona.graph.structure.blocks import Modules, modules
from nona.graph.structure.scopes import (
    MOST_PARTS,
    Path,
    chain_paths,
    common_path,
    scope_path,
    scope_paths,
    with_few_parts,
)
from nona.report.inputs.given_times import origin_text
from nona.ui.graphs.data import Facts
from nona.ui.loaded.loading import Loaded
from nona.ui.widgets.dagview.dagview import Merge
from nona.units import format_count, format_size, format_time

PLAYED = 1200  # operators that can be played all at once


def subgraph_numbers(contracted: ContractedGraph, decomposition: Decomposition) -> list[int]:
    """For every task the number of its sub-graph, counted over those with an interior; −1 for cut tasks."""
    found = [-1] * len(contracted.tasks)
    for number, subgraph in enumerate(s for s in decomposition.subgraphs if s.interior):
        for task in subgraph.interior:
            found[task] = number
    return found


def operator_facts(loaded: Loaded) -> Facts:
    """Facts of all operators."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    graph = contracted.graph
    number = subgraph_numbers(contracted, loaded.prepared.decomposition)
    task = [contracted.index[contracted.task_of[o.id]] for o in graph.operators]

    def tip(i: int) -> str:
        c = costed.costs[i]
        moved = format_size(c.read_bytes + c.write_bytes)
        return (
            f"{c.id}\n{c.kind}: {format_count(c.flops, 'FLOP')}, {moved} moved\n"
            f"{format_time(c.compute_s)} ({origin_text(c, costed.device)})"
        )

    index = graph.index
    return Facts(
        name=graph.name,
        what="operators",
        dag=graph.dag,
        ids=tuple(o.id for o in graph.operators),
        kinds=tuple(o.kind for o in graph.operators),
        times_s=costed.compute_s,
        provenance=tuple(c.provenance for c in costed.costs),
        parts=tuple(number[t] for t in task),
        tip=tip,
        tensors=tuple((index[e.source], index[e.target], e.tensor, e.size_bytes) for e in graph.edges),
        sizes=(1,) * len(task),
    )


def task_facts(loaded: Loaded) -> Facts:
    """Facts of all tasks; a task's kind is that of its operators, or ``task`` where they differ."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    index, where = contracted.index, contracted.graph.index
    held = [[costed.costs[where[o]] for o in t.operators] for t in contracted.tasks]
    kinds, sources = ([{getattr(c, f) for c in costs} for costs in held] for f in ("kind", "provenance"))
    times = contracted.sum_over_tasks(costed.compute_s)

    def tip(i: int) -> str:
        names = [c.id for c in held[i]]
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        return f"{contracted.tasks[i].id}\n{len(names)} operators, {format_time(times[i])}\n{listed}"

    return Facts(
        name=f"{contracted.graph.name} tasks",
        what="tasks",
        dag=contracted.dag,
        ids=tuple(t.id for t in contracted.tasks),
        kinds=tuple(min(k) if len(k) == 1 else "several kinds" for k in kinds),
        times_s=times,
        provenance=tuple(min(s) if len(s) == 1 else "several" for s in sources),
        parts=tuple(subgraph_numbers(contracted, loaded.prepared.decomposition)),
        tip=tip,
        tensors=tuple((index[e.source], index[e.target], e.tensor, e.size_bytes) for e in contracted.edges),
        sizes=tuple(len(t.operators) for t in contracted.tasks),
    )


def operator_modules(loaded: Loaded) -> Modules:
    """How the operators fall into modules."""
    graph = loaded.prepared.contracted.graph
    return modules(graph.dag, scope_paths(graph), MOST_PARTS)


def task_modules(loaded: Loaded) -> Modules:
    """How the tasks fall into modules: a task belongs to the module that all its operators share."""
    contracted = loaded.prepared.contracted
    own = dict(zip(contracted.graph.index, map(scope_path, contracted.graph.operators), strict=True))
    paths = [common_path([own[o] for o in t.operators]) for t in contracted.tasks]
    if not any(paths):
        paths = chain_paths(contracted.dag, [t.id for t in contracted.tasks])
    return modules(contracted.dag, with_few_parts(paths, MOST_PARTS), MOST_PARTS)


def playable_modules(found: Modules) -> dict[Path, tuple[int, ...]]:
    """Modules small enough to be played, the outermost ones, with their operators."""
    members: dict[Path, list[int]] = {}
    for i, path in enumerate(found.paths):
        for length in range(1, len(path) + 1):
            members.setdefault(path[:length], []).append(i)
    return {
        path: tuple(inside)
        for path, inside in members.items()
        if 1 < len(inside) <= PLAYED and (len(path) == 1 or len(members[path[:-1]]) > PLAYED)
    }


def part_of(facts: Facts, members: Sequence[int], name: str) -> Facts:
    """The facts of some nodes only, with the edges among them."""
    place = {i: k for k, i in enumerate(members)}
    arcs = ((place[u], place[v]) for u in members for v in facts.dag.successors[u] if v in place)
    return Facts(
        name=f"{facts.name} {name}",
        what=facts.what,
        dag=Dag.from_edges(len(members), arcs),
        ids=tuple(facts.ids[i] for i in members),
        kinds=tuple(facts.kinds[i] for i in members),
        times_s=tuple(facts.times_s[i] for i in members),
        provenance=tuple(facts.provenance[i] for i in members),
        parts=tuple(facts.parts[i] for i in members),
        tip=lambda k: facts.tip(members[k]),
        tensors=tuple(
            (place[u], place[v], tensor, size)
            for u, v, tensor, size in facts.tensors
            if u in place and v in place
        ),
        sizes=tuple(facts.sizes[i] for i in members),
    )


def merges(contracted: ContractedGraph, members: Sequence[int] | None = None) -> list[Merge]:
    """The contraction's steps as the view plays them.

    With ``members`` only those steps that swallow an edge between two of them, numbered by their places;
    what stays outside does not change which of them end in one task through such edges.
    """
    graph = contracted.graph
    if members is None:
        ends = [(graph.index[s.into], graph.index[s.target], s) for s in contracted.steps]
    else:
        place = {graph.operators[i].id: k for k, i in enumerate(members)}
        ends = [
            (place[s.edge[0]], place[s.edge[1]], s) for s in contracted.steps if set(s.edge) <= place.keys()
        ]
    return [Merge(a, b, _why(s.reason, s.rule)) for a, b, s in ends]


def _why(reason: str, rule: str) -> str:
    return f"Allowed by the {rule} rule: {reason}" if rule else reason
