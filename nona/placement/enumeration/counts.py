"""How many configurations of a sub-graph the placement considers."""

from __future__ import annotations

import numpy as np

from nona.contraction.task_graph import TaskGraph
from nona.decomposition.subgraph import VIRTUAL, SubGraph
from nona.placement.configurations.labels import ENUMERATED, configuration_labels
from nona.placement.configurations.shape import shape_of
from nona.placement.enumeration.considered import candidates
from nona.placement.spans.messages import Link


def configurations_considered(tasks: TaskGraph, subgraph: SubGraph) -> int:
    """Number of configurations when the cluster has servers enough for every part.

    For an interior of m ≤ 6 tasks these are all: Σ over partitions into k parts of k² (the part
    with the root times the part with the sink), Bell(m+2) − 2·Bell(m+1), where neither is virtual.
    """
    m = len(subgraph.interior)
    if m <= ENUMERATED:
        free = {"root_free": subgraph.root == VIRTUAL, "sink_free": subgraph.sink == VIRTUAL}
        return len(configuration_labels(m, **free))
    weights = np.full(tasks.compute_s.shape[0], 1 / tasks.compute_s.shape[0])
    link = Link(capacity=1.0, latency_s=0.0)
    return len(candidates(shape_of(tasks, subgraph, weights), link, m + 2))
