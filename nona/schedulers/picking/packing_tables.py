"""The tables of ``tetris`` from a system."""

from __future__ import annotations

import numpy as np

from nona.schedulers.base import card_rate
from nona.schedulers.picking.packing import Floats, Packing
from nona.schedulers.reads import reads_of
from nona.system import System


def packing_of(system: System, fairness: float, barrier: float, remote_penalty: float) -> Packing:
    """Demands of all tasks, and the cards of all servers."""
    reads = reads_of(system)
    time_s = np.concatenate([q.tasks.compute_s for q in system.queries], axis=1)
    time_s = np.repeat(time_s, np.diff(reads.inputs), axis=1)  # (K, R) of the task that reads
    return Packing(
        first=reads.first,
        work_s=np.concatenate([system.class_weights @ q.tasks.compute_s for q in system.queries]),
        stage=np.array([s for q in system.queries for s in q.tasks.dag.levels()], dtype=np.int64),
        inputs=reads.inputs,
        source=reads.source,
        rate=np.array(
            [card_rate(size, s) for row in time_s for size, s in zip(reads.size_bytes, row, strict=True)]
        ),
        memory=_memory(system).ravel(),
        classes=len(system.class_names),
        card_bytes_s=_cards(system),
        fairness=fairness,
        barrier=barrier,
        remote_penalty=remote_penalty,
    )


def _memory(system: System) -> Floats:
    """(Q, K) Share of an executor's memory; 0 where that has no limit."""
    room = system.class_memory_bytes
    if room is None:
        return np.zeros((len(system.queries), len(system.class_names)))
    weights = np.array([q.weight_bytes for q in system.queries])
    shares: Floats = weights[:, None] / np.maximum(np.asarray(room, dtype=float), 1.0)[None, :]
    return np.minimum(shares, 1.0)


def _cards(system: System) -> Floats:
    """(2S,) Bytes/s of each server's card, in and then out."""
    if system.topology is None:
        return np.full(2 * system.servers, system.capacity)
    capacity, topology = system.topology.link_capacity, system.topology
    links = np.concatenate([topology.in_link, topology.out_link])
    return np.where(links < 0, system.capacity, capacity[links])
