"""What a row of the workload says of its model: stated times, batches, and the memory that these need."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Protocol

from nona.cluster.hardware.device import Device
from nona.cluster.hardware.executor import ExecutorClass
from nona.core.units import format_size, format_time
from nona.models.cost.batches import padded
from nona.models.cost.stated import with_given
from nona.models.graph.model import ModelGraph
from nona.models.prepared import PreparedModel
from nona.models.times_report import law_note
from nona.queries.system import Batching
from nona.scenario.rows import BatchingSpec
from nona.scenario.schema import CostSpec


def given_graph(graph: ModelGraph, name: str, cost: CostSpec, own: Mapping[str, Device]) -> ModelGraph:
    """Return the model called ``name`` in a scenario, its stated times on the devices that ``cost`` says.

    ``own`` are the user's devices.
    """
    spec = cost.given.get(name)
    return graph if spec is None else with_given(graph, spec.device, spec.factors, own)


def batching_of(spec: BatchingSpec | None, model: PreparedModel) -> Batching | None:
    """Return the batching of a row's queries; ``None`` where they run one at a time."""
    if spec is None:
        return None
    step_s = padded(model.batch_s, spec.allowed, spec.max_batch)
    if spec.starts != "triton":
        return Batching(step_s, spec.starts, spec.delay)
    preferred = tuple(sorted(set(spec.preferred))) or (spec.max_batch,)
    return Batching(step_s, "triton", spec.delay, preferred, spec.form_ahead)


class _Holding(Protocol):
    """A model with weights, and activations of each query while it runs."""

    @property
    def weight_bytes(self) -> float: ...
    @property
    def activation_bytes(self) -> float: ...


def held_bytes(spec: BatchingSpec | None, model: _Holding) -> float:
    """Bytes that an executor holds for a row: weights, and the activations of its largest batch.

    Without batching activations are not counted.
    """
    return model.weight_bytes + (0.0 if spec is None else spec.largest * model.activation_bytes)


def memory_problem(
    label: str, spec: BatchingSpec | None, model: _Holding, classes: Mapping[str, ExecutorClass]
) -> str:
    """Say that the largest batch fits no executor, and which would; empty where it fits one.

    Classes that cannot hold it beside one that can are left to the placement, as for weights.
    """
    name, kind = max(classes.items(), key=lambda item: item[1].memory_bytes)
    if spec is None or held_bytes(spec, model) <= kind.memory_bytes:
        return ""
    room = kind.memory_bytes - model.weight_bytes
    fits = math.floor(room / model.activation_bytes) if room > 0 else 0
    remedy = f"lower max_batch to at most {fits:,}" if fits >= 1 else "turn batching off"
    return (
        f"batching of {label!r}: its largest batch, {spec.largest:,} queries, needs "
        f"{format_size(held_bytes(spec, model))}, but the largest executor, {name}, has "
        f"{format_size(kind.memory_bytes)}. Weights take {format_size(model.weight_bytes)}, activations "
        f"{format_size(model.activation_bytes)} for each query. {remedy[0].upper()}{remedy[1:]}, or take a "
        "larger GPU or slice."
    )


def batching_warnings(spec: BatchingSpec | None, slo_s: float | None, graph: ModelGraph) -> tuple[str, ...]:
    """Warnings of a row's batching: keys without effect, lateness, times by a law."""
    if spec is None:
        return ()
    lines = [f"Batching: {line}." for line in spec.without_effect]
    if spec.starts in ("delay", "triton") and slo_s is not None and spec.delay > slo_s:
        lines.append(
            f"Batching: the delay of {format_time(spec.delay)} is longer than the SLO of "
            f"{format_time(slo_s)}: no batch that waits its delay can be in time; shorten it."
        )
    return (*lines, *filter(None, [law_note(graph, spec.per_query)]))
