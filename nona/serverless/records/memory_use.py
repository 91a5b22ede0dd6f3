"""How full the memory of nodes was, from the lives of the containers of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nona.serverless.model.memory import NodeMemory
from nona.serverless.records.containers import ContainerLives, Ints, gone_s
from nona.serverless.records.intervals_held import most_at_once, overlap_s
from nona.serverless.records.run import ServerlessRecords
from nona.simulation.records.run import Check


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Of one run: shares of the nodes' memory, and containers that were removed to make room.

    ``mean``: over the window and all nodes; ``most``: at any time on any node; ``evictions``: in the window.
    """

    mean: float
    most: float
    evictions: int


def most_bytes(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> Ints:
    """(N,) The most that containers hold of each node's memory at any time."""
    needs = np.array(memory.container_bytes, dtype=np.int64)[lives.function]
    until_s = gone_s(lives, records.stopped_s)
    return most_at_once(lives.invoker, lives.born_s, until_s, needs, len(memory.node_bytes))


def memory_use(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> MemoryUse:
    """The use of the memory in the window of a run."""
    start_s, end_s = records.sums.start_s, records.sums.end_s
    node = np.array(memory.node_bytes, dtype=np.int64)
    needs = np.array(memory.container_bytes, dtype=np.int64)[lives.function]
    inside_s = overlap_s(lives.born_s, gone_s(lives, records.stopped_s), start_s, end_s)
    length_s = end_s - start_s
    inside = lives.evicted & (lives.gone_s >= start_s) & (lives.gone_s <= end_s)
    return MemoryUse(
        mean=float(inside_s @ needs) / (length_s * float(node.sum())) if length_s > 0 else np.nan,
        most=float((most_bytes(memory, records, lives) / node).max()),
        evictions=int(inside.sum()),
    )


def check_memory(memory: NodeMemory, records: ServerlessRecords, lives: ContainerLives) -> Check:
    """At no time do the containers of a node hold more memory than it has."""
    most = most_bytes(memory, records, lives)
    over = int((most > np.array(memory.node_bytes)).sum())
    return Check("memory", over == 0, f"at most {most.max() / 1e9:.4g} GB on a node, {over} nodes too full")
