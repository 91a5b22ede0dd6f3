"""Costing: a model graph on an executor class → seconds and bytes of every operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nona.cost.costed import CostedGraph, OperatorCost, Provenance
from nona.cost.fusion import Kernel, fuse
from nona.cost.measured import MeasuredTable
from nona.cost.operators import OperatorWork, operator_work
from nona.cost.options import DEFAULT_OPTIONS, CostOptions, CostPrecision, scaled_edges, tensor_scale
from nona.cost.roofline import Roofline, given_slowdown
from nona.cost.stack import stacks
from nona.cost.stated import Stated, measured_warnings, stated_times, whole_model_s
from nona.graph.model import ModelGraph
from nona.hardware.executor import ExecutorClass, make_executor_class

__all__ = ["CostOptions", "CostPrecision", "cost_graph", "scaled_edges", "tensor_scale"]


def cost_graph(
    graph: ModelGraph,
    executor: ExecutorClass,
    options: CostOptions = DEFAULT_OPTIONS,
    measured: MeasuredTable | None = None,
) -> CostedGraph:
    """Cost every operator of ``graph`` on ``executor``.

    A fused kernel takes t₀ + max(F/(e_c·P), Q/(e_m·B)) once. Its root bears t₀; the rest is shared
    among its operators in proportion to what each would take alone without overhead, so that the
    operators' times add up to the kernels'. Stated times replace the model's
    (:mod:`nona.cost.stated`).

    Raises
    ------
    CostError
        When an operator has times for other devices only and its work is unknown.

    Examples
    --------
    >>> from nona.graph.model import Operator
    >>> from nona.hardware.executor import executor_class
    >>> graph = ModelGraph("g", (Operator("a", compute_s={"*": 0.002}),), ())
    >>> cost_graph(graph, executor_class("t4")).costs[0].compute_s
    0.002
    """
    works, warnings = operator_work(graph, options)
    times, provenance = _times(graph, works, executor, options, measured)
    costs = tuple(
        _cost(o.id, o.kind, w, t, p)
        for o, w, t, p in zip(graph.operators, works, times, provenance, strict=True)
    )
    more = _precision_warnings(works, executor, options)
    more += measured_warnings(graph, executor, options, measured)
    return CostedGraph(graph, executor.name, costs, warnings + more)


def _times(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    measured: MeasuredTable | None,
) -> tuple[list[float], list[Provenance]]:
    """Seconds of every operator, and where they come from."""
    stated = stated_times(graph, works, executor, options, measured)
    modelled = _modelled(graph, works, executor, options)
    device = modelled
    if any(s.on_device for s in stated.values()):
        device = _modelled(graph, works, make_executor_class(executor.device), options)
    own = executor.device.compute_efficiency or executor.device.memory_efficiency
    times = list(modelled)
    provenance: list[Provenance] = ["calibrated" if own else "modelled"] * len(times)
    for i, entry in stated.items():
        times[i] = entry.time_s
        provenance[i] = entry.provenance
        if entry.on_device:
            same = works[i].known and modelled[i] > 0 < device[i]
            times[i] *= modelled[i] / device[i] if same else given_slowdown(executor)
    total = whole_model_s(graph, executor, options, measured)
    if total is not None:
        _fit_total(times, provenance, stated, total)
    return times, provenance


def _modelled(
    graph: ModelGraph, works: Sequence[OperatorWork], executor: ExecutorClass, options: CostOptions
) -> list[float]:
    """Seconds of every operator by the formula."""
    scale = tensor_scale(graph, options)
    sizes = {name: t.size_bytes * scale[name] for name, t in graph.tensors.items()}
    roofline = Roofline(executor, options.stack)
    times = [0.0] * len(works)
    for kernel in fuse(graph, works, sizes, stacks()[options.stack].fuses):
        if kernel.launches:
            _share(kernel, works, roofline, options, times)
    return times


def _share(
    kernel: Kernel,
    works: Sequence[OperatorWork],
    roofline: Roofline,
    options: CostOptions,
    times: list[float],
) -> None:
    """Write the members' parts of the kernel's time into ``times``."""
    root = kernel.members[0]
    peak = options.peak_for(works[root].dtype)
    flops = sum(works[i].work.flops for i in kernel.members)
    alone = [roofline.work_s(works[i].work.flops, _moved(works[i]), peak) for i in kernel.members]
    rest = roofline.work_s(flops, kernel.traffic_bytes, peak)
    weight = sum(alone)
    for i, part in zip(kernel.members, alone, strict=True):
        times[i] = rest * part / weight if weight > 0 else 0.0
    times[root] += roofline.constants.launch_s


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
    """A line for every precision that products need and the device has no peak for."""
    wanted = sorted({options.peak_for(w.dtype) for w in works if w.work.macs})
    device = executor.device
    return tuple(
        f"Device {device.name!r} states no {p} peak: that of {device.precision_used(p)} is used."
        for p in wanted
        if device.precision_used(p) != p
    )


def _cost(id_: str, kind: str, work: OperatorWork, time_s: float, provenance: Provenance) -> OperatorCost:
    w = work.work
    return OperatorCost(
        id_, kind, w.flops, w.macs, w.read_bytes, w.write_bytes, w.weight_bytes, time_s, provenance
    )
