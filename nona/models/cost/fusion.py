"""Which operators run as one kernel, and the bytes that a kernel moves.

An operator of launch ``kernel`` starts a kernel. Element-wise operators, rearrangements and views join the
kernel of the producer that ends last; without one they start their own (views: none). A software stack
that does not fuse runs every operator but views on its own. Attention (a product, softmax, a product) is one
kernel under every stack, and its scores never leave the chip (Dao et al. 2022): PyTorch, ONNX Runtime and
TensorRT have had such a kernel since 2023.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.models.cost.operators import OperatorWork
from nona.models.cost.options import KernelKind
from nona.models.graph.model import ModelGraph

_STRIDED = frozenset({"Transpose", "Slice", "Split", "Expand"})
"""What PyTorch does by other strides over the same memory."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Operators (by index, the first is the root) that run as one, and the bytes they move.

    ``launches`` is false for views and host work on their own: they cost nothing.
    ``outputs``: the operators whose results its SMs share out among them.
    """

    members: tuple[int, ...]
    launches: bool
    kind: KernelKind
    outputs: tuple[int, ...]
    weight_bytes: float
    activation_bytes: float

    @property
    def traffic_bytes(self) -> float:
        """Bytes in all."""
        return self.weight_bytes + self.activation_bytes


def fuse(
    graph: ModelGraph, works: Sequence[OperatorWork], sizes: Mapping[str, float], fuses: bool = True
) -> tuple[Kernel, ...]:
    """Return the kernels of a graph, ordered by root; every operator is in exactly one.

    ``works``: work and launch kind of each operator. ``sizes``: bytes of every tensor at the precision and
    batch in use. ``fuses``: true if the software stack fuses.

    >>> from nona.models.cost.operators import operator_work
    >>> from nona.models.graph.model import Edge, Operator, Tensor
    >>> shape = (1, 4, 8, 8)
    >>> g = ModelGraph(
    ...     "g",
    ...     (Operator("c", "MaxPool", ("x",), ("y",)), Operator("r", "Relu", ("y",), ("z",))),
    ...     (Edge("c", "r", "y", 1024.0),),
    ...     {n: Tensor(n, 1024.0, shape) for n in "xyz"},
    ... )
    >>> sizes = {n: 1024.0 for n in "xyz"}
    >>> (kernel,) = fuse(g, operator_work(g)[0], sizes)
    >>> kernel.members, kernel.launches, kernel.traffic_bytes
    ((0, 1), True, 2048.0)
    """
    roots, launching = _roots(graph, works, fuses)
    members: dict[int, list[int]] = {}
    for operator, root in enumerate(roots):
        members.setdefault(root, []).append(operator)
    traffic = _traffic(graph, works, sizes, roots)
    return tuple(_kernel(graph, works, r, m, r in launching, traffic[r]) for r, m in sorted(members.items()))


def _kernel(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    root: int,
    members: Sequence[int],
    launches: bool,
    traffic_bytes: float,
) -> Kernel:
    products = [i for i in members if works[i].work.macs]
    operator = graph.operators[root]
    kind: KernelKind = "product" if products else "other"
    if len(products) > 1 and any(graph.operators[i].kind == "Softmax" for i in members):
        kind, products = "attention", products[-1:]
    elif products and "Conv" in operator.kind:
        kind = "grouped" if operator.attributes.get("group", 1) != 1 else "convolution"
    weights = min(sum(works[i].work.weight_bytes for i in members), traffic_bytes)
    ordered = (root, *(i for i in members if i != root))
    return Kernel(ordered, launches, kind, tuple(products) or (root,), weights, traffic_bytes - weights)


def _roots(graph: ModelGraph, works: Sequence[OperatorWork], fuses: bool) -> tuple[list[int], set[int]]:
    """Return the root of each operator's kernel, and the roots that launch one."""
    given = _attention(graph, works)
    given |= _beside(graph, works) if fuses else _linear_biases(graph, works)
    roots: list[int] = []
    launching = set(given.values())
    for operator, work in enumerate(works):
        if operator in given:
            roots.append(given[operator])
            continue
        strided = not fuses and graph.operators[operator].kind in _STRIDED
        joins = work.launch == "view" or (work.launch == "fused" and fuses) or strided
        producers = [roots[p] for p in graph.dag.predecessors[operator] if roots[p] in launching]
        if joins and producers:
            roots.append(max(producers))
            continue
        roots.append(operator)
        if work.launch in ("kernel", "fused"):
            launching.add(operator)
    return roots, launching


def _beside(graph: ModelGraph, works: Sequence[OperatorWork]) -> dict[int, int]:
    """Products of one tensor with weights of their own, as queries, keys and values are → the first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for i, (operator, work) in enumerate(zip(graph.operators, works, strict=True)):
        if operator.kind in ("MatMul", "Gemm") and work.work.macs and work.work.weight_bytes:
            moving = [n for n in operator.inputs if n and n not in graph.static and n not in graph.parameters]
            if len(moving) == 1:
                groups.setdefault((operator.kind, moving[0]), []).append(i)
    return {i: group[0] for group in groups.values() if len(group) > 1 for i in group}


def _linear_biases(graph: ModelGraph, works: Sequence[OperatorWork]) -> dict[int, int]:
    """Map the addition of a bias to the product before it: PyTorch calls one kernel for both."""
    found: dict[int, int] = {}
    for i, operator in enumerate(graph.operators):
        before = graph.dag.predecessors[i]
        if operator.kind != "Add" or len(before) != 1 or graph.operators[before[0]].kind != "MatMul":
            continue
        if works[before[0]].work.weight_bytes and any(n in graph.parameters for n in operator.inputs):
            found |= {i: before[0], before[0]: before[0]}
    return found


def _attention(graph: ModelGraph, works: Sequence[OperatorWork]) -> dict[int, int]:
    """Members of each attention → its first product.

    Everything that reads the first product's scores, up to the second product, is inside; with it what only
    scales or rearranges its inputs.
    """
    found: dict[int, int] = {}
    for first, work in enumerate(works):
        inside = _between_products(graph, works, first) if _is_product(work) and first not in found else set()
        found |= dict.fromkeys(inside, first)
        front = sorted(inside)
        while front:
            for before in graph.dag.predecessors[front.pop()]:
                alone = len(graph.dag.successors[before]) == 1 == len(graph.dag.predecessors[before])
                if alone and before not in found and works[before].launch in ("fused", "view"):
                    found[before] = first
                    front.append(before)
    return found


def _between_products(graph: ModelGraph, works: Sequence[OperatorWork], first: int) -> set[int]:
    """Operators from this product to the next, where a softmax and else only views and such lie between."""
    inside, front, last = {first}, [first], set[int]()
    while front:
        for after in graph.dag.successors[front.pop()]:
            if _is_product(works[after]):
                last.add(after)
            elif graph.operators[after].kind != "Softmax" and works[after].launch not in ("fused", "view"):
                return set()
            elif after not in inside:
                inside.add(after)
                front.append(after)
    softmax = sum(graph.operators[i].kind == "Softmax" for i in inside)
    return inside | last if len(last) == softmax == 1 else set()


def _is_product(work: OperatorWork) -> bool:
    return work.work.macs > 0 and not work.work.weight_bytes


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
