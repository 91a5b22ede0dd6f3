"""Times that are stated: measured or in the model's file, carried to other hardware.

Where the task's FLOPs and bytes are known, the ratio is that of the modelled times
(:mod:`nona.models.cost.costing`). Where they are not, it follows from what bounds the task:

=============  =========================================================================
``compute``    (e_c·g·P) of the one over that of the other
``memory``     (e_m·g·B) of the one over that of the other
``host``       1: it does not run on the device
not known      from device to device the geometric mean of both; to a slice or share f^(−γ)
=============  =========================================================================

P is the peak at the precision in use, B the bandwidth, g the gain of a slice (:class:`Roofline`), γ the
exponent of :func:`given_slowdown`. A task's bound is what its file states, else that of its kind
(``data/task_kinds.csv``).

Precedence, per operator: measured on this very executor class; given in the file for it; measured
on the whole device; given for the whole device; given for any device (``"*"``); given for another
slice of the device, or another device; the model. A time for other hardware is carried over by the
ratio of the modelled times, or, where the operator's work is not known, by what bounds it
(:mod:`nona.models.cost.stated`). A time for any device is the same on all hardware.

Where several queries run as one, a measured time holds at its batch, linear between two of them, and is
carried beyond by the ratio of the modelled times. A given time grows as the file says (``batch_ms``), else
by a law (:meth:`~nona.models.cost.options.CostOptions.growth`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import cast

from nona.cluster.hardware.device import Device, Precision, devices
from nona.cluster.hardware.executor import ExecutorClass, executor_class, make_executor_class
from nona.cluster.hardware.mig import board
from nona.cluster.hardware.table_file import shipped_table
from nona.core.errors import CostError, HardwareError, suggestion
from nona.models.cost.costed import CostedGraph, Provenance
from nona.models.cost.measured import ANY, MeasuredTable
from nona.models.cost.operators import OperatorWork
from nona.models.cost.options import CostOptions
from nona.models.cost.roofline import Roofline, given_slowdown
from nona.models.graph.model import ANY_DEVICE, Bound, ModelGraph, Operator


def bound_of(operator: Operator) -> Bound | None:
    """Return the resource that bounds the operator's time: as stated, else by its kind, else ``None``.

    >>> bound_of(Operator("a", "MatMul")), bound_of(Operator("b", "Lookup")), bound_of(Operator("c"))
    ('compute', 'host', None)
    """
    return operator.bound or _kinds().get(operator.kind.lower())


def carried(bound: Bound | None, source: ExecutorClass, target: ExecutorClass, options: CostOptions) -> float:
    """Time on ``target`` over time on ``source`` of a task whose work is not known.

    >>> from nona.cluster.hardware.executor import executor_class
    >>> a100, t4 = executor_class("a100-40gb"), executor_class("t4")
    >>> [round(carried(b, a100, t4, CostOptions()), 2) for b in ("compute", "memory", "host", None)]
    [2.41, 4.86, 1.0, 3.42]
    """
    if bound == "host" or source.name == target.name:
        return 1.0
    precision = options.peak_for(None)
    if bound is not None:
        return _speed(bound, source, precision, options) / _speed(bound, target, precision, options)
    whole = [make_executor_class(e.device) for e in (source, target)]
    ratios = [carried(b, whole[0], whole[1], options) for b in ("compute", "memory")]
    return math.sqrt(math.prod(ratios)) * given_slowdown(target) / given_slowdown(source)


def _speed(bound: Bound, executor: ExecutorClass, precision: Precision, options: CostOptions) -> float:
    """FLOP/s or bytes/s that kernels reach."""
    roofline = Roofline(executor, options.stack)
    return roofline.speed("product", precision) if bound == "compute" else roofline.bandwidth


@cache
def _kinds() -> Mapping[str, Bound]:
    rows = shipped_table("nona.models.cost", "data/task_kinds.csv")
    return MappingProxyType({row["kind"]: cast(Bound, row["bound"]) for row in rows})


def has_given_times(graph: ModelGraph) -> bool:
    """Return whether the file states a time for some operator."""
    return any(o.compute_s for o in graph.operators)


def with_given(
    graph: ModelGraph,
    device: str | None,
    factors: Mapping[str, float],
    own: Mapping[str, Device] | None = None,
) -> ModelGraph:
    """Return the graph with its stated times on ``device``, and on others by ``factors``.

    ``device``: on which the times hold (``"any"``: on all alike), in place of what the file says; ``None``:
        as the file says. Where it gives a task times for several devices, those stay.
    ``factors``: device or executor class → its time over the stated one. Host work has no factor, and a time
        that the file states for that very class stays.

    ``own``: the user's devices.

    Raises ``CostError`` when the file states no times, or a device is not known.

    >>> flow = ModelGraph("flow", (Operator("a", compute_s={"*": 0.002}),), ())
    >>> with_given(flow, "a100-40gb", {"t4": 3.0}).operators[0].compute_s
    {'a100-40gb': 0.002, 't4': 0.006}
    """
    if device is None and not factors:
        return graph
    if not has_given_times(graph):
        raise CostError(
            f"Model {graph.name!r}: its file states no times, so cost.given has nothing to say; remove it."
        )
    place = f"Model {graph.name!r}: cost.given"
    named = ANY_DEVICE if device == "any" else device and _class(device, own, place).name
    factors = {_class(name, own, f"{place}.factors").name: factor for name, factor in factors.items()}
    operators = tuple(replace(o, compute_s=_times(o, named, factors)) for o in graph.operators)
    return replace(graph, operators=operators, device=named or graph.device)


def _times(
    operator: Operator, device: str | None, factors: Mapping[str, float]
) -> Mapping[str, float] | None:
    stated = operator.compute_s
    if not stated:
        return stated
    times = dict(stated)
    if device is not None and len(times) == 1:
        times = {device: next(iter(times.values()))}
    if bound_of(operator) != "host":
        base = next(iter(times.values()))
        times |= {name: base * factor for name, factor in factors.items() if name not in times}
    return times


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated time; ``source`` is the executor class that it holds for, if it must be carried over.

    ``given_on`` is the name of that class as stated, ``"*"`` for a time of any device; ``inputs`` is how many
    ran together there.
    """

    time_s: float
    provenance: Provenance
    given_on: str
    source: ExecutorClass | None = None
    inputs: int = 1


def stated_times(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    measured: MeasuredTable | None,
    own: Mapping[str, Device] | None = None,
) -> dict[int, Stated]:
    """Operator (by index) → its stated time, where it has one.

    Given times hold for one input; those of one query are as many times as long (no gain is assumed).
    ``own`` are the user's devices, which a file may name.
    """
    own = {**(own or {}), executor.device.name: executor.device}
    executors = {
        name: _class(name, own, f"Operator {o.id!r}: compute_ms")
        for o in graph.operators
        for name in o.compute_s or ()
        if name != ANY_DEVICE
    }
    by_name = {one.name: one for one in executors.values()}
    here = _measured(measured, graph.name, executor.name, options)
    whole = {} if executor.whole else _measured(measured, graph.name, executor.device.name, options)
    times_by_operator = {}
    for i, operator in enumerate(graph.operators):
        if operator.compute_s:
            given = {(executors[n].name if n in executors else n): t for n, t in operator.compute_s.items()}
            operator = replace(operator, compute_s=given)
        stated = _stated(operator, executor, here, whole, options)
        stated = stated or _elsewhere(operator, executor, by_name, options)
        if stated is not None:
            times_by_operator[i] = stated
    return times_by_operator


AtBatch = tuple[float, int]
"""Seconds, and of how many inputs that ran together."""


def _measured(
    table: MeasuredTable | None, model: str, device: str, options: CostOptions
) -> dict[str, AtBatch]:
    """Operator → its measured time at the inputs that run as one, or where several queries do, nearest."""
    if table is None:
        return {}
    if options.members == 1:
        return {name: (t, options.inputs) for name, t in table.times(model, device, options).items()}
    points = table.by_batch(model, device, options)
    return {name: _nearest(times_s, options.inputs) for name, times_s in points.items()}


def _nearest(times_s: Mapping[int, float], inputs: int) -> AtBatch:
    """Return the time at so many inputs, linear between two measured ones; beyond these the nearest.

    >>> _nearest({1: 2.0, 3: 4.0}, 2), _nearest({1: 2.0, 3: 4.0}, 8)
    ((3.0, 2), (4.0, 3))
    """
    nearest = min(max(inputs, min(times_s)), max(times_s))
    below, above = max(n for n in times_s if n <= nearest), min(n for n in times_s if n >= nearest)
    share = (nearest - below) / max(above - below, 1)
    return times_s[below] + share * (times_s[above] - times_s[below]), nearest


def given_growth(operator: Operator, options: CostOptions) -> float:
    """Time of the inputs that run as one over the given time of one input.

    Linear between the file's times by batch and on with the last slope (0 if that falls), else by the law.

    >>> task = Operator("a", batch_s=((1, 2.0), (8, 3.0)))
    >>> [given_growth(task, CostOptions(members=b)) for b in (1, 8, 22)]
    [1.0, 1.5, 2.5]
    """
    if not operator.batch_s:
        return options.batch * options.growth(options.inputs)
    (before, before_s), (last, last_s) = operator.batch_s[-2:]
    slope = max(0.0, (last_s - before_s) / (last - before))
    times_s = dict(operator.batch_s)
    time_s, nearest = _nearest(times_s, options.inputs)
    return (time_s + slope * (options.inputs - nearest)) / times_s[1]


def by_law(graph: ModelGraph) -> bool:
    """Return whether the file gives some operator the time of one input alone."""
    return any(o.compute_s and not o.batch_s for o in graph.operators)


def _stated(
    operator: Operator,
    executor: ExecutorClass,
    here: Mapping[str, AtBatch],
    whole: Mapping[str, AtBatch],
    options: CostOptions,
) -> Stated | None:
    """Return the time stated for this class, for its device, or for any."""
    given, growth = operator.compute_s or {}, given_growth(operator, options)
    device = executor.device.name
    as_given: Provenance = "given" if options.members == 1 or operator.batch_s else "modelled"
    if operator.id in here:
        time_s, inputs = here[operator.id]
        if inputs == options.inputs:
            return Stated(time_s, "measured", executor.name)
        return Stated(time_s, "calibrated", executor.name, executor, inputs)
    if executor.name in given:
        return Stated(given[executor.name] * growth, as_given, executor.name)
    if operator.id in whole:
        time_s, inputs = whole[operator.id]
        return Stated(time_s, "calibrated", device, make_executor_class(executor.device), inputs)
    if device in given:
        there = make_executor_class(executor.device)
        return Stated(given[device] * growth, "modelled", device, there, options.inputs)
    if ANY_DEVICE in given:
        return Stated(given[ANY_DEVICE] * growth, as_given, ANY_DEVICE)
    return None


def _elsewhere(
    operator: Operator, executor: ExecutorClass, executors: Mapping[str, ExecutorClass], options: CostOptions
) -> Stated | None:
    """Return the time stated for another slice of this device, else for the first other known device."""
    given = operator.compute_s or {}
    names = [n for n in given if n in executors]
    if not names:
        return None
    name = min(names, key=lambda n: executors[n].device.name != executor.device.name)
    provenance: Provenance = "given" if bound_of(operator) == "host" else "modelled"
    return Stated(
        given[name] * given_growth(operator, options), provenance, name, executors[name], options.inputs
    )


def _class(name: str, own: Mapping[str, Device] | None, place: str) -> ExecutorClass:
    """Return the class that a time is given for; refuse an unknown one, with those most like it."""
    try:
        return executor_class(name, own)
    except HardwareError as error:
        base = name.replace(":", "/", 1).partition("/")[0]
        known = {**devices(), **(own or {})}
        if base in known:
            raise CostError(f"{place} has {name!r}. {error}") from None
        slices = [f"{n}/{p.name}" for n, d in known.items() if d.mig for p in board(d.mig).profiles]
        hint = suggestion(name, [*known, *slices], most=len(known))
        raise CostError(
            f"{place} has {name[:60]!r}, which is no known device or slice; {hint}, or define the device."
        ) from None


def unscaled_share(costed: CostedGraph) -> float:
    """Share of a model's time that is the same on all hardware because its file names no device.

    Host work is left out, and everything where the file states that its times hold for any device.
    """
    if costed.graph.device == ANY_DEVICE or costed.total_compute_s <= 0:
        return 0.0
    pairs = zip(costed.graph.operators, costed.costs, strict=True)
    fixed = sum(c.compute_s for o, c in pairs if c.given_on == ANY_DEVICE and bound_of(o) != "host")
    return fixed / costed.total_compute_s


def whole_model_s(
    graph: ModelGraph, executor: ExecutorClass, options: CostOptions, measured: MeasuredTable | None
) -> AtBatch | None:
    """Return the measured time of the whole model on this executor class (operator ``*``), if any."""
    return _measured(measured, graph.name, executor.name, options).get(ANY)


def measured_warnings(
    graph: ModelGraph, executor: ExecutorClass, options: CostOptions, measured: MeasuredTable | None
) -> tuple[str, ...]:
    """Warn where no measured row fits the options, and of operators in rows that the model lacks."""
    if measured is None:
        return ()
    rows = [r for r in measured.rows if r.model == graph.name and r.device == executor.name]
    used = [r for r in rows if r.holds_for(options)]
    lines = []
    if rows and not used:
        conditions = sorted({(r.batch, r.stack or "any stack", r.precision or "any precision") for r in rows})
        texts = " or batch ".join(", ".join(map(str, condition)) for condition in conditions[:4])
        lines.append(
            f"its rows for {graph.name!r} on {executor.name!r} hold for batch {texts}, not for batch "
            f"{options.inputs}, {options.stack}, {options.precision}; measure these, or change the scenario"
        )
    missing = sorted({r.operator for r in used if r.operator != ANY and r.operator not in graph.index})
    if missing:
        near = get_close_matches(missing[0][:60], list(graph.index), n=2, cutoff=0.0)
        lines.append(
            f"{graph.name!r} has no operator {missing[0]!r}"
            f"{f' and {len(missing) - 1} others of the table' if missing[1:] else ''}; nearest are "
            f"{' and '.join(near)}"
        )
    return tuple(lines)
