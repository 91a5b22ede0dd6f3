"""The tables of a learned scheduler: a system seen through a network's weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nona.placement.capacity.memory import allowed_classes
from nona.schedulers.learned.choose import Learned
from nona.schedulers.learned.features import mean_work_s, task_features
from nona.schedulers.learned.network import STATE, WIDTH, Layer, Network, embed
from nona.schedulers.reads import reads_of
from nona.system import System

Floats = NDArray[np.float64]


def learned_tables(system: System, network: Network) -> Learned:
    """What the decision needs: the graph network's pass over every query class is made here, once, as the
    tasks after a ready one are not complete either.

    Raises
    ------
    PlacementError
        When a model fits no executor.
    """
    unit_s = mean_work_s(system)
    passes = [embed(network, q.tasks.dag, task_features(system, q, unit_s)) for q in system.queries]
    task = np.concatenate([p.task for p in passes])
    job = np.concatenate([p.job for p in passes])
    first = network.score1.weight
    reads = reads_of(system)
    return Learned(
        first=reads.first,
        time_s=np.concatenate([q.tasks.compute_s for q in system.queries], axis=1).ravel(),
        may=allowed_classes(system).astype(np.int64).ravel(),
        inputs=reads.inputs,
        source=reads.source,
        size_bytes=reads.size_bytes,
        task=(task @ first[:WIDTH]).ravel(),
        job=(job @ first[WIDTH : 2 * WIDTH]).ravel(),
        score=_flat(Layer(first[2 * WIDTH :], network.score1.bias)),
        second=_flat(network.score2),
        third=_flat(network.score3),
        classes=len(system.class_names),
        pair=len(first) - 2 * WIDTH - STATE,
        unit_s=unit_s,
        capacity=system.capacity,
        latency_s=system.latency_s,
    )


def _flat(layer: Layer) -> Floats:
    return np.concatenate([layer.weight.ravel(), layer.bias])
