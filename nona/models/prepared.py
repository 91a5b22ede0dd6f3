"""One model on its way through the layers: costed, contracted, decomposed; how it batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from nona.cluster.hardware.device import Device
from nona.cluster.hardware.executor import ExecutorClass
from nona.core.arrays import Floats
from nona.models.contraction.contracted import ContractedGraph
from nona.models.contraction.rules import DEFAULT_RULE, contract
from nona.models.contraction.task_graph import TaskGraph
from nona.models.cost.batches import activation_bytes, at_every_batch, cost_batches
from nona.models.cost.costed import CostedGraph
from nona.models.cost.measured import MeasuredTable
from nona.models.cost.options import CostOptions, resident_bytes, scaled_edges
from nona.models.decomposition import Decomposition, decompose
from nona.models.graph.model import ModelGraph

if TYPE_CHECKING:
    pass

_AS_IN_FILE = CostOptions()


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A model: its graph, costs, contraction, decomposition and tasks.

    ``costed`` has one entry per executor class. ``weight_bytes``: memory that an executor holds to run any
    task, at the costed precision. ``activation_bytes``: further memory of each running query. ``batch_s``
    (B, classes, T): seconds of 1, …, B queries that run as one.
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
    rule: str | None = DEFAULT_RULE,
    measured: MeasuredTable | None = None,
    own: Mapping[str, Device] | None = None,
    largest: int = 1,
) -> PreparedModel:
    """Cost, contract and decompose one model for the given executor classes.

    Parameters
    ----------
    graph : ModelGraph
        The model.
    classes : sequence of ExecutorClass
        The executor classes that may run it.
    options : CostOptions, optional
        Software stack, precision and batch.
    rule : str or None, default ``poset``
        A contraction rule of :data:`nona.RULES`; ``None``: every operator is a task.
    measured : MeasuredTable, optional
        Measured times, which replace modelled ones.
    own : mapping of str to Device, optional
        The user's devices, for which a file may give times.
    largest : int, default 1
        The largest batch of queries.

    Returns
    -------
    PreparedModel
        The contracted and decomposed model with its times, in seconds, on each class.
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
