"""Report on memory: the weights that executors hold under a placement, and the total of the replicas."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nona.placement.capacity.memory import replicas, resident_bytes
from nona.placement.result.placement import Placement
from nona.results.placement.memory import ClassMemory, MemoryReport, ModelMemory
from nona.system import System


def memory_report(system: System, placement: Placement, names: Sequence[str]) -> MemoryReport:
    """Weights by executor class and by model, in bytes.

    An executor holds the weights of every model whose share of its class is positive, whole, as any
    part may come to it. ``replicas`` counts the executors that hold a model; rows of the workload
    with one model share them. Activations and workspace are not counted.
    """
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    models, counts = replicas(system), system.class_counts
    held = resident_bytes(system, shares > 0)
    room = system.class_memory_bytes
    label = [" + ".join(names[j] for j in r.queries) for r in models]
    classes = []
    for k, kind in enumerate(system.class_names):
        weights = {label[m]: float(held[m, k]) for m in range(len(models)) if held[m, k] > 0}
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


def shares_report(system: System, placement: Placement, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Model → executor class → probability that a server drawn for it is of that class."""
    shares = system.uniform_shares if placement.class_shares is None else placement.class_shares
    return {
        name: dict(zip(system.class_names, map(float, row), strict=True))
        for name, row in zip(names, shares, strict=True)
    }
