"""Times that are stated rather than modelled: measured tables and times in the model file.

Precedence, per operator: measured on this very executor class; given in the file for it; measured
on the whole device; given for the whole device; given for any device (``"*"``); the model. A time
for the whole device is carried to a slice or share by the ratio of the modelled times, or, where
the operator's work is not known, by :func:`nona.cost.roofline.given_slowdown`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nona.cost.costed import Provenance
from nona.cost.measured import ANY, MeasuredTable
from nona.cost.operators import OperatorWork
from nona.cost.options import CostOptions
from nona.errors import CostError
from nona.graph.model import ANY_DEVICE, ModelGraph, Operator
from nona.hardware.executor import ExecutorClass


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated time; ``on_device`` when it is one of the whole device and must be carried over."""

    time_s: float
    provenance: Provenance
    on_device: bool = False


def stated_times(
    graph: ModelGraph,
    works: Sequence[OperatorWork],
    executor: ExecutorClass,
    options: CostOptions,
    measured: MeasuredTable | None,
) -> dict[int, Stated]:
    """Operator (by index) → its stated time, where it has one.

    Given times hold for one query; a batch takes them as many times (no gain is assumed).

    Raises
    ------
    CostError
        When the file gives an operator times for other devices only, and its work is unknown.
    """
    here = measured.times(graph.name, executor.name, options) if measured else {}
    whole = measured.times(graph.name, executor.device.name, options) if measured else {}
    if executor.whole:
        whole = {}
    found = {}
    for i, operator in enumerate(graph.operators):
        stated = _stated(operator, executor, here, whole, options.batch)
        if stated is not None:
            found[i] = stated
        elif operator.compute_s and not works[i].known:
            raise CostError(
                f"Operator {operator.id!r}: it has times for {', '.join(operator.compute_s)} but none for "
                f"{executor.device.name!r}; add that device, or '*' for any."
            )
    return found


def _stated(
    operator: Operator,
    executor: ExecutorClass,
    here: Mapping[str, float],
    whole: Mapping[str, float],
    batch: int,
) -> Stated | None:
    given = operator.compute_s or {}
    device = executor.device.name
    if operator.id in here:
        return Stated(here[operator.id], "measured")
    if executor.name in given:
        return Stated(given[executor.name] * batch, "given")
    if operator.id in whole:
        return Stated(whole[operator.id], "calibrated", on_device=True)
    if device in given:
        return Stated(given[device] * batch, "modelled", on_device=True)
    if ANY_DEVICE in given:
        return Stated(given[ANY_DEVICE] * batch, "given")
    return None


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
