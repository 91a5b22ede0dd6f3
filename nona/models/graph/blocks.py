"""Modules of a model, and the graph drawn by its modules, some shut, some open.

Exporters write the module of an operator into its name, ``layer1.0/conv1/Conv_12``. A drawing of a
large graph shows modules in place of operators, so no module may hold too many parts at once: where
one does, or where names say nothing, parts that follow one another are put together.

A module need not be convex: a path may leave it and come back, and the box in its place would then
wait for itself. Such a module is split, first into the pieces that hang together, then by stages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from nona.models.graph.dag import Dag, strongly_connected_components
from nona.models.graph.model import ModelGraph, Operator

Path = tuple[str, ...]
MOST_PARTS = 400
_DEEPEST = 12
_PARTS = re.compile(r"[/.]")


def scope_path(operator: Operator) -> Path:
    """Return the modules around an operator, outermost first; empty where nothing names them.

    >>> scope_path(Operator("/model/layers.3/MatMul", scope="model/layers.3"))
    ('model', 'layers', '3')
    >>> [scope_path(Operator(name)) for name in ("encoder/block.0/add", "add_3", "3.5")]
    [('encoder', 'block', '0'), (), ()]
    """
    scope = operator.scope
    if not scope:
        name = operator.id.strip("/")
        scope = name.rpartition("/" if "/" in name else ".")[0]
        if not any(c.isalpha() for c in scope):
            return ()
    parts = tuple(p for p in _PARTS.split(scope) if p)
    return parts if len(parts) <= _DEEPEST else (*parts[: _DEEPEST - 1], ".".join(parts[_DEEPEST - 1 :]))


def scope_paths(graph: ModelGraph, most: int = MOST_PARTS) -> tuple[Path, ...]:
    """Return the path of every operator, in which no module holds more than ``most`` parts.

    Where no operator has a scope, the operators of a chain (each the only consumer of the one
    before, and that its only input) count as a module of their own.

    >>> from nona.models.graph.model import Edge
    >>> arcs = [("a", "b"), ("b", "c"), ("a", "d")]
    >>> graph = ModelGraph("g", tuple(map(Operator, "abcd")), tuple(Edge(*a, "t", 1.0) for a in arcs))
    >>> scope_paths(graph)
    ((), ('b … c',), ('b … c',), ())
    """
    paths = [scope_path(o) for o in graph.operators]
    if not any(paths):
        paths = chain_paths(graph.dag, [o.id for o in graph.operators])
    return with_few_parts(paths, most)


def common_path(paths: Sequence[Path]) -> Path:
    """Return the modules that all of several operators share.

    >>> common_path([("a", "b", "c"), ("a", "b"), ("a", "b", "d")])
    ('a', 'b')
    """
    first, last = min(paths), max(paths)
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    return first[:shared]


def chain_paths(dag: Dag, names: Sequence[str]) -> list[Path]:
    """Return a path for every node of a chain of two or more, named after its ends; none for the others."""
    paths: list[Path] = [()] * len(dag)
    for start in range(len(dag)):
        if _follows_alone(dag, start):
            continue
        chain = [start]
        while len(dag.successors[chain[-1]]) == 1 and _follows_alone(dag, dag.successors[chain[-1]][0]):
            chain.append(dag.successors[chain[-1]][0])
        if len(chain) > 1:
            for node in chain:
                paths[node] = (f"{names[chain[0]]} … {names[chain[-1]]}",)
    return paths


def _follows_alone(dag: Dag, node: int) -> bool:
    before = dag.predecessors[node]
    return len(before) == 1 and len(dag.successors[before[0]]) == 1


def run_paths(count: int, most: int = MOST_PARTS) -> tuple[Path, ...]:
    """Paths by place in the order alone: runs of neighbours, a quarter of ``most`` at the most.

    >>> run_paths(5, 8)[2:4]
    (('operators 1 … 3',), ('operators 4 … 5',))
    """
    length = -(-count // max(1, most // 4))
    return tuple(
        (f"operators {first + 1} … {min(first + length, count)}",)
        for first in (i // length * length for i in range(count))
    )


def with_few_parts(paths: Sequence[Path], most: int = MOST_PARTS) -> tuple[Path, ...]:
    """Return the same paths, with a level of runs wherever a module holds more than ``most`` parts.

    A part is a module inside, or an operator of the module's own. A module that holds one module and
    nothing else is written together with it.

    >>> with_few_parts([("h", "0", "ln"), ("h", "1", "ln"), ("h", "1", "mlp")])
    (('h', '0.ln'), ('h', '1', 'ln'), ('h', '1', 'mlp'))
    >>> with_few_parts([(str(i),) for i in range(5)], 4)[0]
    ('0 … 4', '0')
    """
    groups: list[list[str]] = [[] for _ in paths]
    waiting = [(list(range(len(paths))), 0)]
    while waiting:
        members, depth = waiting.pop()
        parts = _parts(paths, members, depth)
        if len(parts) > most:
            length = -(-len(parts) // max(1, most // 4))
            for first in range(0, len(parts), length):
                run = parts[first : first + length]
                name = run[0][0] if len(run) == 1 else f"{run[0][0]} … {run[-1][0]}"
                for _, inside, _ in run:
                    for i in inside:
                        groups[i].append(name)
        for name, inside, is_module in parts:
            if is_module:
                below = depth + 1
                while len(only := _parts(paths, inside, below)) == 1 and only[0][2]:
                    name, below = f"{name}.{only[0][0]}", below + 1
                for i in inside:
                    groups[i].append(name)
                waiting.append((inside, below))
    return tuple(map(tuple, groups))


def _parts(paths: Sequence[Path], members: Sequence[int], depth: int) -> list[tuple[str, list[int], bool]]:
    """Name, members and whether it is a module: the parts of a module, in the order of first members."""
    modules: dict[str, list[int]] = {}
    parts: list[tuple[str, list[int], bool]] = []
    for i in members:
        if len(paths[i]) <= depth:
            parts.append((f"#{i + 1}", [i], False))
            continue
        name = paths[i][depth]
        if name not in modules:
            modules[name] = []
            parts.append((name, modules[name], True))
        modules[name].append(i)
    return parts


FEWEST = 5


@dataclass(frozen=True, slots=True)
class Block:
    """A box of the drawing: a single node, or the nodes of a shut module (or a piece of one).

    ``path`` is that of the shut module; a single node has none of its own.
    """

    path: Path
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BlockGraph:
    """Blocks in the order of their first members; every node is in exactly one; ``dag`` is acyclic."""

    blocks: tuple[Block, ...]
    block_of: tuple[int, ...]
    dag: Dag


@dataclass(frozen=True, slots=True)
class OpenModules:
    """The open modules: those above ``depth``, except the ``shut``, and the ``opened`` ones.

    >>> cut = OpenModules(2).open(("a", "b"))
    >>> cut.is_open(("a",)), cut.is_open(("a", "b")), cut.is_open(("a", "c"))
    (True, True, False)
    >>> cut.shut_module(("a",)).is_open(("a",))
    False
    """

    depth: int
    opened: frozenset[Path] = frozenset()
    shut: frozenset[Path] = frozenset()

    def is_open(self, path: Path) -> bool:
        """Return whether the module's parts are drawn in place of itself."""
        return path in self.opened or (path not in self.shut and len(path) < self.depth)

    def open(self, path: Path) -> OpenModules:
        """Return the same with one more module open."""
        return replace(self, opened=self.opened | {path}, shut=self.shut - {path})

    def shut_module(self, path: Path) -> OpenModules:
        """Return the same with one module shut, and all within it as it was at first."""
        kept = frozenset(p for p in self.opened if p[: len(path)] != path)
        return replace(self, opened=kept, shut=self.shut | {path})


def block_graph(dag: Dag, paths: Sequence[Path], is_open: Callable[[Path], bool]) -> BlockGraph:
    """Draw ``dag`` with the modules that are open drawn by their parts. O(depth · (n + m)).

    ``dag``: nodes in a topological order: every arc leads from a lower number to a higher one. ``paths``: the
    modules of every node, see :mod:`nona.models.graph.blocks`.

    >>> chain = Dag.from_edges(3, [(0, 1), (1, 2)])
    >>> [b.members for b in block_graph(chain, [("a",), ("b",), ("b",)], lambda p: False).blocks]
    [(0,), (1, 2)]
    >>> [b.members for b in block_graph(chain, [("a",), ("b",), ("a",)], lambda p: False).blocks]
    [(0,), (1,), (2,)]
    """
    numbers: dict[Path, int] = {}
    labels, owner = [], []
    for i, path in enumerate(paths):
        shut = _shut(path, is_open)
        labels.append(len(numbers) if shut is None else numbers.setdefault(shut, len(numbers)))
        if shut is None:
            numbers["", str(i)] = labels[-1]
        owner.append(shut or ())
    return _numbered(dag, _without_cycles(dag, labels), owner)


def _shut(path: Path, is_open: Callable[[Path], bool]) -> Path | None:
    """Return the outermost module of ``path`` that is shut; ``None`` when all are open."""
    for length in range(1, len(path) + 1):
        if not is_open(path[:length]):
            return path[:length]
    return None


def _numbered(dag: Dag, labels: Sequence[int], owner: Sequence[Path]) -> BlockGraph:
    members: dict[int, list[int]] = {}
    for i, label in enumerate(labels):
        members.setdefault(label, []).append(i)
    place = {label: k for k, label in enumerate(members)}
    block_of = tuple(place[label] for label in labels)
    blocks = tuple(Block(owner[m[0]] if len(m) > 1 else (), tuple(m)) for m in members.values())
    return BlockGraph(blocks, block_of, _quotient(dag, block_of, len(blocks)))


def _quotient(dag: Dag, labels: Sequence[int], count: int) -> Dag:
    pairs = ((labels[u], labels[v]) for u, v in dag.edges() if labels[u] != labels[v])
    return Dag.from_edges(count, pairs, dag.name)


def _without_cycles(dag: Dag, labels: list[int]) -> list[int]:
    """Labels of which no two wait for each other, each within one of the labels given."""
    for split in (_pieces, _stages):
        components = strongly_connected_components(_quotient(dag, labels, max(labels) + 1))
        if not components:
            return labels
        labels = _compact(split(dag, labels, components))
    return labels


def _compact(labels: Sequence[object]) -> list[int]:
    seen: dict[object, int] = {}
    return [seen.setdefault(label, len(seen)) for label in labels]


def _pieces(dag: Dag, labels: Sequence[int], components: dict[int, int]) -> list[object]:
    """Every label in a cyclic component split into the pieces that hang together."""
    root = list(range(len(labels)))

    def find(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for u, v in dag.edges():
        if labels[u] == labels[v]:
            root[find(v)] = find(u)
    return [(label, find(i)) if label in components else label for i, label in enumerate(labels)]


def _stages(dag: Dag, labels: Sequence[int], components: dict[int, int]) -> list[object]:
    """Every label in a cyclic component split so that stages grow along every arc within it.

    A node goes into the last stage of its label if that is late enough, else it starts a new one. An
    arc between two labels leads to a later stage, one within a label never to an earlier one; so no
    cycle is left among (label, stage).
    """
    stage, last = [0] * len(labels), dict.fromkeys(components, -1)
    for v, label in enumerate(labels):  # the numbers are a topological order
        if label not in components:
            continue
        for u in dag.predecessors[v]:
            if components.get(labels[u]) == components[label]:
                stage[v] = max(stage[v], stage[u] + (labels[u] != label))
        stage[v] = last[label] = max(stage[v], last[label])
    return [(label, stage[i]) if label in components else label for i, label in enumerate(labels)]


@dataclass(frozen=True, slots=True)
class Modules:
    """The ways to draw a graph: the paths to go by, and the cuts for a first look and for the shortest."""

    paths: tuple[Path, ...]
    usual: OpenModules
    shortest: OpenModules


def modules(dag: Dag, paths: Sequence[Path], most: int) -> Modules:
    """Return the deepest cut with at most ``most`` blocks, and the shortest that still shows something.

    Where modules are so tangled that no depth keeps to ``most``, runs of neighbours take their place.

    >>> found = modules(Dag.from_edges(4, [(0, 1), (1, 2), (2, 3)]), [("a",), ("a",), ("b",), ("b",)], 2)
    >>> found.usual.depth, found.shortest.depth
    (1, 1)
    """
    for tried in (tuple(paths), run_paths(len(dag), most)):
        sizes = {}
        for depth in range(1, max(map(len, tried), default=0) + 2):
            if _count(tried, depth) > most:
                break
            sizes[depth] = len(block_graph(dag, tried, OpenModules(depth).is_open).blocks)
        fits = [depth for depth, size in sizes.items() if size <= most]
        if fits:
            usual = max(fits)
            enough = [depth for depth in fits if sizes[depth] >= FEWEST]
            return Modules(tried, OpenModules(usual), OpenModules(min(enough, default=usual)))
    return Modules(run_paths(len(dag), most), OpenModules(1), OpenModules(1))


def _count(paths: Sequence[Path], depth: int) -> int:
    """Blocks at a depth before any is split."""
    shut = {p[:depth] for p in paths if len(p) >= depth}
    return len(shut) + sum(len(p) < depth for p in paths)
