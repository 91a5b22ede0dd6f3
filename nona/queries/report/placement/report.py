"""The report on a placement: memory, prediction, simulated times, configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.core.errors import PlacementError
from nona.models.decomposition import VIRTUAL
from nona.queries.placement.capacity import replicas, resident_bytes
from nona.queries.placement.result import Placement, SubGraphPlacement
from nona.queries.placement.results import (
    ClassMemory,
    MemoryReport,
    ModelMemory,
    PlacedConfiguration,
    PlacedModel,
    PlacedSubgraph,
    PlacementReport,
    PredictedMix,
)
from nona.queries.system import System


def memory_report(system: System, placement: Placement) -> MemoryReport:
    """Weights by executor class and by model, in bytes.

    An executor holds the weights of every model whose share of its class is positive, whole, as any
    part may come to it. ``replicas`` counts the executors that hold a model; rows of the workload
    with one model share them. Activations count for batches only, workspace never.
    """
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    models, counts = replicas(system), system.class_counts
    model_bytes = resident_bytes(system, shares > 0)
    room = system.class_memory_bytes
    label = [" + ".join(system.queries[j].name for j in r.queries) for r in models]
    classes = []
    for k, kind in enumerate(system.class_names):
        weights = {label[m]: float(model_bytes[m, k]) for m in range(len(models)) if model_bytes[m, k] > 0}
        resident = math.fsum(weights.values())
        memory = None if room is None else float(room[k])
        classes.append(
            ClassMemory(
                executor_class=kind,
                executors=int(counts[k]),
                memory_bytes=memory,
                weights_bytes=weights,
                resident_bytes=resident,
                free_bytes=None if memory is None else memory - resident,
            )
        )
    where = np.array([(shares[list(r.queries)] > 0).any(axis=0) for r in models])
    copies = (where * counts).sum(axis=1)
    return MemoryReport(
        classes=tuple(classes),
        models={
            label[m]: ModelMemory(
                weight_bytes=r.size_bytes,
                replicas=int(copies[m]),
                replicas_bytes=r.size_bytes * int(copies[m]),
            )
            for m, r in enumerate(models)
        },
        replicas_bytes=math.fsum(r.size_bytes * int(copies[m]) for m, r in enumerate(models)),
    )


def shares_report(system: System, placement: Placement) -> dict[str, dict[str, float]]:
    """Model → executor class → probability that a server drawn for it is of that class."""
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    return {
        query.name: dict(zip(system.class_names, map(float, row), strict=True))
        for query, row in zip(system.queries, shares, strict=True)
    }


def placement_report(system: System, placement: Placement, warning: str | None = None) -> PlacementReport:
    """Return the report on a placement that was simulated; ``warning`` is a line on the formula's range."""
    if placement.simulated is None:
        raise PlacementError(f"Placement {placement.origin!r}: it is not simulated; simulate it first.")
    models = {
        query.name: PlacedModel.from_fields(
            predicted, subgraphs=tuple(_subgraph(part, query.tasks.task_ids) for part in parts)
        )
        for query, parts, predicted in zip(
            system.queries, placement.queries, placement.prediction.queries, strict=True
        )
    }
    return PlacementReport.from_fields(
        placement,
        predicted=PredictedMix.from_fields(placement.prediction),
        models=models,
        class_shares=shares_report(system, placement),
        memory=memory_report(system, placement),
        warning=warning,
    )


def _subgraph(placed: SubGraphPlacement, ids: Sequence[str]) -> PlacedSubgraph:
    subgraph = placed.subgraph
    return PlacedSubgraph(
        root=None if subgraph.root == VIRTUAL else ids[subgraph.root],
        sink=None if subgraph.sink == VIRTUAL else ids[subgraph.sink],
        configurations=tuple(
            PlacedConfiguration.from_fields(
                c, parts=tuple(tuple(ids[task] for task in part) for part in c.parts), probability=float(p)
            )
            for c, p in zip(placed.configurations, placed.probabilities, strict=True)
        ),
    )
