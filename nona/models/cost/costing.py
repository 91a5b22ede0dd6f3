"""Costing: a model graph on an executor class → fused kernels, seconds and bytes.

Which operators run as one kernel is said in :mod:`nona.models.cost.fusion`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nona.cluster.hardware.device import Device
from nona.cluster.hardware.executor import ExecutorClass
from nona.models.cost.costed import CostedGraph, OperatorCost, Provenance
from nona.models.cost.fusion import Kernel, fuse
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
from nona.models.cost.roofline import KernelLoad, Roofline
from nona.models.cost.stated import Stated, bound_of, carried, measured_warnings, stated_times, whole_model_s
from nona.models.graph.model import ModelGraph


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
    A fused kernel takes what :mod:`nona.models.cost.roofline` says, once. Its root bears the overhead. The
    rest is shared among its operators in proportion to the time that each would take alone. So the operators'
    times add up to the kernels'. Stated times replace modelled ones (:mod:`nona.models.cost.stated`).

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
    roofline = Roofline(executor, options.stack)
    times = [0.0] * len(works)
    for kernel, load in kernel_loads(graph, works, executor, options):
        root = kernel.members[0]
        operator = graph.operators[root]
        if operator.bodies and operator.work is None and operator.turns != 0:
            body = heaviest_body(operator, options)
            turn_s = sum(_modelled(body.graph, body.works, executor, options))
            times[root] = turn_s * (1 if operator.turns is None else operator.turns)
        elif kernel.launches:
            _share(kernel, works, roofline, load, times)
    return times


def kernel_loads(
    graph: ModelGraph, works: Sequence[OperatorWork], executor: ExecutorClass, options: CostOptions
) -> list[tuple[Kernel, KernelLoad]]:
    """Kernels of a graph, and what each does on ``executor``."""
    scale = tensor_scale(graph, options)
    sizes = {name: t.size_bytes * scale[name] for name, t in graph.tensors.items()}
    stack = stacks()[options.stack]
    kernels = fuse(graph, works, sizes, stack.fuses)
    widest = max((k.activation_bytes for k in kernels), default=0.0)
    weights = sum(sizes[name] for name in graph.parameters if name in sizes)
    stay = weights + widest <= Roofline(executor, options.stack).cache_bytes
    loads = []
    for kernel in kernels:
        root = kernel.members[0]
        precision = options.peak_for(works[root].dtype, graph.operators[root].kind, executor.device)
        convolves = kernel.kind in ("convolution", "grouped")
        runs = 3 if convolves and precision == "fp16" and stack.kernels == "library" else 1
        load = KernelLoad(
            kernel.kind,
            sum(works[i].work.flops for i in kernel.members),
            kernel.weight_bytes,
            kernel.activation_bytes * runs,
            precision,
            _outputs(graph, kernel.outputs, options.inputs),
            stay,
            runs,
        )
        loads.append((kernel, load))
    return loads


def _share(
    kernel: Kernel, works: Sequence[OperatorWork], roofline: Roofline, load: KernelLoad, times: list[float]
) -> None:
    """Write the members' parts of the kernel's time into ``times``."""
    work_s = roofline.work_s(load)
    speed = roofline.speed(load.kind, load.precision)
    alone = [max(works[i].work.flops / speed, _moved(works[i]) / roofline.bandwidth) for i in kernel.members]
    weight = sum(alone)
    for i, part in zip(kernel.members, alone, strict=True):
        times[i] = work_s * part / weight if weight > 0 else 0.0
    times[kernel.members[0]] += roofline.total_s(load) - work_s


def _outputs(graph: ModelGraph, operators: Sequence[int], batch: int) -> float:
    """Numbers that operators compute; infinite where a shape is not known."""
    names = [n for i in operators for n in graph.operators[i].outputs]
    shapes = [graph.tensors[n].shape for n in names if n in graph.tensors]
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
