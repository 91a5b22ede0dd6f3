"""One model on its way through the layers: costed, contracted, decomposed; how it batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from nona.arrays import Floats
from nona.contraction.contracted import ContractedGraph
from nona.contraction.rules import DEFAULT_RULE, contract
from nona.contraction.task_graph import TaskGraph
from nona.cost.batches import activation_bytes, at_every_batch, cost_batches, padded
from nona.cost.costed import CostedGraph
from nona.cost.measured import MeasuredTable
from nona.cost.options import CostOptions, resident_bytes, scaled_edges
from nona.cost.stated import with_given
from nona.decomposition import Decomposition, decompose
from nona.graph.model import ModelGraph
from nona.hardware.device import Device
from nona.hardware.executor import ExecutorClass
from nona.placement.enumeration import configurations_considered
from nona.report.times import law_note
from nona.scenario.rows import BatchingSpec
from nona.system import Batching
from nona.units import format_size, format_time

if TYPE_CHECKING:
    from nona.scenario.schema import CostSpec

_AS_IN_FILE = CostOptions()


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """One model on its way through the layers; ``costed`` has one entry per executor class.

    ``weight_bytes`` is what an executor holds to run any of its tasks, at the precision costed, and
    ``activation_bytes`` what each query needs beside while it runs. ``batch_s`` (B, classes, T) are the
    seconds of 1, …, B queries that run as one.
    """

    graph: ModelGraph
    costed: tuple[CostedGraph, ...]
    contracted: ContractedGraph
    decomposition: Decomposition
    tasks: TaskGraph
    weight_bytes: float
    activation_bytes: float
    batch_s: Floats


def prepare_model(
    graph: ModelGraph,
    classes: Sequence[ExecutorClass],
    options: CostOptions = _AS_IN_FILE,
    rule: str = DEFAULT_RULE,
    measured: MeasuredTable | None = None,
    own: Mapping[str, Device] | None = None,
    largest: int = 1,
) -> PreparedModel:
    """Cost, contract and decompose one model for the given executor classes.

    ``rule`` is one of the contraction rules. ``own`` are the user's devices, for which a file may give times;
    ``largest`` is the largest batch of queries.
    """
    batches = [cost_batches(graph, c, options, largest, measured, own) for c in classes]
    costed = tuple(of[1] for of in batches)
    contracted = contract(replace(graph, edges=scaled_edges(graph, options)), rule)
    tasks = TaskGraph.from_contracted(
        contracted, [c.compute_s for c in costed], [cost.weight_bytes for cost in costed[0].costs]
    )
    sizes = tuple(batches[0])
    step_s = np.array([[contracted.sum_over_tasks(of[size].compute_s) for of in batches] for size in sizes])
    return PreparedModel(
        graph,
        costed,
        contracted,
        decompose(tasks.dag),
        tasks,
        resident_bytes(graph, options),
        activation_bytes(costed[0], contracted.graph.edges),
        at_every_batch(sizes, step_s),
    )


def configuration_counts(model: PreparedModel) -> list[int]:
    """Count the configurations that the placement considers for each sub-graph of a model."""
    return [configurations_considered(model.tasks, s) for s in model.decomposition.subgraphs]


def given_graph(graph: ModelGraph, name: str, cost: CostSpec, own: Mapping[str, Device]) -> ModelGraph:
    """The model called ``name`` in a scenario, its stated times on the devices that ``cost`` says.

    ``own`` are the user's devices.
    """
    spec = cost.given.get(name)
    return graph if spec is None else with_given(graph, spec.device, spec.factors, own)


def batching_of(spec: BatchingSpec | None, model: PreparedModel) -> Batching | None:
    """The batching of a row's queries; ``None`` where they run one at a time."""
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
        f"{format_size(held_bytes(spec, model))} ({format_size(model.weight_bytes)} of weights and "
        f"{format_size(model.activation_bytes)} of activations for each query), and the largest executor, "
        f"{name}, has {format_size(kind.memory_bytes)}; {remedy}, or take a larger GPU or slice."
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
