"""Module scopes: the path of modules that every operator belongs to, such as layer1 → 0 → conv1.

Exporters write the module of an operator into its name, ``layer1.0/conv1/Conv_12``. A drawing of a
large graph shows modules in place of operators, so no module may hold too many parts at once: where
one does, or where names say nothing, parts that follow one another are put together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from nona.graph.dag import Dag
from nona.graph.model import ModelGraph, Operator

Path = tuple[str, ...]
MOST_PARTS = 400
_DEEPEST = 12
_PARTS = re.compile(r"[/.]")


def scope_path(operator: Operator) -> Path:
    """The modules around an operator, outermost first; empty where nothing names them.

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
    """The path of every operator, in which no module holds more than ``most`` parts.

    Where no operator has a scope, the operators of a chain (each the only consumer of the one
    before, and that its only input) count as a module of their own.

    >>> from nona.graph.model import Edge
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
    """The modules that all of several operators share.

    >>> common_path([("a", "b", "c"), ("a", "b"), ("a", "b", "d")])
    ('a', 'b')
    """
    first, last = min(paths), max(paths)
    shared = 0
    while shared < min(len(first), len(last)) and first[shared] == last[shared]:
        shared += 1
    return first[:shared]


def chain_paths(dag: Dag, names: Sequence[str]) -> list[Path]:
    """A path for every node of a chain of two or more, named after its ends; none for the others."""
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
    """Whether a node is the only consumer of its only input."""
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
    """The same paths, with a level of runs wherever a module holds more than ``most`` parts.

    A part is a module inside, or an operator of the module's own. A module that holds one module and
    nothing else is written together with it.

    >>> with_few_parts([("h", "0", "ln"), ("h", "1", "ln"), ("h", "1", "mlp")])
    (('h', '0.ln'), ('h', '1', 'ln'), ('h', '1', 'mlp'))
    >>> with_few_parts([(str(i),) for i in range(5)], 4)[0]
    ('0 … 4', '0')
    """
    made: list[list[str]] = [[] for _ in paths]
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
                        made[i].append(name)
        for name, inside, is_module in parts:
            if is_module:
                below = depth + 1
                while len(only := _parts(paths, inside, below)) == 1 and only[0][2]:
                    name, below = f"{name}.{only[0][0]}", below + 1
                for i in inside:
                    made[i].append(name)
                waiting.append((inside, below))
    return tuple(map(tuple, made))


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
