"""A graph as the DAG view draws it: blocks, colours, edges by bytes, facts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from nona.app.models.dagview import SEQUENTIAL, STEPS, ColourMode, Drawing, Layout, Merge, ViewEdge, ViewNode
from nona.app.models.loading import LoadedModel
from nona.core.units import format_count, format_size, format_time
from nona.models.contraction.contracted import ContractedGraph
from nona.models.decomposition import Decomposition
from nona.models.graph.blocks import (
    MOST_PARTS,
    Block,
    BlockGraph,
    Modules,
    OpenModules,
    Path,
    block_graph,
    chain_paths,
    common_path,
    modules,
    scope_path,
    scope_paths,
    with_few_parts,
)
from nona.models.graph.dag import Dag
from nona.models.times_report import origin_text

T = TypeVar("T")
OTHER = 9
EXPANDED = 1500  # nodes that a browser still draws and moves without stuttering
PROVENANCE = ("measured", "calibrated", "modelled", "given")
SEARCHED = 50_000


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about every node (operator or task) of a graph, in node order.

    ``parts`` names the sub-graph or cut of each node by its number, −1 for cut tasks; ``tensors`` are
    (source, target, name, bytes); ``sizes`` how many operators each node has; ``tip`` makes a node's tooltip;
    ``servers`` names where each node runs, empty for cut tasks, and is empty where that is not known.
    """

    name: str
    what: str
    dag: Dag
    ids: tuple[str, ...]
    kinds: tuple[str, ...]
    times_s: tuple[float, ...]
    provenance: tuple[str, ...]
    parts: tuple[int, ...]
    tip: Callable[[int], str]
    tensors: tuple[tuple[int, int, str, float], ...]
    sizes: tuple[int, ...]
    servers: tuple[str, ...] = ()


def block_ids(facts: NodeFacts, graph: BlockGraph) -> tuple[str, ...]:
    """Return an id for every block: the node's own, or its module's, numbered if the module is in pieces."""
    seen: Counter[tuple[str, ...]] = Counter()
    ids = []
    for block in graph.blocks:
        if len(block.members) == 1:
            ids.append(facts.ids[block.members[0]])
            continue
        seen[block.path] += 1
        piece = f" ({seen[block.path]})" if seen[block.path] > 1 else ""
        ids.append(f"block:{'/'.join(block.path)}{piece}")
    return tuple(ids)


def graph_drawing(
    facts: NodeFacts,
    modules: Modules,
    cut: OpenModules,
    graph: BlockGraph,
    layouts: tuple[Layout, Layout],
    steps: Sequence[Merge] = (),
) -> Drawing:
    """Return the drawing of one cut of ``facts``; ``graph`` is the block graph of that cut.

    ``steps`` are numbered by nodes of ``facts``, and shown only where every node is by itself.
    """
    ways = (_by_kind, _by_time, _by_provenance, _by_part)
    if facts.servers:
        ways = (_by_server, _by_part, _by_time, _by_kind)
    elif facts.what == "tasks" or steps:
        ways = (_by_part, *ways[:-1])
    elif 2 * sum(_common(facts.kinds, b) is None for b in graph.blocks) > len(graph.blocks):
        ways = (_by_time, _by_kind, *ways[2:])  # most boxes hold several kinds: times tell more
    columns = [way(facts, graph) for way in ways]
    searched = len(facts.ids) <= SEARCHED
    nodes = []
    for number, (block, own) in enumerate(zip(graph.blocks, block_ids(facts, graph), strict=True)):
        tones = tuple(tone[number] for _, tone in columns)
        nodes.append(_node(facts, modules, cut, block, own, tones, searched))
    return Drawing(
        facts.name,
        tuple(nodes),
        tuple(_edges(facts, graph)),
        layouts,
        tuple(mode for mode, _ in columns),
        tuple(steps),
        facts.what,
        blocks=any(modules.paths) and not steps,
        expandable=len(facts.ids) <= EXPANDED,
    )


def enclosing(paths: Sequence[tuple[str, ...]], cut: OpenModules, block: Block) -> tuple[str, ...] | None:
    """Return the innermost open module around a block, or ``None``."""
    path = block.path[:-1] if block.path else paths[block.members[0]]
    for length in range(len(path), 0, -1):
        if cut.is_open(path[:length]):
            return path[:length]
    return None


def _node(
    facts: NodeFacts,
    modules: Modules,
    cut: OpenModules,
    block: Block,
    own: str,
    tones: tuple[int, ...],
    searched: bool,
) -> ViewNode:
    around = enclosing(modules.paths, cut, block) is not None
    if len(block.members) == 1:
        i = block.members[0]
        return ViewNode(own, _label(facts, i), facts.tip(i), tones, around=around)
    kinds = Counter(facts.kinds[i] for i in block.members).most_common(4)
    most = ", ".join(f"{n} × {kind}" for kind, n in kinds) + (" …" if len(kinds) == 4 else "")
    count = sum(facts.sizes[i] for i in block.members)
    seconds = sum(facts.times_s[i] for i in block.members)
    tip = f"{'.'.join(block.path)}\n{count:,} operators, {format_time(seconds)}\n{most}"
    inside = tuple(f"{facts.ids[i]} {facts.kinds[i]}" for i in block.members) if searched else ()
    return ViewNode(own, _module_label(block.path), tip, tones, count, inside, around)


def _label(facts: NodeFacts, i: int) -> str:
    if facts.what == "tasks" and facts.sizes[i] > 1:
        return f"{facts.sizes[i]} operators"
    return facts.ids[i] if len(set(facts.kinds)) == 1 else facts.kinds[i]  # one kind tells no two apart


def _module_label(path: tuple[str, ...]) -> str:
    """Return the last part of a path, with the one before it where it is only a number.

    >>> _module_label(("model", "layers", "3")), _module_label(("features", "denseblock1"))
    ('layers.3', 'denseblock1')
    """
    last = path[-1]
    return f"{path[-2]}.{last}" if len(path) > 1 and not last[0].isalpha() else last


def _edges(facts: NodeFacts, graph: BlockGraph) -> list[ViewEdge]:
    """One edge for each pair of blocks, with the bytes of the distinct tensors between them."""
    between: dict[tuple[int, int], dict[tuple[int, str], float]] = {}
    for source, target, tensor, size in facts.tensors:
        pair = graph.block_of[source], graph.block_of[target]
        if pair[0] != pair[1]:
            between.setdefault(pair, {})[source, tensor] = size
    sizes = {pair: sum(tensors.values()) for pair, tensors in between.items()}
    level = _levels([sizes.get(pair, 0.0) for pair in graph.dag.edges()])
    edges = []
    for (u, v), share in zip(graph.dag.edges(), level, strict=True):
        tensors = between.get((u, v), {})
        tip = f"{format_size(sizes.get((u, v), 0.0))} in {len(tensors)} tensor{'s' * (len(tensors) != 1)}"
        edges.append(ViewEdge(u, v, tip, round(share, 3)))
    return edges


def _levels(values: Sequence[float]) -> list[float]:
    """0…1 on a logarithmic scale from the smallest to the largest positive value.

    >>> _levels([1, 10, 100, 0])
    [0.0, 0.5, 1.0, 0.0]
    """
    positive = [v for v in values if v > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    if high <= low:
        return [0.5 if v > 0 else 0.0 for v in values]
    return [math.log(v / low) / math.log(high / low) if v > 0 else 0.0 for v in values]


def _kind_colours(kinds: Sequence[str]) -> dict[str, int]:
    """Return a colour for each of the nine most frequent kinds; the others share the last colour.

    >>> _kind_colours(["Conv", "Relu", "Conv"])
    {'Conv': 0, 'Relu': 1}
    """
    ordered = sorted(Counter(kinds).items(), key=lambda k: (-k[1], k[0]))
    return {kind: min(i, OTHER) for i, (kind, _) in enumerate(ordered)}


def _common(values: Sequence[T], block: Block) -> T | None:
    distinct = {values[i] for i in block.members}
    return distinct.pop() if len(distinct) == 1 else None


def _categories(
    name: str, graph: BlockGraph, values: Sequence[T], colours: Mapping[T, int], texts: Mapping[int, str]
) -> tuple[ColourMode, list[int]]:
    shared = [_common(values, b) for b in graph.blocks]
    tones = [OTHER if v is None else colours[v] for v in shared]
    legend = [(text, tone) for tone, text in sorted(texts.items()) if tone != OTHER and tone in tones]
    rest = (
        [texts[OTHER]]
        if OTHER in texts and any(v is not None and colours[v] == OTHER for v in shared)
        else []
    )
    rest += ["mixed blocks"] if None in shared else []
    if rest:
        legend.append((", ".join(rest), OTHER))
    return ColourMode(name, tuple(legend)), tones


def _by_kind(facts: NodeFacts, graph: BlockGraph) -> tuple[ColourMode, list[int]]:
    colours = _kind_colours(facts.kinds)
    texts = {tone: kind for kind, tone in colours.items() if tone != OTHER} | {OTHER: "other kinds"}
    return _categories("Kind", graph, facts.kinds, colours, texts)


def _by_provenance(facts: NodeFacts, graph: BlockGraph) -> tuple[ColourMode, list[int]]:
    colours = {p: i for i, p in enumerate(PROVENANCE)}
    return _categories("Provenance", graph, facts.provenance, colours, dict(enumerate(PROVENANCE)))


def _by_part(facts: NodeFacts, graph: BlockGraph) -> tuple[ColourMode, list[int]]:
    count = max(facts.parts, default=-1) + 1
    colours = {-1: OTHER} | {i: i % OTHER for i in range(count)}
    texts = {i: f"sub-graph {i + 1}" for i in range(min(count, 6))} | {OTHER: "always on one server"}
    if count > 6:
        texts[6] = f"… of {count} sub-graphs, colours repeat"
    return _categories("Sub-graph", graph, facts.parts, colours, texts)


def _by_server(facts: NodeFacts, graph: BlockGraph) -> tuple[ColourMode, list[int]]:
    names = sorted({name for name in facts.servers if name}, key=lambda name: (len(name), name))
    colours = {"": OTHER} | {name: i % OTHER for i, name in enumerate(names)}
    texts = dict(enumerate(names[:OTHER])) | {OTHER: "cut tasks, where sub-graphs meet"}
    return _categories("Server", graph, facts.servers, colours, texts)


def _by_time(facts: NodeFacts, graph: BlockGraph) -> tuple[ColourMode, list[int]]:
    times = [sum(facts.times_s[i] for i in b.members) for b in graph.blocks]
    tones = [SEQUENTIAL + min(STEPS - 1, int(STEPS * level)) for level in _levels(times)]
    positive = [t for t in times if t > 0] or [0.0]
    return ColourMode(
        "Time", scale=(format_time(min(positive)), f"{format_time(max(positive))} (log scale)")
    ), tones


def drawn_graph(facts: NodeFacts, modules: Modules, cut: OpenModules) -> BlockGraph:
    """Return the graph of boxes for the open blocks."""
    return block_graph(facts.dag, modules.paths, cut.is_open)


PLAYED = 1200  # operators that can be played all at once


def _subgraph_numbers(contracted: ContractedGraph, decomposition: Decomposition) -> list[int]:
    """Return the sub-graph number of each task, counted over those with an interior; −1 for cut tasks."""
    numbers = [-1] * len(contracted.tasks)
    for number, subgraph in enumerate(s for s in decomposition.subgraphs if s.interior):
        for task in subgraph.interior:
            numbers[task] = number
    return numbers


def operator_facts(loaded: LoadedModel) -> NodeFacts:
    """Return the names, kinds, times and edges of the operators."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    graph = contracted.graph
    number = _subgraph_numbers(contracted, loaded.prepared.decomposition)
    task = [contracted.index[contracted.task_of[o.id]] for o in graph.operators]

    def tip(i: int) -> str:
        c = costed.costs[i]
        moved = format_size(c.read_bytes + c.write_bytes)
        return (
            f"{c.id}\n{c.kind}: {format_count(c.flops, 'FLOP')}, {moved} moved\n"
            f"{format_time(c.compute_s)} ({origin_text(c, costed.device)})"
        )

    index = graph.index
    return NodeFacts(
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


def task_facts(loaded: LoadedModel) -> NodeFacts:
    """Facts of all tasks; a task's kind is that of its operators, or ``task`` where they differ."""
    contracted, costed = loaded.prepared.contracted, loaded.prepared.costed[0]
    index, where = contracted.index, contracted.graph.index
    task_costs = [[costed.costs[where[o]] for o in t.operators] for t in contracted.tasks]
    kinds, sources = (
        [{getattr(c, f) for c in costs} for costs in task_costs] for f in ("kind", "provenance")
    )
    times = contracted.sum_over_tasks(costed.compute_s)

    def tip(i: int) -> str:
        names = [c.id for c in task_costs[i]]
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        return f"{contracted.tasks[i].id}\n{len(names)} operators, {format_time(times[i])}\n{listed}"

    return NodeFacts(
        name=f"{contracted.graph.name} tasks",
        what="tasks",
        dag=contracted.dag,
        ids=tuple(t.id for t in contracted.tasks),
        kinds=tuple(min(k) if len(k) == 1 else "several kinds" for k in kinds),
        times_s=times,
        provenance=tuple(min(s) if len(s) == 1 else "several" for s in sources),
        parts=tuple(_subgraph_numbers(contracted, loaded.prepared.decomposition)),
        tip=tip,
        tensors=tuple((index[e.source], index[e.target], e.tensor, e.size_bytes) for e in contracted.edges),
        sizes=tuple(len(t.operators) for t in contracted.tasks),
    )


def operator_modules(loaded: LoadedModel) -> Modules:
    """Group the operators by their module paths."""
    graph = loaded.prepared.contracted.graph
    return modules(graph.dag, scope_paths(graph), MOST_PARTS)


def task_modules(loaded: LoadedModel) -> Modules:
    """Return the modules of the tasks: a task belongs to the module that all its operators share."""
    contracted = loaded.prepared.contracted
    own = dict(zip(contracted.graph.index, map(scope_path, contracted.graph.operators), strict=True))
    paths = [common_path([own[o] for o in t.operators]) for t in contracted.tasks]
    if not any(paths):
        paths = chain_paths(contracted.dag, [t.id for t in contracted.tasks])
    return modules(contracted.dag, with_few_parts(paths, MOST_PARTS), MOST_PARTS)


def playable_modules(nested: Modules) -> dict[Path, tuple[int, ...]]:
    """Modules small enough to be played, the outermost ones, with their operators."""
    members: dict[Path, list[int]] = {}
    for i, path in enumerate(nested.paths):
        for length in range(1, len(path) + 1):
            members.setdefault(path[:length], []).append(i)
    return {
        path: tuple(inside)
        for path, inside in members.items()
        if 1 < len(inside) <= PLAYED and (len(path) == 1 or len(members[path[:-1]]) > PLAYED)
    }


def part_of(facts: NodeFacts, members: Sequence[int], name: str) -> NodeFacts:
    """Return the facts of some nodes only, with the edges among them."""
    place = {i: k for k, i in enumerate(members)}
    arcs = ((place[u], place[v]) for u in members for v in facts.dag.successors[u] if v in place)
    return NodeFacts(
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
    """Return the contraction's steps as the view plays them.

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
