"""The report on a placement: memory, prediction, simulated times, configurations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.decomposition import VIRTUAL
from nona.errors import PlacementError
from nona.placement.capacity import replicas, resident_bytes
from nona.placement.result import JobTimes, Placement, Prediction, Simulated, SubGraphPlacement
from nona.results import placement as result_placement
from nona.system import System


def memory_report(
    system: System, placement: Placement, names: Sequence[str]
) -> result_placement.MemoryReport:
    """Weights by executor class and by model, in bytes.

    An executor holds the weights of every model whose share of its class is positive, whole, as any
    part may come to it. ``replicas`` counts the executors that hold a model; rows of the workload
    with one model share them. Activations count for batches only, workspace never.
    """
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    models, counts = replicas(system), system.class_counts
    model_bytes = resident_bytes(system, shares > 0)
    room = system.class_memory_bytes
    label = [" + ".join(names[j] for j in r.queries) for r in models]
    classes = []
    for k, kind in enumerate(system.class_names):
        weights = {label[m]: float(model_bytes[m, k]) for m in range(len(models)) if model_bytes[m, k] > 0}
        resident = math.fsum(weights.values())
        memory = None if room is None else float(room[k])
        classes.append(
            result_placement.ClassMemory(
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
    return result_placement.MemoryReport(
        classes=tuple(classes),
        models={
            label[m]: result_placement.ModelMemory(
                weight_bytes=r.size_bytes,
                replicas=int(copies[m]),
                replicas_bytes=r.size_bytes * int(copies[m]),
            )
            for m, r in enumerate(models)
        },
        replicas_bytes=math.fsum(r.size_bytes * int(copies[m]) for m, r in enumerate(models)),
    )


def shares_report(system: System, placement: Placement, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Model → executor class → probability that a server drawn for it is of that class."""
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    return {
        name: dict(zip(system.class_names, map(float, row), strict=True))
        for name, row in zip(names, shares, strict=True)
    }


def _times_report(times: JobTimes) -> result_placement.SimulatedTimes:
    return result_placement.SimulatedTimes(
        mean=times.mean_s,
        ci95=_finite(times.ci95_s),
        p50=times.p50_s,
        p95=times.p95_s,
        p99=times.p99_s,
        misses=times.misses,
    )


def _finite(ends: tuple[float, float]) -> tuple[float, float] | None:
    return ends if all(map(math.isfinite, ends)) else None


def simulated_report(
    system: System, simulated: Simulated, names: Sequence[str]
) -> result_placement.SimulatedPlacement:
    """The simulated figures; ``names`` are the labels of the workload's rows."""
    rows = zip(names, system.queries, simulated.queries, strict=True)
    return result_placement.SimulatedPlacement.like(
        simulated,
        **dict(_times_report(simulated.mix)),
        models={
            name: result_placement.SimulatedModel(**dict(_times_report(times)), slo_s=query.slo_s)
            for name, query, times in rows
        },
    )


def placement_report(
    system: System, placement: Placement, names: Sequence[str], warning: str | None = None
) -> result_placement.PlacementReport:
    """The report on a placement that was simulated.

    ``names`` are the labels of the workload's rows, ``warning`` is a line on the formula's range.
    """
    if placement.simulated is None:
        raise PlacementError(f"Placement {placement.origin!r}: it is not simulated; simulate it first.")
    models = {
        name: result_placement.PlacedModel.like(
            predicted, subgraphs=tuple(_subgraph(part, query.tasks.task_ids) for part in parts)
        )
        for name, query, parts, predicted in zip(
            names, system.queries, placement.queries, placement.prediction.queries, strict=True
        )
    }
    certificate = placement.formula
    return result_placement.PlacementReport.like(
        placement,
        simulated=simulated_report(system, placement.simulated, names),
        formula=None if certificate is None else result_placement.CertifiedOptimum.like(certificate),
        predicted=_prediction_report(placement.prediction),
        models=models,
        class_shares=shares_report(system, placement, names),
        memory=memory_report(system, placement, names),
        warning=warning,
    )


def _prediction_report(prediction: Prediction) -> result_placement.PredictedMix:
    return result_placement.PredictedMix.like(
        prediction,
        classes=tuple(
            result_placement.PredictedClass.like(c, executor_class=c.name) for c in prediction.classes
        ),
        links=tuple(result_placement.PredictedLink.like(link) for link in prediction.links),
    )


def _subgraph(placed: SubGraphPlacement, ids: Sequence[str]) -> result_placement.PlacedSubgraph:
    subgraph = placed.subgraph
    return result_placement.PlacedSubgraph(
        root=None if subgraph.root == VIRTUAL else ids[subgraph.root],
        sink=None if subgraph.sink == VIRTUAL else ids[subgraph.sink],
        configurations=tuple(
            result_placement.PlacedConfiguration.like(
                c, parts=tuple(tuple(ids[task] for task in part) for part in c.parts), probability=float(p)
            )
            for c, p in zip(placed.configurations, placed.probabilities, strict=True)
        ),
    )
