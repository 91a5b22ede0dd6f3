"""Costing: a model graph on an executor class → fused kernels, seconds and bytes.

Rule: an operator of launch ``kernel`` starts a kernel. Element-wise operators, rearrangements and
views join the kernel of the producer that ends last; without one they start their own (views:
none). Every kernel so reads only from itself and from kernels that start before it: no cycle
arises. A software stack that does not fuse runs every operator but views on its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nona.cluster.hardware.device import Device, Precision
from nona.cluster.hardware.executor import ExecutorClass
from nona.models.cost.costed import CostedGraph, OperatorCost, Provenance
from nona.models.cost.measured import MeasuredTable
from nona.models.cost.operators import OperatorWork, heaviest_body, operator_work
from nona.models.cost.options import (
    AS_IN_FILE,
    DEFAULT_OPTIONS,
    CostOptions,
    has_bfloat16,
    stacks,
    tensor_scale,
)
from nona.models.cost.roofline import Roofline
from nona.models.cost.stated import Stated, bound_of, carried, measured_warnings, stated_times, whole_model_s
from nona.models.graph.model import ModelGraph


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
    """Return the root of each operator's kernel, and the roots that launch one."""
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


def cost_graph(
    graph: ModelGraph,
    executor: ExecutorClass,
    options: CostOptions = DEFAULT_OPTIONS,
    measured: MeasuredTable | None = None,
    own: Mapping[str, Device] | None = None,
) -> CostedGraph:
    """Cost every operator of a model on one executor class.

    Parameters
    ----------
    graph : ModelGraph
        The model.
    executor : ExecutorClass
        The GPU, slice or client that runs it.
    options : CostOptions, optional
        Software stack, precision and batch.
    measured : MeasuredTable, optional
        Measured times, which replace modelled ones.
    own : mapping of str to Device, optional
        The user's devices, for which a file may give times.

    Returns
    -------
    CostedGraph
        The time (s) of each operator with its provenance, and warnings.

    Raises
    ------
    CostError
        If an operator has times for unknown devices only and its work is unknown.

    Notes
    -----
    A fused kernel takes t₀ + max(F/(e_c·P), Q/(e_m·B)) once. Its root bears t₀. The rest is shared among its
    operators in proportion to the time that each would take alone without overhead. So the operators' times
    add up to the kernels'. Stated times replace modelled ones (:mod:`nona.models.cost.stated`).

    Examples
    --------
    >>> from nona.models.graph.model import Operator
    >>> from nona.cluster.hardware.executor import executor_class
    >>> graph = ModelGraph("g", (Operator("a", compute_s={"*": 0.002}),), ())
    >>> cost_graph(graph, executor_class("t4")).costs[0].compute_s
    0.002
    """
    works, warnings = operator_work(graph, options)
    stated = stated_times(graph, works, executor, options, measured, own)
    times, provenance = _times(graph, works, executor, options, stated)
    total = whole_model_s(graph, executor, options, measured)
    if total is not None:
        total_s, inputs = total
        if inputs != options.inputs:
            modelled, there = (
                sum(_modelled_at(graph, works, executor, options, n)) for n in (options.inputs, inputs)
            )
            total_s *= modelled / there if there > 0 else 1.0
        _fit_total(times, provenance, stated, total_s)
    origins = [stated[i].given_on if i in stated else "" for i in range(len(works))]
    costs = tuple(
        _cost(o.id, o.kind, w, t, p, g)
        for o, w, t, p, g in zip(graph.operators, works, times, provenance, origins, strict=True)
    )
    more = _precision_warnings(works, executor, options)
    more += tuple(f"Measured table: {x}." for x in measured_warnings(graph, executor, options, measured))
    heavy = [i for i, w in enumerate(works) if w.launch == "kernel"]
    uncounted = 0 if total is not None else sum(not works[i].known and i not in stated for i in heavy)
    return CostedGraph(graph, executor.name, costs, warnings + more, uncounted, len(heavy))


def _times(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    stated: Mapping[int, Stated],
) -> tuple[list[float], list[Provenance]]:
    """Seconds of every operator, and where they come from."""
    modelled = _modelled(graph, works, executor, options)
    sources = {(s.source.name, s.inputs): s.source for i, s in stated.items() if s.source and works[i].known}
    there = {at: _modelled_at(graph, works, source, options, at[1]) for at, source in sources.items()}
    calibrated = executor.device.compute_efficiency or executor.device.memory_efficiency
    times = list(modelled)
    provenance: list[Provenance] = ["calibrated" if calibrated else "modelled"] * len(times)
    for i, entry in stated.items():
        times[i] = entry.time_s
        provenance[i] = entry.provenance
        if entry.source is not None:
            base = there[entry.source.name, entry.inputs][i] if works[i].known else 0.0
            if modelled[i] > 0 < base:
                times[i] *= modelled[i] / base
            else:
                times[i] *= carried(bound_of(graph.operators[i]), entry.source, executor, options)
                times[i] *= options.growth(options.inputs) / options.growth(entry.inputs)
    return times, provenance


def _modelled_at(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    inputs: int,
) -> list[float]:
    """Seconds of every operator by the formula with so many inputs; ``works`` are those of ``options``."""
    if inputs != options.inputs:
        options = replace(options, batch=inputs, members=1)
        works, _ = operator_work(graph, options)
    return _modelled(graph, works, executor, options)


def _modelled(
    graph: ModelGraph, works: Sequence[OperatorWork], executor: ExecutorClass, options: CostOptions
) -> list[float]:
    scale = tensor_scale(graph, options)
    sizes = {name: t.size_bytes * scale[name] for name, t in graph.tensors.items()}
    roofline = Roofline(executor, options.stack)
    times = [0.0] * len(works)
    for kernel in fuse(graph, works, sizes, stacks()[options.stack].fuses):
        root = kernel.members[0]
        operator = graph.operators[root]
        if operator.bodies and operator.work is None and operator.turns != 0:
            body = heaviest_body(operator, options)
            turn_s = sum(_modelled(body.graph, body.works, executor, options))
            times[root] = turn_s * (1 if operator.turns is None else operator.turns)
        elif kernel.launches:
            peak = options.peak_for(works[root].dtype, graph.operators[root].kind, executor.device)
            _share(kernel, works, roofline, peak, _outputs(graph, root, options.inputs), times)
    return times


def _share(
    kernel: Kernel,
    works: Sequence[OperatorWork],
    roofline: Roofline,
    peak: Precision,
    outputs: float,
    times: list[float],
) -> None:
    """Write the members' parts of the kernel's time into ``times``."""
    root = kernel.members[0]
    flops = sum(works[i].work.flops for i in kernel.members)
    alone = [roofline.work_s(works[i].work.flops, _moved(works[i]), peak, outputs) for i in kernel.members]
    rest = roofline.work_s(flops, kernel.traffic_bytes, peak, outputs)
    weight = sum(alone)
    for i, part in zip(kernel.members, alone, strict=True):
        times[i] = rest * part / weight if weight > 0 else 0.0
    times[root] += roofline.constants.launch_s


def _outputs(graph: ModelGraph, operator: int, batch: int) -> float:
    """Numbers that an operator computes; infinite where a shape is not known."""
    shapes = [graph.tensors[n].shape for n in graph.operators[operator].outputs if n in graph.tensors]
    if not shapes or None in shapes:
        return math.inf
    return float(batch * sum(math.prod(shape) for shape in shapes if shape is not None))


def _moved(work: OperatorWork) -> float:
    return work.work.read_bytes + work.work.write_bytes + work.work.weight_bytes


def _fit_total(
    times: list[float], provenance: list[Provenance], stated: Mapping[int, Stated], total_s: float
) -> None:
    """Scale the times that are not measured so that all add up to the measured ``total_s``."""
    fixed = {i for i, s in stated.items() if s.provenance == "measured"}
    free = sum(t for i, t in enumerate(times) if i not in fixed)
    if free <= 0:
        return
    factor = max(total_s - sum(times[i] for i in fixed), 0.0) / free
    for i in range(len(times)):
        if i not in fixed:
            times[i] *= factor
            provenance[i] = "calibrated"


def _precision_warnings(
    works: Sequence[OperatorWork], executor: ExecutorClass, options: CostOptions
) -> tuple[str, ...]:
    """Return a line for every precision that products need and the device has no peak for."""
    device = executor.device
    types = {w.dtype for w in works if w.work.macs}
    wanted = sorted({options.peak_for(dtype, device=device) for dtype in types})
    lines = [
        f"Device {device.name!r} states no {p} peak: that of {device.precision_used(p)} is used."
        for p in wanted
        if device.precision_used(p) != p
    ]
    if "bfloat16" in types and options.precision in AS_IN_FILE and not has_bfloat16(device):
        lines.append(f"Device {device.name!r} has no bfloat16 arithmetic: its products run in fp32.")
    return tuple(lines)


def _cost(
    id_: str, kind: str, work: OperatorWork, time_s: float, provenance: Provenance, given_on: str
) -> OperatorCost:
    w = work.work
    moved = (w.read_bytes, w.write_bytes, w.weight_bytes)
    return OperatorCost(id_, kind, w.flops, w.macs, *moved, time_s, provenance, given_on)
