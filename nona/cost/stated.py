"""Times that are stated rather than modelled: measured tables and times in the model file.

Precedence, per operator: measured on this very executor class; given in the file for it; measured
on the whole device; given for the whole device; given for any device (``"*"``); given for another
slice of the device, or another device; the model. A time for other hardware is carried over by the
ratio of the modelled times, or, where the operator's work is not known, by what bounds it
(:mod:`nona.cost.carrying`). A time for any device is the same on all hardware.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.cost.carrying import bound_of
from nona.cost.costed import CostedGraph, Provenance
from nona.cost.measured import ANY, MeasuredTable
from nona.cost.operators import OperatorWork
from nona.cost.options import CostOptions
from nona.errors import CostError, HardwareError
from nona.graph.model import ANY_DEVICE, ModelGraph, Operator
from nona.hardware.device import Device
from nona.hardware.executor import ExecutorClass, executor_class, make_executor_class


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated time; ``source`` is the executor class that it holds for, if it must be carried over.

    ``given_on`` is the name of that class as stated, ``"*"`` for a time of any device.
    """

    time_s: float
    provenance: Provenance
    given_on: str
    source: ExecutorClass | None = None


def stated_times(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    measured: MeasuredTable | None,
    own: Mapping[str, Device] | None = None,
) -> dict[int, Stated]:
    """Operator (by index) → its stated time, where it has one.

    Given times hold for one query; a batch takes them as many times (no gain is assumed). ``own`` are
    the user's devices, which a file may name.

    Raises
    ------
    CostError
        When the file gives an operator times for unknown devices only, and its work is unknown.
    """
    here = measured.times(graph.name, executor.name, options) if measured else {}
    whole = measured.times(graph.name, executor.device.name, options) if measured else {}
    if executor.whole:
        whole = {}
    named = {name: _class(name, own) for o in graph.operators for name in o.compute_s or ()}
    known = {name: made for name, made in named.items() if made is not None}
    found = {}
    for i, operator in enumerate(graph.operators):
        stated = _stated(operator, executor, here, whole, options.batch)
        stated = stated or _elsewhere(operator, executor, known, options.batch)
        if stated is not None:
            found[i] = stated
        elif operator.compute_s and not works[i].known:
            raise CostError(
                f"Operator {operator.id!r}: it has times for {', '.join(operator.compute_s)}, which is no "
                f"device known here, and none for {executor.device.name!r}; add that device, or 'any'."
            )
    return found


def _stated(
    operator: Operator,
    executor: ExecutorClass,
    here: Mapping[str, float],
    whole: Mapping[str, float],
    batch: int,
) -> Stated | None:
    """The time stated for this class, for its device, or for any."""
    given = operator.compute_s or {}
    device = executor.device.name
    if operator.id in here:
        return Stated(here[operator.id], "measured", executor.name)
    if executor.name in given:
        return Stated(given[executor.name] * batch, "given", executor.name)
    if operator.id in whole:
        return Stated(whole[operator.id], "calibrated", device, make_executor_class(executor.device))
    if device in given:
        return Stated(given[device] * batch, "modelled", device, make_executor_class(executor.device))
    if ANY_DEVICE in given:
        return Stated(given[ANY_DEVICE] * batch, "given", ANY_DEVICE)
    return None


def _elsewhere(
    operator: Operator, executor: ExecutorClass, known: Mapping[str, ExecutorClass], batch: int
) -> Stated | None:
    """The time given for another slice of this device, else for the first other device that is known."""
    given = operator.compute_s or {}
    names = [n for n in given if n in known]
    if not names:
        return None
    name = min(names, key=lambda n: known[n].device.name != executor.device.name)
    provenance: Provenance = "given" if bound_of(operator) == "host" else "modelled"
    return Stated(given[name] * batch, provenance, name, known[name])


def _class(name: str, own: Mapping[str, Device] | None) -> ExecutorClass | None:
    try:
        return executor_class(name, own)
    except HardwareError:
        return None


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
) -> float | None:
    """The measured time of the whole model on this executor class (operator ``*``), if any."""
    if measured is None:
        return None
    return measured.times(graph.name, executor.name, options).get(ANY)


def measured_warnings(
    graph: ModelGraph, executor: ExecutorClass, options: CostOptions, measured: MeasuredTable | None
) -> tuple[str, ...]:
    """Lines on rows for this model and device that could not be used."""
    if measured is None:
        return ()
    rows = [r for r in measured.rows if r.model == graph.name and r.device == executor.name]
    used = [r for r in rows if r.holds_for(options)]
    lines = []
    if rows and not used:
        lines.append(
            f"Measured table: its {len(rows)} rows for {graph.name!r} on {executor.name!r} hold for another "
            f"batch, stack or precision than batch {options.batch}, {options.stack}, {options.precision}."
        )
    missing = sorted({r.operator for r in used if r.operator != ANY and r.operator not in graph.index})
    if missing:
        lines.append(
            f"Measured table: {len(missing)} rows for {graph.name!r} on {executor.name!r} name operators "
            f"that the model does not have (first {missing[0]!r})."
        )
    return tuple(lines)
