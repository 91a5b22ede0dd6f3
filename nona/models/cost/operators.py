"""The work of every operator of a model graph: FLOPs, MACs and bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace

from nona.models.cost.options import DEFAULT_OPTIONS, CostOptions
from nona.models.cost.rules import RULES, Launch
from nona.models.cost.site import Site, UnknownShapeError
from nona.models.graph.model import ModelGraph, Operator, StatedWork


@dataclass(frozen=True, slots=True)
class OperatorWork:
    """Work of one operator at the precision and batch in use, and whether it launches a kernel.

    ``dtype`` is the element type of its products: that of the first activation, else of the
    first weight. ``known`` tells whether the FLOPs could be counted.
    """

    work: StatedWork
    launch: Launch
    dtype: str | None
    known: bool = True


def operator_work(
    graph: ModelGraph, options: CostOptions = DEFAULT_OPTIONS
) -> tuple[tuple[OperatorWork, ...], tuple[str, ...]]:
    """Work of each operator in the order of ``graph.operators``, and warnings.

    An operator whose kind has no rule, or whose shapes are unknown, counts zero FLOPs and its
    bytes; a warning names each such kind and how many there are. Work stated in the file wins.

    >>> from nona.models.graph.model import Tensor
    >>> t = {n: Tensor(n, 4.0 * 6, (2, 3)) for n in ("x", "y")}
    >>> g = ModelGraph("g", (Operator("r", "Relu", ("x",), ("y",)),), (), t)
    >>> operator_work(g)[0][0].work.flops
    6.0
    """
    unknown: Counter[str] = Counter()
    shapeless: Counter[str] = Counter()
    works = _counted(graph, options, unknown, shapeless)
    return works, _warnings(unknown, shapeless)


def _counted(
    graph: ModelGraph, options: CostOptions, unknown: Counter[str], shapeless: Counter[str]
) -> tuple[OperatorWork, ...]:
    sizes = {name: t.size_bytes * options.width_scale(t) for name, t in graph.tensors.items()}
    works = []
    for operator in graph.operators:
        site = Site(operator, graph, sizes)
        work, launch, counted = _count(site, options, unknown, shapeless)
        works.append(OperatorWork(_batched(work, options.inputs), launch, _dtype(operator, graph), counted))
    return tuple(works)


@dataclass(frozen=True, slots=True)
class CountedBody:
    """A body of an operator with the work of its operators, and how many of each kind have none known."""

    graph: ModelGraph
    works: tuple[OperatorWork, ...]
    unknown: Counter[str]
    shapeless: Counter[str]


def heaviest_body(operator: Operator, options: CostOptions) -> CountedBody:
    """Count every body of an operator once; return the one with the most work."""
    bodies = []
    for graph in operator.bodies:
        unknown, shapeless = Counter[str](), Counter[str]()
        bodies.append(CountedBody(graph, _counted(graph, options, unknown, shapeless), unknown, shapeless))
    return max(bodies, key=lambda body: _sum(body.works).flops)


def _inside(
    operator: Operator, options: CostOptions, unknown: Counter[str], shapeless: Counter[str]
) -> tuple[StatedWork, Launch, bool]:
    if operator.turns == 0:
        return StatedWork(), "view", True
    body = heaviest_body(operator, replace(options, batch=1, members=1))
    unknown.update(body.unknown)
    shapeless.update(body.shapeless)
    counted = operator.turns is not None and all(w.known for w in body.works)
    return _sum(body.works, 1 if operator.turns is None else operator.turns), "kernel", counted


def _sum(works: Sequence[OperatorWork], turns: int = 1) -> StatedWork:
    return StatedWork(*(turns * sum(parts) for parts in zip(*(astuple(w.work) for w in works), strict=True)))


def _count(
    site: Site, options: CostOptions, unknown: Counter[str], shapeless: Counter[str]
) -> tuple[StatedWork, Launch, bool]:
    operator = site.operator
    rule = RULES.get(operator.kind)
    if operator.work is not None:
        return operator.work, "kernel", True
    if operator.bodies or operator.turns == 0:
        return _inside(operator, options, unknown, shapeless)
    if rule is None:
        if operator.compute_s is None:
            unknown[operator.kind] += 1
        return site.work(), "kernel", False
    try:
        work = rule.count(site)
    except (UnknownShapeError, IndexError):
        if operator.compute_s is None:
            shapeless[operator.kind] += 1
        return site.work(), rule.launch, False
    if rule.launch != "view" and not work.macs and site.handles_indices:
        return work, "host", True
    return work, rule.launch, True


def _batched(work: StatedWork, batch: int) -> StatedWork:
    if batch == 1:
        return work
    return StatedWork(
        work.flops * batch,
        work.macs * batch,
        work.read_bytes * batch,
        work.write_bytes * batch,
        work.weight_bytes,
    )


_QUANTISED = frozenset({"int8", "uint8", "int4", "uint4", "int2", "uint2", "float8e4m3fn", "float8e5m2"})
_FLOATS = frozenset({"float32", "float16", "bfloat16", "float64"})


def _dtype(operator: Operator, graph: ModelGraph) -> str | None:
    tensors = [graph.tensors[n] for n in operator.inputs if n in graph.tensors]
    tensors = [t for t in tensors if t.shape is not None]
    moving = [t for t in tensors if t.name not in graph.static and t.name not in graph.parameters]
    first = next((t.dtype for t in (*moving, *tensors)), None)
    if first in _QUANTISED:  # beside weights that are not, products run in the weights' type
        return next((t.dtype for t in tensors if len(t.shape or ()) > 1 and t.dtype in _FLOATS), first)
    return first


def _warnings(unknown: Counter[str], shapeless: Counter[str]) -> tuple[str, ...]:
    lines = [
        f"Operator kind {kind!r} has no rule: {n} {_operators(n)} counted with zero FLOPs and their bytes."
        for kind, n in sorted(unknown.items())
    ]
    lines += [
        f"Shapes of {n} {_operators(n)} of kind {kind!r} are unknown: counted with zero FLOPs."
        for kind, n in sorted(shapeless.items())
    ]
    return tuple(lines)


def _operators(count: int) -> str:
    return "operator" if count == 1 else "operators"
