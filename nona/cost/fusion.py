"""Which operators share a kernel, and the bytes that each kernel moves.

Rule: an operator of launch ``kernel`` starts a kernel. Element-wise operators, rearrangements and
views join the kernel of the producer that ends last; without one they start their own (views:
none). Every kernel so reads only from itself and from kernels that start before it: no cycle
arises. A software stack that does not fuse runs every operator but views on its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.cost.operators import OperatorWork
from nona.graph.model import ModelGraph


@dataclass(frozen=True, slots=True)
class Kernel:
    """Operators (by index, the first is the root) that run as one, and the bytes they move.

    ``launches`` is false for views and host work on their own: they cost nothing.
    """

    members: tuple[int, ...]
    launches: bool
    traffic_bytes: float


def fuse(
    graph: ModelGraph, works: Sequence[OperatorWork], sizes: Mapping[str, float], fuses: bool = True
) -> tuple[Kernel, ...]:
    """The kernels of a graph, ordered by root; every operator is in exactly one.

    Parameters
    ----------
    works
        Work and launch kind of each operator.
    sizes
        Bytes of every tensor at the precision and batch in use.
    fuses
        Whether the software stack fuses.

    Examples
    --------
    >>> from nona.cost.operators import operator_work
    >>> from nona.graph.model import Edge, Operator, Tensor
    >>> shape = (1, 4, 8, 8)
    >>> g = ModelGraph(
    ...     "g",
    ...     (Operator("c", "MaxPool", ("x",), ("y",)), Operator("r", "Relu", ("y",), ("z",))),
    ...     (Edge("c", "r", "y", 1024.0),),
    ...     {n: Tensor(n, 1024.0, shape) for n in "xyz"},
    ... )
    >>> sizes = {n: 1024.0 for n in "xyz"}
    >>> fuse(g, operator_work(g)[0], sizes)
    (Kernel(members=(0, 1), launches=True, traffic_bytes=2048.0),)
    """
    roots, launching = _roots(graph, works, fuses)
    members: dict[int, list[int]] = {}
    for operator, root in enumerate(roots):
        members.setdefault(root, []).append(operator)
    traffic = _traffic(graph, works, sizes, roots)
    return tuple(Kernel(tuple(m), r in launching, traffic[r]) for r, m in sorted(members.items()))


def _roots(graph: ModelGraph, works: Sequence[OperatorWork], fuses: bool) -> tuple[list[int], set[int]]:
    """The root of each operator's kernel, and the roots that launch one."""
    roots: list[int] = []
    launching: set[int] = set()
    for operator, work in enumerate(works):
        joins = work.launch == "view" or (work.launch == "fused" and fuses)
        producers = [roots[p] for p in graph.dag.predecessors[operator] if roots[p] in launching]
        if joins and producers:
            roots.append(max(producers))
            continue
        roots.append(operator)
        if work.launch in ("kernel", "fused"):
            launching.add(operator)
    return roots, launching


def _traffic(
    graph: ModelGraph, works: Sequence[OperatorWork], sizes: Mapping[str, float], roots: Sequence[int]
) -> dict[int, float]:
    """Bytes per kernel: those of its operators, less what never leaves the kernel.

    A tensor that is made and read inside one kernel is not read from memory; it is not written
    either when nobody outside reads it. A tensor that several members read is read once.
    """
    alias = _aliases(graph, works)
    maker = {t: i for i, o in enumerate(graph.operators) for t in o.outputs if t and alias.get(t, t) == t}
    total = dict.fromkeys(roots, 0.0)
    readers: dict[str, set[int]] = {}
    loaded: set[tuple[int, str]] = set()
    for i, (operator, work) in enumerate(zip(graph.operators, works, strict=True)):
        done = work.work
        total[roots[i]] += done.read_bytes + done.write_bytes + done.weight_bytes
        if work.launch == "view":
            continue
        limit = done.read_bytes
        for name in (alias.get(n, n) for n in dict.fromkeys(operator.inputs) if n):
            readers.setdefault(name, set()).add(roots[i])
            inside = name in maker and roots[maker[name]] == roots[i]
            if name in graph.static or name in graph.parameters:
                continue
            if inside or (roots[i], name) in loaded:
                saved = min(sizes.get(name, 0.0), limit)
                limit -= saved
                total[roots[i]] -= saved
            loaded.add((roots[i], name))
    for name, i in maker.items():
        if readers.get(name) == {roots[i]}:
            total[roots[i]] -= min(sizes.get(name, 0.0), works[i].work.write_bytes)
    return {root: max(bytes_, 0.0) for root, bytes_ in total.items()}


def _aliases(graph: ModelGraph, works: Sequence[OperatorWork]) -> dict[str, str]:
    """Output of a view → the tensor whose memory it is."""
    alias: dict[str, str] = {}
    for operator, work in zip(graph.operators, works, strict=True):
        if work.launch == "view" and operator.inputs and operator.outputs:
            source = operator.inputs[0]
            alias[operator.outputs[0]] = alias.get(source, source)
    return alias
